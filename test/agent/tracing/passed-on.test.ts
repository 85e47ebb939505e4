import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent } from '../../kit/agent-server.ts';
import { startCollector, type Collected, type Collector } from '../../kit/collector.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { startReceiver } from '../../kit/webhook-receiver.ts';

/* Traces that go on in the services that a graph asks. */

const OWN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let collector: Collector;
let database: TestDatabase;

beforeAll(async () => {
  [collector, database] = await Promise.all([startCollector(), freshDatabase()]);
});
afterAll(async () => {
  await collector.stop();
  await database.drop();
});

const traced = (): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '20',
});

type Heard = { traceparent: string | undefined; tracestate: string | undefined };

/** Runs the graph that asks, on a server of its own. Returns the headers of each request by its path, and its trace. */
async function heardFrom(
  env: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<{ traceId: string; at: Record<string, Heard> }> {
  const receiver = await startReceiver();
  const agent = await startAgent({
    database: database.uri,
    config: 'test/agent/tracing/passed-on/graphs/gx.json',
    env,
  });
  const { thread_id } = await agent.client.threads.create();
  const answer = await fetch(`${agent.url}/threads/${thread_id}/runs/wait`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ assistant_id: 'calls', input: { url: receiver.url } }),
  });
  expect(await answer.json()).toEqual({ url: receiver.url });
  const [run] = await agent.client.runs.list(thread_id);
  expect(await agent.kill()).toBe(0);
  await receiver.stop();
  const heard = receiver.received.map(
    ({ path, headers: { traceparent, tracestate } }): [string, Heard] => {
      expect(Array.isArray(traceparent)).toBe(false);
      return [
        path,
        {
          traceparent: traceparent as string | undefined,
          tracestate: tracestate as string | undefined,
        },
      ];
    },
  );
  expect(heard.map(([path]) => path).toSorted()).toEqual([
    '/leaf',
    '/node',
    '/other',
    '/own',
    '/tool',
  ]);
  return { traceId: run!.run_id.replaceAll('-', ''), at: Object.fromEntries(heard) };
}

const spansOf = (traceId: string): Promise<Collected[]> =>
  until('the trace is whole', () => {
    const found = collector.spans.filter((span) => span.traceId === traceId);
    return found.some(({ name }) => name === 'run calls') && found;
  });

test('a request of a node carries the span of the node, and one of a tool that of the tool', async () => {
  const { traceId, at } = await heardFrom(traced());
  const spans = await spansOf(traceId);
  const span = (name: string, below = 'run calls'): Collected => {
    const parents = new Set(spans.filter((one) => one.name === below).map(({ spanId }) => spanId));
    return spans.find((one) => one.name === name && parents.has(one.parentSpanId ?? ''))!;
  };
  const node = `00-${traceId}-${span('node asks').spanId}-01`;
  expect(at['/node']).toEqual({ traceparent: node, tracestate: undefined });
  expect(at['/other']).toEqual(at['/node']);
  expect(at['/tool']?.traceparent).toBe(
    `00-${traceId}-${span('tool look', 'node asks').spanId}-01`,
  );
  expect(at['/own']?.traceparent).toBe(OWN);

  // A run that the graph makes at its own server is a part of the same trace.
  const asked = span('POST /runs/wait', 'node delegates');
  expect(span('run leaf', 'POST /runs/wait').parentSpanId).toBe(asked.spanId);
  expect(at['/leaf']?.traceparent).toBe(`00-${traceId}-${span('node asks', 'run leaf').spanId}-01`);
});

test('a trace that is not sent is passed on as one that nobody is to send, with the words of other systems', async () => {
  const given = { traceparent: OWN.replace(/01$/, '00'), tracestate: 'vendor=1' };
  const { at } = await heardFrom(traced(), given);
  for (const path of ['/node', '/tool', '/other', '/leaf']) {
    expect(at[path]?.traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[\da-f]{16}-00$/);
    expect(at[path]?.tracestate).toBe('vendor=1');
  }
});

test.each<[string, () => Record<string, string>]>([
  ['without a collector', () => ({})],
  ['without the propagator', () => ({ ...traced(), OTEL_PROPAGATORS: 'none' })],
])('requests carry nothing %s', async (_, env) => {
  const { at } = await heardFrom(env(), { traceparent: OWN });
  for (const path of ['/node', '/tool', '/other', '/leaf'])
    expect(at[path]).toEqual({ traceparent: undefined, tracestate: undefined });
  expect(at['/own']?.traceparent).toBe(OWN);
});
