import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

type Value = { stringValue?: string; intValue?: string; doubleValue?: number; boolValue?: boolean };
type Attribute = { key: string; value: Value };
type Body = {
  resourceLogs?: {
    resource: { attributes: Attribute[] };
    scopeLogs: {
      logRecords: (Omit<CollectedLine, 'attributes' | 'resource'> & { attributes: Attribute[] })[];
    }[];
  }[];
  resourceSpans?: {
    resource: { attributes: Attribute[] };
    scopeSpans: {
      scope: { name: string };
      spans: (Omit<Collected, 'attributes' | 'resource'> & { attributes: Attribute[] })[];
    }[];
  }[];
};

/** A span as it arrived, with its resource's attributes. */
export type Collected = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string | number | boolean>;
  status: { code?: number; message?: string };
  resource: Record<string, string | number | boolean>;
};

/** A line of a log as it arrived, with its resource's attributes. */
export type CollectedLine = {
  timeUnixNano: string;
  severityNumber: number;
  severityText: string;
  body: { stringValue: string };
  traceId?: string;
  attributes: Record<string, string | number | boolean>;
  resource: Record<string, string | number | boolean>;
};

const plain = (attributes: Attribute[]): Collected['attributes'] =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.intValue === undefined
        ? (value.stringValue ?? value.doubleValue ?? value.boolValue ?? '')
        : Number(value.intValue),
    ]),
  );

export type Collector = {
  url: string;
  spans: Collected[];
  lines: CollectedLine[];
  requests: {
    path: string | undefined;
    headers: IncomingHttpHeaders;
    spans: number;
    lines: number;
  }[];
  /** The statuses of the next answers, in their order. Then 200. */
  answers: number[];
  stop(): Promise<void>;
};

/** Returns the body of a request that is JSON. Others have nothing that this collector reads. */
async function bodyOf(request: IncomingMessage): Promise<Body> {
  const bytes = await buffer(request);
  const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
  return request.headers['content-type'] === 'application/json'
    ? (JSON.parse(text.toString()) as Body)
    : {};
}

/** Starts an OpenTelemetry collector that accepts traces and logs by HTTP as JSON and keeps them. */
export async function startCollector(): Promise<Collector> {
  const collector: Omit<Collector, 'url' | 'stop'> = {
    spans: [],
    lines: [],
    requests: [],
    answers: [],
  };
  const server = createServer(async (request, response) => {
    const { resourceSpans = [], resourceLogs = [] } = await bodyOf(request);
    const status = collector.answers.shift() ?? 200;
    const arrived = resourceSpans.flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) =>
        spans.map((span) => ({
          ...span,
          attributes: plain(span.attributes),
          resource: plain(resource.attributes),
        })),
      ),
    );
    const lines = resourceLogs.flatMap(({ resource, scopeLogs }) =>
      scopeLogs.flatMap(({ logRecords }) =>
        logRecords.map((line) => ({
          ...line,
          attributes: plain(line.attributes),
          resource: plain(resource.attributes),
        })),
      ),
    );
    collector.requests.push({
      path: request.url,
      headers: request.headers,
      spans: arrived.length,
      lines: lines.length,
    });
    if (status === 200) {
      collector.spans.push(...arrived);
      collector.lines.push(...lines);
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return Object.assign(collector, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop,
  });
}
