import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { freePort } from './agent-server.ts';
import { until } from './until.ts';

type Attribute = { key: string; value: { stringValue?: string } };
type Written = {
  resourceSpans: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      spans: { traceId: string; spanId: string; parentSpanId?: string; name: string }[];
    }[];
  }[];
};

/** A span as the collector wrote it, and the service that sent it. */
export type WrittenSpan = {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  name: string;
  service: string;
};

export type OtelCollector = {
  /** The base address of OTLP over HTTP. */
  url: string;
  spans(): Promise<WrittenSpan[]>;
  stop(): Promise<void>;
};

/** Starts a real OpenTelemetry collector, which writes what it receives to a file. */
export async function startOtelCollector(): Promise<OtelCollector> {
  const { 'otel-collector': program } = await ensureTools(['otel-collector']);
  const folder = await mkdtemp(path.join(tmpdir(), 'gx-collector-'));
  const [port, file] = [await freePort(), path.join(folder, 'spans.json')];
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { file: { path: file } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['file'] } },
    },
  };
  await writeFile(path.join(folder, 'config.yaml'), JSON.stringify(config));
  const server = spawn(program, ['--config', path.join(folder, 'config.yaml')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until('the collector listens', () => {
    if (server.exitCode !== null) throw new Error(said);
    return listens(port);
  });
  const spans = async (): Promise<WrittenSpan[]> => {
    const lines = (await readFile(file, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line.endsWith('}'));
    return lines.flatMap((line) => spansIn(JSON.parse(line) as Written));
  };
  const stop = async (): Promise<void> => {
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `http://127.0.0.1:${port}`, spans, stop };
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => (socket.destroy(), resolve(true)));
    socket.on('error', () => resolve(false));
  });

const spansIn = ({ resourceSpans }: Written): WrittenSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service =
      resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId = '', name }) => ({
        traceId,
        spanId,
        parentSpanId,
        name,
        service,
      })),
    );
  });
