import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { startCollector, type Collected, type Collector } from '../kit/collector.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/* Traces of runs of Python graphs, as test/agent/tracing has them for graphs in JavaScript. */

let collector: Collector;
let database: TestDatabase;
let agent: AgentProcess;

const start = (more: Record<string, string> = {}): Promise<AgentProcess> =>
  startPython(database.uri, more, 'traces/gx.json');
const collecting = (): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '20',
});

beforeAll(async () => {
  [collector, database] = await Promise.all([startCollector(), freshDatabase()]);
  agent = await start(collecting());
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await collector.stop();
  await database.drop();
});

const input = { messages: [{ role: 'human', content: 'hello' }] };

/** Runs a graph on a new thread. Returns the run's id and its trace once the trace is complete. */
async function traced(graph: string): Promise<{ runId: string; spans: Collected[] }> {
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, graph, {
    input,
    streamMode: ['values', 'messages-tuple'],
  });
  await agent.client.runs.join(thread_id, run_id);
  const spans = await until('the trace is whole', () => {
    const found = collector.spans.filter(({ traceId }) => traceId === run_id.replaceAll('-', ''));
    return found.some(({ name }) => name.startsWith('run ')) && found;
  });
  return { runId: run_id, spans };
}

/** `name < parent's name`. */
const tree = (spans: Collected[]): string[] =>
  spans
    .map(
      ({ name, parentSpanId }) =>
        `${name} < ${spans.find(({ spanId }) => spanId === parentSpanId)?.name ?? ''}`,
    )
    .toSorted();

const PARTS = [
  'model FakeListChatModel < node ask',
  'node research < run',
  'node search < node research',
  'node ask < run',
  'tool look < node search',
];

test.each(['thinks', 'thinks_in_a_thread'])(
  'a run is one trace: its nodes, models and tools below it: %s',
  async (graph) => {
    const { runId, spans } = await traced(graph);
    expect(tree(spans)).toEqual(
      [...PARTS.map((part) => part.replace(/run$/, `run ${graph}`)), `run ${graph} < `].toSorted(),
    );
    for (const span of spans)
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    const [root, node] = [`run ${graph}`, 'node ask'].map((name) =>
      spans.find((span) => span.name === name)!,
    );
    expect(root!.attributes).toMatchObject({ 'gx.run_id': runId, 'gx.attempt': 1 });
    expect(node!.attributes).toEqual({ 'gx.node': 'ask', 'gx.step': 1 });
    // A node lies within its run.
    expect(BigInt(node!.startTimeUnixNano)).toBeGreaterThanOrEqual(
      BigInt(root!.startTimeUnixNano) - 5_000_000n,
    );
    expect(BigInt(node!.endTimeUnixNano)).toBeLessThanOrEqual(
      BigInt(root!.endTimeUnixNano) + 5_000_000n,
    );
  },
);

test('a run that fails is a trace that says why, and one that waits for a person has not failed', async () => {
  const failed = await traced('fails');
  expect(tree(failed.spans)).toEqual(['node breaks < run fails', 'run fails < ']);
  for (const { status, attributes } of failed.spans)
    expect([status, attributes['error.type']]).toEqual([
      { code: 2, message: 'no such thing' },
      'LookupError',
    ]);
  const waiting = await traced('approval');
  expect(tree(waiting.spans)).toEqual(['node wait < run approval', 'run approval < ']);
  expect(waiting.spans.filter(({ status }) => status.code === 2)).toEqual([]);
});

test('a node finds its span as the current one of OpenTelemetry, for instrumentation of its own', async () => {
  const { thread_id } = await agent.client.threads.create();
  const values = (await agent.client.runs.wait(thread_id, 'shows_span', { input })) as {
    messages: { content: string }[];
  };
  const [run] = await agent.client.runs.list(thread_id);
  const traceId = run!.run_id.replaceAll('-', '');
  const node = await until('the span is there', () =>
    collector.spans.find((one) => one.traceId === traceId && one.name === 'node show'),
  );
  expect(values.messages.at(-1)!.content).toBe(`${traceId}-${node.spanId}-True`);
});

test('spans hold inputs and outputs only where the deployment asks for them', async () => {
  const plain = await traced('thinks');
  expect(JSON.stringify(plain.spans)).not.toMatch(/hello|found|"done"|\.value/);
  await agent.kill('SIGKILL');
  agent = await start({
    ...collecting(),
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  });
  const { spans } = await traced('thinks');
  const contents = (name: string): unknown[] => {
    const { attributes } = spans.find((span) => span.name === name)!;
    return ['input', 'output'].map(
      (of) => JSON.parse(String(attributes[`${of}.value`])) as unknown,
    );
  };
  const hello = expect.objectContaining({ type: 'human', content: 'hello' }) as unknown;
  const done = expect.objectContaining({ type: 'ai', content: 'done' }) as unknown;
  expect(contents('node ask')).toEqual([{ messages: [hello] }, { messages: [done] }]);
  expect(contents('model FakeListChatModel')).toEqual([[[hello]], done]);
  expect(contents('tool look')[1]).toBe('found');
});

test("LangSmith's library in a graph traces each call once, with a collector and without, into the deployment's project", async () => {
  const bodies: string[] = [];
  const langsmith = createServer(async (request, response) => {
    bodies.push((await buffer(request)).toString('latin1'));
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(langsmith, 'listening');
  const LANGSMITH_ENDPOINT = `http://127.0.0.1:${(langsmith.address() as AddressInfo).port}`;
  const tracing = {
    LANGSMITH_TRACING: 'true',
    LANGSMITH_API_KEY: 'canary',
    LANGSMITH_DISABLE_RUN_COMPRESSION: 'true',
    GX_DEPLOYMENT: 'chat',
  };
  for (const more of [{}, collecting()]) {
    bodies.length = 0;
    await agent.kill('SIGKILL');
    agent = await start({ ...more, ...tracing, LANGSMITH_ENDPOINT });
    const { thread_id } = await agent.client.threads.create();
    const { run_id } = await agent.client.runs.create(thread_id, 'thinks', { input });
    await agent.client.runs.join(thread_id, run_id);
    // The run's own call, two nodes, a model, the inner graph with its node, and a tool.
    const posted = (): string[] =>
      [...bodies.join('\n').matchAll(/name="post\.([\da-f-]{36})"/g)].map(([, id]) => id!);
    await until('all calls are there', () => posted().length >= 7);
    expect(new Set(posted()).size).toBe(posted().length);
    expect([posted().length, posted()]).toEqual([7, expect.arrayContaining([run_id])]);
    const values = (await agent.client.runs.wait(null, 'project', { input })) as {
      messages: { content: string }[];
    };
    expect(values.messages.at(-1)!.content).toBe('chat');
  }
  langsmith.closeAllConnections();
  langsmith.close();
});
