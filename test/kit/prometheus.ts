import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { freePort } from './agent-server.ts';
import { until } from './until.ts';

export type TestPrometheus = { url: string; stop(): Promise<void> };

/** Starts a real Prometheus that reads these metrics each second. */
export async function startPrometheus(metrics: () => string): Promise<TestPrometheus> {
  const { prometheus } = await ensureTools(['prometheus']);
  const exporter = createServer((_, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(metrics());
  }).listen(0, '127.0.0.1');
  await once(exporter, 'listening');
  const folder = await mkdtemp(path.join(tmpdir(), 'gx-prometheus-'));
  const target = `127.0.0.1:${(exporter.address() as AddressInfo).port}`;
  const config = {
    global: { scrape_interval: '1s' },
    scrape_configs: [{ job_name: 'agents', static_configs: [{ targets: [target] }] }],
  };
  const file = path.join(folder, 'prometheus.yml');
  await writeFile(file, JSON.stringify(config));
  const port = await freePort();
  const options = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${path.join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const server = spawn(prometheus, options, { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  await until('Prometheus has read the metrics', async () => {
    const answer = await fetch(`${url}/api/v1/query?query=up`).catch(() => undefined);
    return answer?.ok === true && (await answer.text()).includes('"1"]');
  });
  return {
    url,
    stop: async () => {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
      exporter.closeAllConnections();
      exporter.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
