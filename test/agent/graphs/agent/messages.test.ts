import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AnswerCall } from '../../../../src/agent/exchange/thread-calls.ts';
import { readGraphsFile } from '../../../../src/agent/gx-json/read.ts';
import { LanguageHost } from '../../../../src/agent/graphs/language-host.ts';
import type { CipherCall } from '../../../../src/schema/wire/wall/cipher.ts';
import type { AnswersAsked } from '../../../../src/agent/graphs/asked.ts';
import type { RunListener } from '../../../../src/agent/graphs/thread.ts';
import { openWorker, type OpenRunner } from '../../../../src/agent/graphs/worker.ts';
import { Unavailable } from '../../../../src/errors.ts';
import { createLog } from '../../../../src/log.ts';
import type { RunKwargs } from '../../../../src/schema/agent/run.ts';
import type { ThreadStart } from '../../../../src/schema/wire/wall/graph-start.ts';
import { FromThread, ToThread } from '../../../../src/schema/wire/wall/graphs.ts';
import { parseJsonText } from '../../../../src/schema/wire/wall/json-text.ts';
import type { Operation } from '../../../../src/schema/wire/wall/operations.ts';
import type { Outcome, RunSpec } from '../../../../src/schema/wire/wall/run-in-thread.ts';
import { until } from '../../../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../../../kit/postgres.ts';
import { toFrame, decodeMessageFrame } from '../../../../src/schema/wire/wall/frames.ts';
import { headerOf } from '../../../kit/wall-frames.ts';

/*
 * Everything that the server and a graph thread say to each other must be able to go to another process. So each
 * message of a server at work arrives in the form of processes as it was sent, and the test sees every kind.
 */

const log = createLog({ level: 'silent', process: 'test' });

let database: TestDatabase;
let host: LanguageHost;
const sent: ToThread[] = [];
const heard: FromThread[] = [];

/** A worker whose messages are recorded in both directions. */
const openRecorded: OpenRunner = (listener, limits) => {
  const runner = openWorker(
    {
      ...listener,
      message: (message) => {
        heard.push(message);
        listener.message(message);
      },
    },
    limits,
  );
  return {
    ...runner,
    send: (message) => {
      sent.push(message);
      runner.send(message);
    },
  };
};

const INSIDE = {
  graphId: 'inside',
  language: 'javascript' as const,
  file: resolve('test/agent/graphs/graphs/inside.ts'),
  exportName: 'graph',
  description: null,
};

const startOf = (config: string): ThreadStart => {
  const { graphs, index, env } = readGraphsFile(resolve(config));
  return {
    graphs: [
      ...graphs,
      INSIDE,
      { ...INSIDE, graphId: 'keeps', exportName: 'keeps' },
      { ...INSIDE, graphId: 'asks', exportName: 'asks' },
    ],
    partial: false,
    index,
    env,
    database: { uri: database.uri, poolSize: 3, statementTimeoutSeconds: 30 },
    // A call that is refused is a line of this level.
    logLevel: 'debug',
    sendsLog: true,
  };
};

const hostOf = (start: ThreadStart, asked: AnswersAsked = {}): LanguageHost =>
  new LanguageHost({
    start,
    threads: 1,
    keep: 1,
    heapMegabytes: 256,
    log,
    open: openRecorded,
    asked,
  });

/** Requests that graphs left before they were answered. */
const left: string[] = [];

/** Answers a request at /echo with its own body, and no other. */
const echo: AnswerCall = ({ head, body, signal }) => {
  if (head.url.endsWith('/echo'))
    return Promise.resolve({
      head: { status: 200, headers: [['content-type', 'text/plain']] },
      body,
    });
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => {
    left.push(head.url);
    reject(signal.reason as Error);
  });
  return promise;
};

beforeAll(async () => {
  database = await freshDatabase();
  host = hostOf(startOf('test/agent/wire/contract/graphs/gx.json'));
  host.serve(echo);
  await host.open();
});

afterAll(async () => {
  await host.close();
  await database.drop();
});

const kwargs: RunKwargs = {
  input: { left: 2, pause: 0 },
  command: null,
  config: { configurable: {}, recursion_limit: 25, tags: [], metadata: {} },
  context: null,
  stream_mode: ['values', 'updates', 'custom'],
  interrupt_before: null,
  interrupt_after: null,
  webhook: null,
  feedback_keys: null,
  temporary: false,
  subgraphs: false,
  resumable: true,
  checkpoint_during: null,
  durability: 'async',
};

async function run(
  thread_id: string,
  more: Partial<RunSpec> = {},
  started?: (runId: string) => void,
  at = host,
): Promise<Outcome> {
  const run_id = randomUUID();
  const trace = { trace_id: run_id.replaceAll('-', ''), span_id: 'a'.repeat(16) };
  const spec: RunSpec = {
    run_id,
    thread_id,
    graph_id: 'steps',
    attempt: 1,
    kwargs,
    empty: true,
    alone: false,
    unheard: false,
    trace,
    ...more,
  };
  const { promise, resolve: done, reject } = Promise.withResolvers<Outcome>();
  const listener: RunListener = {
    events: () => undefined,
    spans: () => undefined,
    usage: () => undefined,
    admit: ({ characters }) =>
      more.unheard === true
        ? Promise.reject(new Unavailable('The database is away.'))
        : Promise.resolve(characters > 0 ? undefined : { error: { error: 'E', message: 'm' } }),
    written: () => Promise.resolve(),
    done,
    gone: (reason) => reject(new Error(reason)),
  };
  await at.run(spec, listener);
  started?.(run_id);
  return promise;
}

const OPERATIONS: Record<Operation, true> = {
  state: true,
  history: true,
  update: true,
  supersteps: true,
  schemas: true,
  graph: true,
  subgraphs: true,
  embed: true,
};

const KINDS: Record<ToThread['kind'] | FromThread['kind'], true> = {
  start: true,
  run: true,
  abort: true,
  drain: true,
  hear: true,
  written: true,
  call: true,
  ready: true,
  broken: true,
  beat: true,
  log: true,
  events: true,
  wait: true,
  spans: true,
  usage: true,
  admit: true,
  admitted: true,
  not_admitted: true,
  done: true,
  result: true,
  failed: true,
  exchange: true,
  embed: true,
  embedded: true,
  not_embedded: true,
  cipher: true,
  ciphered: true,
  not_ciphered: true,
};

const asking = (path: string): Partial<RunSpec> => ({
  graph_id: 'inside',
  kwargs: { ...kwargs, input: { path } },
});

/** Runs a graph that keeps an item, where the server embeds its text, and where it does not. */
async function embeddingElsewhere(start: ThreadStart): Promise<void> {
  const of: ThreadStart = { ...start, index: { ...start.index!, language: 'python' } };
  const keeping: Partial<RunSpec> = {
    graph_id: 'keeps',
    kwargs: { ...kwargs, input: { path: 'red' } },
  };
  for (const [asked, expected] of [
    [{ embed: () => Promise.resolve('[[1,0,0]]') }, { status: 'success' }],
    [
      {},
      {
        status: 'error',
        error: {
          error: 'InternalServerError',
          message: 'This server makes no vectors for graph threads.',
        },
      },
    ],
  ] as const) {
    const elsewhere = hostOf(of, asked);
    await elsewhere.open();
    expect(await run(randomUUID(), keeping, undefined, elsewhere)).toMatchObject(expected);
    await elsewhere.close();
  }
}

/** Runs a graph whose steps the server encrypts, and where it does not. */
async function encryptionElsewhere(start: ThreadStart): Promise<void> {
  const calls: CipherCall[] = [];
  const cipher: AnswersAsked['cipher'] = (call) => {
    calls.push(call);
    return Promise.resolve(
      'bytes' in call ? call.bytes.map((byte) => byte ^ 1) : JSON.stringify({ blob: 'aGk=' }),
    );
  };
  const message = 'This server encrypts nothing for graph threads.';
  for (const [asked, expected] of [
    [{ cipher }, { status: 'success' }],
    [{}, { status: 'error', error: { error: 'InternalServerError', message } }],
  ] as const) {
    const elsewhere = hostOf({ ...start, askedCipher: { encrypts: true } }, asked);
    await elsewhere.open();
    expect(await run(randomUUID(), {}, undefined, elsewhere)).toMatchObject(expected);
    await elsewhere.close();
  }
  expect(new Set(calls.map(({ does, of }) => `${does} ${of}`))).toContain('seal checkpoint.values');
}

test('every kind of message, and every operation, can go to another process', async () => {
  const thread_id = randomUUID();
  const at = { graph_id: 'steps', thread_id };
  expect(await run(thread_id)).toMatchObject({ status: 'success' });
  const slow = { kwargs: { ...kwargs, input: { left: 20, pause: 200 } } };
  expect(
    await run(randomUUID(), slow, (runId) => host.abort(runId, { goesOn: false })),
  ).toMatchObject({ status: 'interrupted' });
  expect(await run(randomUUID(), slow, (runId) => host.drain(runId))).toEqual({
    status: 'interrupted',
    waiting: false,
    drained: true,
  });

  await run(randomUUID(), { unheard: true }, (runId) => host.startEvents(runId));
  const { values } = await run(randomUUID(), asking('/echo'));
  expect(JSON.parse(values!)).toEqual({
    path: '/echo',
    heard: ['while the graph loads', 'while it runs'],
  });

  await run(randomUUID(), { ...asking('red'), graph_id: 'asks', measures_usage: true });
  const bounded = { ...asking('red'), graph_id: 'asks', bounded: true };
  expect(await run(randomUUID(), bounded)).toMatchObject({ status: 'success' });
  expect(await run(randomUUID(), { ...bounded, unheard: true })).toMatchObject({ retry: true });

  expect(parseJsonText(await host.call('state', { ...at, subgraphs: true })).values).toMatchObject({
    done: 2,
  });
  expect(
    parseJsonText(await host.call('history', { ...at, limit: 2, metadata: null })),
  ).toHaveLength(2);
  expect(
    parseJsonText(await host.call('update', { ...at, values: { left: 1 }, as_node: 'step' })).thread
      .waiting,
  ).toBe(true);
  const supersteps = [{ updates: [{ values: { left: 1 }, as_node: '__input__' }] }];
  expect(
    parseJsonText(await host.call('supersteps', { ...at, thread_id: randomUUID(), supersteps }))
      .answer,
  ).toBeDefined();
  expect(
    parseJsonText(await host.call('schemas', { graph_id: 'nested' })).state_schema,
  ).toBeDefined();
  expect(parseJsonText(await host.call('graph', { graph_id: 'nested', xray: true }))).toMatchObject(
    { nodes: expect.anything() as unknown },
  );
  expect(
    Object.keys(parseJsonText(await host.call('subgraphs', { graph_id: 'nested', recurse: true }))),
  ).toEqual(['sub']);
  expect(parseJsonText(await host.call('embed', { texts: ['red'] }))).toEqual([[1, 0, 0]]);
  await expect(host.call('schemas', { graph_id: 'nowhere' })).rejects.toMatchObject({
    status: 404,
  });

  const start = startOf('test/agent/wire/contract/graphs/gx.json');
  const lost = hostOf({ ...start, graphs: [{ ...start.graphs[0]!, file: '/nowhere.ts' }] });
  await expect(lost.open()).rejects.toThrow('/nowhere.ts');
  await lost.close();
  await embeddingElsewhere(start);
  await encryptionElsewhere(start);

  const isSeen = (kind: string): boolean => [...sent, ...heard].some((one) => one.kind === kind);
  await until('every kind is seen', () => Promise.resolve(Object.keys(KINDS).every(isSeen)));
  const asked = new Set(
    sent.flatMap((message) => (message.kind === 'call' ? [message.operation] : [])),
  );
  expect([...asked].toSorted()).toEqual(Object.keys(OPERATIONS).toSorted());
  for (const message of sent)
    expect(decodeMessageFrame(ToThread, toFrame(ToThread, message))).toEqual(message);
  for (const message of heard)
    expect(decodeMessageFrame(FromThread, toFrame(FromThread, message))).toEqual(message);
  const agrees = new Ajv({ strict: false });
  for (const message of sent)
    expect([message, agrees.validate(ToThread, headerOf(ToThread, message))]).toEqual([
      message,
      true,
    ]);
  for (const message of heard)
    expect([message, agrees.validate(FromThread, headerOf(FromThread, message))]).toEqual([
      message,
      true,
    ]);
});

test('a request of a graph to its server is given up with its thread', async () => {
  const thread_id = randomUUID();
  const kill = (run_id: string): void =>
    void setTimeout(() => void host.kill({ run_id, thread_id }), 500);
  const killed = run(thread_id, { ...asking('/killed'), alone: true }, kill);
  await expect(killed).rejects.toThrow('killed');
  await expect.poll(() => left).toContain('http://localhost/killed');
});

test('a run whose events nobody reads sends none, until somebody does', async () => {
  const events = (runId: string | undefined): unknown[] =>
    heard.filter((one) => one.kind === 'events' && one.run_id === runId);
  let id: string | undefined;
  const silent = await run(randomUUID(), { unheard: true }, (runId) => (id = runId));
  expect([silent.status, events(id)]).toEqual(['success', []]);

  const slow = { unheard: true, kwargs: { ...kwargs, input: { left: 2000, pause: 20 } } };
  const ended = run(randomUUID(), slow, (runId) => {
    id = runId;
    host.startEvents(runId);
  });
  await until('its events come', () => events(id).length > 0);
  host.abort(id!, { goesOn: false });
  expect(await ended).toMatchObject({ status: 'interrupted' });
});

test('an operation that the thread does not know is answered, not passed over', async () => {
  await expect(host.call('dance' as Operation, { texts: [] })).rejects.toMatchObject({
    status: 501,
  });
});
