import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { startCollector, type Collected, type Collector } from '../../kit/collector.ts';
import { until } from '../../kit/until.ts';
import { startReceiver } from '../../kit/webhook-receiver.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Traces of runs on a real agent server, as they arrive at a collector. */

let collector: Collector;
let database: TestDatabase;
let agent: AgentProcess;

const LINK = 'https://jaeger.example/trace/{trace_id}';

const environment = (delay: number): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary-2',
  OTEL_SERVICE_NAME: 'chat',
  OTEL_RESOURCE_ATTRIBUTES: 'gx.tracing_project=chat,gx.revision=chat-00002',
  OTEL_BSP_SCHEDULE_DELAY: String(delay),
  GX_TRACE_LINK: LINK,
});
const start = (delay: number, more: Record<string, string> = {}): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    config: 'test/agent/tracing/graphs/gx.json',
    env: { ...environment(delay), ...more },
  });

beforeAll(async () => {
  [collector, database] = await Promise.all([startCollector(), freshDatabase()]);
  agent = await start(20);
});
afterAll(async () => {
  await agent.kill();
  await collector.stop();
  await database.drop();
});

const input = { messages: [{ role: 'human', content: 'hello' }] };

/** Runs a graph on a new thread. Returns the run's id and its trace once the trace is complete. */
async function traced(
  graph: string,
  of: AgentProcess = agent,
): Promise<{ runId: string; spans: Collected[] }> {
  const { thread_id } = await of.client.threads.create();
  const { run_id } = await of.client.runs.create(thread_id, graph, {
    input,
    streamMode: ['values', 'messages-tuple'],
  });
  await of.client.runs.join(thread_id, run_id);
  const spans = await until('the trace is whole', () => {
    const found = collector.spans.filter(
      ({ attributes, traceId }) =>
        attributes['gx.run_id'] === run_id || traceId === traceIdOf(run_id),
    );
    return Promise.resolve(found.some(({ name }) => name.startsWith('run ')) && found);
  });
  return { runId: run_id, spans };
}
const traceIdOf = (runId: string): string => runId.replaceAll('-', '');

test('the server says where its traces are seen', async () => {
  expect(await (await fetch(`${agent.url}/info`)).json()).toMatchObject({ trace_link: LINK });
});

/** `name < parent's name`. */
const tree = (spans: Collected[]): string[] =>
  spans
    .map(
      ({ name, parentSpanId }) =>
        `${name} < ${spans.find(({ spanId }) => spanId === parentSpanId)?.name ?? ''}`,
    )
    .toSorted();

test('a run is one trace under its project: its nodes, models and tools below it', async () => {
  const { runId, spans } = await traced('thinks');
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceIdOf(runId)]));
  expect(tree(spans)).toEqual([
    'model FakeListChatModel < node ask',
    'node ask < run thinks',
    'node research < run thinks',
    'node search < node research',
    'run thinks < ',
    'tool look < node search',
  ]);
  const root = spans.find(({ name }) => name === 'run thinks');
  expect(root).toMatchObject({
    attributes: {
      'gx.run_id': runId,
      'gx.graph_id': 'thinks',
      'gx.attempt': 1,
      'gx.run_end': 'success',
    },
    status: {},
    resource: { 'service.name': 'chat', 'gx.tracing_project': 'chat', 'gx.revision': 'chat-00002' },
  });
  for (const span of spans) {
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    expect(span.resource).toEqual(root?.resource);
  }
  expect(collector.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { authorization: 'Bearer canary-2' },
  });
  expect(agent.output()).not.toContain('canary-2');
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';

test('a request that names its place in a trace makes a run of that trace, and its lines of the log say so', async () => {
  const headers = {
    'content-type': 'application/json',
    traceparent: `00-${TRACE}-${CALLER}-01`,
    tracestate: 'vendor=1',
    'x-request-id': 'asked-1',
  };
  const receiver = await startReceiver();
  const body = JSON.stringify({ assistant_id: 'thinks', input, webhook: `${receiver.url}/end` });
  const answer = await fetch(`${agent.url}/runs/wait`, { method: 'POST', headers, body });
  expect(answer.status).toBe(200);
  const spans = await until('the trace is whole', () => {
    const found = collector.spans.filter(({ traceId }) => traceId === TRACE);
    return found.length === 7 && found;
  });
  expect(tree(spans)).toEqual([
    'POST /runs/wait < ',
    'model FakeListChatModel < node ask',
    'node ask < run thinks',
    'node research < run thinks',
    'node search < node research',
    'run thinks < POST /runs/wait',
    'tool look < node search',
  ]);
  const [request, run] = ['POST /runs/wait', 'run thinks'].map((name) =>
    spans.find((span) => span.name === name)!,
  );
  expect(request).toMatchObject({
    parentSpanId: CALLER,
    attributes: { 'http.route': '/runs/wait', 'http.response.status_code': 200 },
  });
  const runId = run?.attributes['gx.run_id'];
  expect(runId).not.toBe(TRACE);
  const lines = await until('the lines are there', () => {
    const found = agent
      .output()
      .split('\n')
      .filter((line) => line.includes(String(runId)));
    return found.some((line) => line.includes('run ended')) && found;
  });
  for (const line of lines)
    expect(JSON.parse(line)).toMatchObject({
      run_id: runId,
      request_id: 'asked-1',
      trace_id: TRACE,
    });
  const [told] = await until(
    'the webhook is there',
    () => receiver.received.length > 0 && receiver.received,
  );
  expect(told?.headers).toMatchObject({
    traceparent: `00-${TRACE}-${request?.spanId}-01`,
    tracestate: 'vendor=1',
  });
  await receiver.stop();
});

test('a request whose caller sends no spans makes a run without spans', async () => {
  const before = collector.spans.length;
  const headers = { 'content-type': 'application/json', traceparent: `00-${TRACE}-${CALLER}-00` };
  const answer = await fetch(`${agent.url}/runs/wait`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ assistant_id: 'thinks', input }),
  });
  expect(answer.status).toBe(200);
  await traced('thinks');
  expect(collector.spans).toHaveLength(before + 6);
});

test('spans hold no inputs and outputs, unless the deployment asks for them', async () => {
  const plain = await traced('thinks');
  expect(JSON.stringify(plain.spans)).not.toMatch(/hello|found|"done"|\.value/);
  const telling = await start(20, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true' });
  await agent.kill();
  const { spans } = await traced('thinks', telling);
  const contents = (name: string): unknown[] => {
    const { attributes } = spans.find((span) => span.name === name)!;
    return ['input', 'output'].map(
      (of) => JSON.parse(String(attributes[`${of}.value`])) as unknown,
    );
  };
  const hello = expect.objectContaining({ content: 'hello' }) as unknown;
  const done = expect.objectContaining({ type: 'ai', content: 'done' }) as unknown;
  expect(contents('run thinks')).toEqual([input, { messages: [hello, done] }]);
  expect(contents('node ask')).toEqual([{ messages: [hello] }, { messages: [done] }]);
  expect(contents('model FakeListChatModel')).toEqual([[[hello]], done]);
  expect(contents('tool look')[1]).toBe('found');
  const long = { messages: [{ role: 'human', content: 'x'.repeat(20_000) }] };
  const { thread_id } = await telling.client.threads.create();
  const { run_id } = await telling.client.runs.create(thread_id, 'thinks', { input: long });
  const root = await until('the trace is there', () =>
    collector.spans.find(({ attributes }) => attributes['gx.run_id'] === run_id),
  );
  expect(String(root.attributes['input.value']).length).toBeLessThan(8200);
  await telling.kill();
  agent = await start(20);
});

test("LangSmith's library in a graph traces into the deployment's project, unless it is told another", async () => {
  // No other server may take a run from the same database.
  await agent.kill();
  const projectOf = async (more: Record<string, string>): Promise<unknown> => {
    const told = await start(20, more);
    const { messages } = (await told.client.runs.wait(null, 'project', { input })) as {
      messages: { content: string }[];
    };
    await told.kill();
    return messages.at(-1)?.content;
  };
  expect(await projectOf({ GX_DEPLOYMENT: 'chat' })).toBe('chat');
  expect(await projectOf({ GX_DEPLOYMENT: 'chat', LANGSMITH_PROJECT: 'theirs' })).toBe('theirs');
  // The library reads its older name when the newer one is not set.
  expect(await projectOf({ GX_DEPLOYMENT: 'chat', LANGCHAIN_PROJECT: 'older' })).toBe('undefined');
  agent = await start(20);
});

test('a run that fails is a trace that says why', async () => {
  const { spans } = await traced('fails');
  expect(tree(spans)).toEqual(['node breaks < run fails', 'run fails < ']);
  for (const { status, attributes } of spans)
    expect([status, attributes['error.type']]).toEqual([
      { code: 2, message: 'no such thing' },
      'RangeError',
    ]);
});

test('a run that waits for a person has not failed', async () => {
  const { spans } = await traced('approval');
  expect(spans.filter(({ status }) => status.code === 2)).toEqual([]);
  expect(spans.find(({ name }) => name === 'run approval')?.attributes['gx.run_end']).toMatch(
    /interrupted|success/,
  );
});

test('a collector that is away delays no run, and what is sent later arrives', async () => {
  collector.answers.push(503);
  const began = performance.now();
  const { spans } = await traced('thinks');
  expect(tree(spans)).toHaveLength(6);
  // The second attempt comes after a second.
  expect(performance.now() - began).toBeGreaterThan(1000);
});

test('a server that stops sends what it has', async () => {
  const leaving = await start(60_000);
  const { thread_id } = await leaving.client.threads.create();
  await leaving.client.runs.wait(thread_id, 'thinks', { input });
  const before = collector.requests.length;
  expect(await leaving.kill('SIGTERM')).toBe(0);
  const sent = collector.requests.slice(before);
  expect(sent.map(({ spans }) => spans)).toContain(6);
});
