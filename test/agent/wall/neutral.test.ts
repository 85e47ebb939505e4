import { Ajv } from 'ajv';
import type { TSchema } from 'typebox';
import { describe, expect, test } from 'vitest';
import { FromThread, ToThread } from '../../../src/schema/wire/wall/graphs.ts';
import { WALL_VERSION } from '../../../src/schema/wire/wall/rules.ts';
import { FromRunner, ToRunner } from '../../../src/schema/wire/wall/runner.ts';
import { FromUserCode, ToUserCode } from '../../../src/schema/wire/wall/user-code.ts';
import { FrameReader, toFrame, decodeMessageFrame } from '../../../src/schema/wire/wall/frames.ts';
import { headerOf } from '../../kit/wall-frames.ts';

/*
 * What crosses a wall arrives as it was sent, whether it goes to a thread (structured clone) or to a process (JSON and
 * attachments). The JSON agrees with the schema, so that a runner in another language can be checked by the schema.
 */

const version = WALL_VERSION;
const ids = { run_id: 'run', thread_id: 'thread', graph_id: 'chat' };
const AWKWARD = 'Grüße, 世界 🌍\u0000\u2028"\\';
const all = Uint8Array.from({ length: 256 }, (_, at) => at);

const kwargs = {
  input: { messages: [AWKWARD, 1e300, null, true, []] },
  command: null,
  config: { configurable: {} },
  context: null,
  stream_mode: ['values' as const],
  interrupt_before: '*' as const,
  interrupt_after: ['step'],
  webhook: null,
  feedback_keys: null,
  temporary: false,
  subgraphs: false,
  resumable: true,
  checkpoint_during: null,
  durability: 'async' as const,
};

const headers: [string, string][] = [
  ['set-cookie', 'a=1'],
  ['set-cookie', 'b=2'],
];
const refusal = { status: 404, message: AWKWARD, headers: { 'retry-after': '1' } };
const user = {
  identity: 'ada',
  display_name: 'Ada',
  is_authenticated: true,
  permissions: ['read'],
  org: { name: AWKWARD },
};

/** What either side says of an exchange beside its questions. */
const exchanges = [
  { kind: 'leave', exchange: 1 },
  { kind: 'answer', exchange: 1, head: { status: 200, headers, hasBody: true } },
  { kind: 'refused', exchange: 1, ...refusal },
  { kind: 'chunk', exchange: 1, of: 'answer', bytes: all },
  { kind: 'chunk', exchange: 1, of: 'request', bytes: all.subarray(3, 7) },
  { kind: 'chunk', exchange: 1, of: 'request', bytes: new Uint8Array() },
  { kind: 'end', exchange: 1, of: 'answer' },
  { kind: 'end', exchange: 1, of: 'answer', failure: AWKWARD },
  { kind: 'more', exchange: 1, of: 'answer', bytes: 65_536 },
  { kind: 'stop', exchange: 1, of: 'request' },
] as const;
const asking = <P>(purpose: P) =>
  ({
    kind: 'ask',
    exchange: 1,
    head: { method: 'POST', url: 'http://localhost/threads', headers, hasBody: true },
    purpose,
  }) as const;

const toThread: ToThread[] = [
  {
    kind: 'start',
    version,
    start: {
      graphs: [
        {
          graphId: 'chat',
          language: 'javascript',
          file: '/chat.ts',
          exportName: 'graph',
          description: null,
        },
      ],
      partial: true,
      runner: {
        command: ['python3', 'runner.py'],
        folder: '/',
        variables: { PYTHONPATH: '/python' },
        megabytes: 512,
      },
      index: {
        language: 'javascript',
        embed: { provider: 'openai', model: 'small', folder: '/' },
        dims: 3,
        fields: ['$'],
      },
      isolatedLoops: 10,
      storeLife: { defaultTtl: null, refresh: true },
      database: { uri: 'postgresql://localhost/gx', poolSize: 3, statementTimeoutSeconds: 30 },
      encryption: { keys: ['AAAA'], encrypts: true, names: ['secret'], strict: true },
      encryptionModule: { file: '/seal.ts', exportName: 'encryption', seconds: 2.5 },
      askedCipher: { encrypts: true },
      logLevel: 'info',
      env: { NAME: AWKWARD },
      allowedModules: [['langchain', 'schema']],
      serde: {
        allowed_json_modules: true,
        allowed_msgpack_modules: [['a.b', 'C']],
        pickle_fallback: false,
      },
      spanContents: undefined,
      sendsLog: false,
    },
  },
  {
    kind: 'run',
    spec: {
      ...ids,
      attempt: 1,
      kwargs,
      empty: true,
      alone: false,
      unheard: false,
      trace: { trace_id: 'a1', span_id: 'b2' },
    },
  },
  { kind: 'abort', run_id: 'run', goes_on: true },
  { kind: 'drain', run_id: 'run' },
  { kind: 'hear', run_id: 'run' },
  { kind: 'admitted', ask_id: 1 },
  {
    kind: 'admitted',
    ask_id: 2,
    refusal: { question: { id: 'a', value: { message: AWKWARD } } },
  },
  {
    kind: 'admitted',
    ask_id: 3,
    refusal: { error: { error: 'BudgetExceeded', message: AWKWARD } },
  },
  { kind: 'not_admitted', ask_id: 4, status: 503, message: AWKWARD },
  { kind: 'written', wait_id: 1 },
  { kind: 'embedded', embed_id: 1, json: '[[0.6,0.8]]' },
  { kind: 'not_embedded', embed_id: 2, status: 500, message: AWKWARD },
  { kind: 'ciphered', cipher_id: 1, answer: AWKWARD },
  { kind: 'ciphered', cipher_id: 2, answer: all },
  { kind: 'not_ciphered', cipher_id: 3, status: 503, message: AWKWARD, passes: true },
  {
    kind: 'call',
    call_id: 1,
    operation: 'state',
    args: { ...ids, checkpoint: null, subgraphs: undefined },
  },
  {
    kind: 'call',
    call_id: 2,
    operation: 'history',
    args: { ...ids, limit: 10, before: { checkpoint_id: 'a' }, metadata: { step: 1 } },
  },
  {
    kind: 'call',
    call_id: 3,
    operation: 'update',
    args: { ...ids, values: [{ left: 1 }], as_node: null },
  },
  {
    kind: 'call',
    call_id: 4,
    operation: 'supersteps',
    args: { ...ids, supersteps: [{ updates: [{ values: AWKWARD }] }] },
  },
  { kind: 'call', call_id: 5, operation: 'schemas', args: { graph_id: 'chat' } },
  { kind: 'call', call_id: 6, operation: 'graph', args: { graph_id: 'chat', xray: 2 } },
  {
    kind: 'call',
    call_id: 7,
    operation: 'subgraphs',
    args: { graph_id: 'chat', namespace: 'sub', recurse: true },
  },
  { kind: 'call', call_id: 8, operation: 'embed', args: { texts: [AWKWARD] } },
  ...exchanges.map((message): ToThread => ({ kind: 'exchange', message })),
];

const json = JSON.stringify({ text: AWKWARD, half: '\uD800' });

const fromThread: FromThread[] = [
  { kind: 'ready', version, nodes: { chat: ['model'], made: null }, failures: { lost: AWKWARD } },
  { kind: 'broken', sentence: AWKWARD },
  { kind: 'beat', full: false },
  { kind: 'log', line: AWKWARD },
  {
    kind: 'events',
    run_id: 'run',
    batch: [
      ['values', json],
      ['messages/partial', '[]'],
      ['custom', ''],
    ],
  },
  { kind: 'wait', wait_id: 1, run_id: 'run' },
  { kind: 'embed', embed_id: 1, texts: [AWKWARD] },
  {
    kind: 'cipher',
    cipher_id: 1,
    call: { does: 'seal-keys', of: 'thread.metadata', text: AWKWARD },
  },
  { kind: 'cipher', cipher_id: 2, call: { does: 'open', of: 'checkpoint.values', bytes: all } },
  {
    kind: 'spans',
    run_id: 'run',
    spans: [
      {
        traceId: 'a',
        spanId: 'b',
        name: AWKWARD,
        start: 0.5,
        end: 1.25,
        attributes: { text: 'x', count: 1, is: true },
      },
    ],
  },
  {
    kind: 'usage',
    run_id: 'run',
    calls: [
      {
        id: 'a',
        start: 0.5,
        milliseconds: 12,
        status: 'ok',
        tokens: { input: 3, output: 2, cache_read: 1 },
        model: AWKWARD,
        cost_usd: 0.000_25,
      },
      { id: 'b', start: 1, milliseconds: 0, status: 'cut' },
    ],
  },
  {
    kind: 'admit',
    ask_id: 1,
    run_id: 'run',
    call: { id: 'a', characters: 12, provider: 'p', model: AWKWARD, most_output: 20 },
  },
  {
    kind: 'done',
    run_id: 'run',
    outcome: {
      status: 'success',
      values: json,
      plain: '{}',
      interrupts: '{"a":[1]}',
      waiting: true,
    },
  },
  {
    kind: 'done',
    run_id: 'run',
    outcome: {
      status: 'error',
      waiting: false,
      error: { error: 'Error', message: AWKWARD },
      retry: true,
    },
  },
  {
    kind: 'done',
    run_id: 'run',
    outcome: { status: 'interrupted', waiting: false, drained: true, lost: false },
  },
  { kind: 'result', call_id: 1, json },
  { kind: 'failed', call_id: 1, status: 404, message: AWKWARD },
  { kind: 'exchange', message: asking({ want: 'call' } as const) },
  ...exchanges.map((message): FromThread => ({ kind: 'exchange', message })),
];

/** The context of values that are encrypted. */
const context = { tenant: AWKWARD };

const file = { file: '/auth.ts', exportName: 'auth' };

const toUserCode: ToUserCode[] = [
  {
    kind: 'start',
    version,
    start: {
      auth: file,
      app: undefined,
      encryption: { ...file, seconds: 5 },
      guarded: true,
      logLevel: 'info',
      sendsLog: true,
      env: {},
    },
  },
  {
    kind: 'question',
    call_id: 1,
    question: { ask: 'authenticate', method: 'GET', url: 'http://localhost/', headers },
  },
  {
    kind: 'question',
    call_id: 2,
    question: { ask: 'authorize', event: 'threads:create', value: json, user },
  },
  {
    kind: 'question',
    call_id: 3,
    question: { ask: 'cipher', call: { does: 'seal-keys', of: 'thread.metadata', text: json } },
  },
  {
    kind: 'question',
    call_id: 4,
    question: {
      ask: 'cipher',
      call: { does: 'open', of: 'checkpoint.values', bytes: all, context },
    },
  },
  { kind: 'question', call_id: 5, question: { ask: 'context', user, metadata: context } },
  { kind: 'ping' },
  { kind: 'exchange', message: asking({ user }) },
  { kind: 'exchange', message: asking({ user: undefined }) },
  { kind: 'exchange', message: asking({ user, source: '10.0.0.1', socket: ['chat.v2', AWKWARD] }) },
  ...exchanges.map((message): ToUserCode => ({ kind: 'exchange', message })),
];

const fromUserCode: FromUserCode[] = [
  {
    kind: 'ready',
    version,
    handles: ['threads'],
    app: { routes: [{ method: 'ALL', pattern: '^/x/?$', serves: true }], sockets: true },
    encrypts: true,
  },
  {
    kind: 'ready',
    version,
    handles: [],
    app: { routes: undefined },
    encrypts: false,
    derives: true,
  },
  { kind: 'broken', sentence: AWKWARD },
  { kind: 'log', line: AWKWARD },
  { kind: 'pong' },
  { kind: 'pong', holds: 3, begun: 2 },
  { kind: 'document', document: { paths: { '/x': {} } } },
  { kind: 'answer', call_id: 1, answer: user },
  {
    kind: 'answer',
    call_id: 2,
    answer: { value: { a: AWKWARD }, filter: { owner: { $eq: 'ada' } } },
  },
  { kind: 'answer', call_id: 2, answer: { value: {}, filter: undefined } },
  { kind: 'answer', call_id: 3, answer: json },
  { kind: 'answer', call_id: 4, answer: all },
  { kind: 'answer', call_id: 5, answer: { metadata: context } },
  { kind: 'refused', call_id: 1, ...refusal },
  { kind: 'exchange', message: asking({ want: 'next', exchange: 7 } as const) },
  { kind: 'exchange', message: asking({ want: 'call' } as const) },
  ...exchanges.map((message): FromUserCode => ({ kind: 'exchange', message })),
];

const at = { thread_id: 'thread', namespace: 'sub|1', checkpoint_id: 'b' };
const blobOf = { channel: 'messages', type: 'py:msgpack', blob: all };
const change = {
  base: '1',
  steps: 1,
  stored: 4,
  parts: [[0, 1] as [number, number], { new: [all.length, 0] }],
};
const listRow = { namespace: '', channel: 'messages', version: '2', ...change, blob: all };

/** Kinds of messages that threads alone have, and those that they have in another form. */
const OF_THREADS = [
  'start',
  'written',
  'beat',
  'wait',
  'embed',
  'embedded',
  'not_embedded',
  'cipher',
  'ciphered',
  'not_ciphered',
];

const toRunner: ToRunner[] = [
  ...toThread
    .filter(({ kind }) => !OF_THREADS.includes(kind))
    .map((message) => message as ToRunner),
  {
    kind: 'start',
    version,
    start: {
      graphs: [],
      partial: false,
      logLevel: 'info',
      env: { NAME: AWKWARD },
      spanContents: true,
      sendsLog: true,
    },
  },
  { kind: 'saved', ask_id: 1 },
  {
    kind: 'found',
    ask_id: 2,
    checkpoints: [
      {
        ...at,
        parent: 'a',
        checkpoint: { v: 4 },
        metadata: { step: 1 },
        values: [blobOf],
        writes: [{ task_id: 'task', ...blobOf }],
      },
      {
        ...at,
        parent: null,
        checkpoint: {},
        metadata: {},
        values: [{ ...blobOf, blob: new Uint8Array() }],
        writes: [],
      },
    ],
  },
  {
    kind: 'found',
    ask_id: 3,
    lists: [listRow, { ...listRow, base: null, parts: [], blob: new Uint8Array() }],
    checkpoints: [
      {
        ...at,
        parent: null,
        checkpoint: {},
        metadata: {},
        values: [{ channel: 'messages', type: 'py:msgpack', version: '2', base: '1' }, blobOf],
        writes: [],
      },
    ],
  },
  { kind: 'begun', ask_id: 3, begins: false },
  { kind: 'results', ask_id: 4, json },
  { kind: 'refused', ask_id: 5, status: 503, message: AWKWARD },
];

const asked = { run_id: 'run', ask_id: 1 };

const fromRunner: FromRunner[] = [
  ...fromThread
    .filter(({ kind }) => !OF_THREADS.includes(kind))
    .map((message) => message as FromRunner),
  { kind: 'beat', full: true, late: 0.5 },
  {
    kind: 'put',
    ...asked,
    ...at,
    parent: 'a',
    step: -1,
    checkpoint: { v: 4 },
    metadata: { a: AWKWARD },
    values: [
      { version: '1', ...blobOf },
      { version: '2', ...blobOf, list: change },
    ],
  },
  {
    kind: 'put',
    run_id: null,
    context,
    ...at,
    parent: null,
    step: undefined,
    checkpoint: {},
    metadata: {},
    values: [],
  },
  {
    kind: 'writes',
    ...asked,
    ...at,
    task_id: 'task',
    path: '~',
    replace: true,
    writes: [{ index: -3, ...blobOf }],
  },
  { kind: 'read', ask_id: 1, thread_id: 'thread', namespace: '', limit: 1, known: ['messages\n1'] },
  {
    kind: 'read',
    ask_id: 1,
    thread_id: 'thread',
    before: 'b',
    checkpoint_id: 'a',
    metadata: { step: 1 },
  },
  { kind: 'begin', run_id: 'run', attempt: 2, ask_id: 1 },
  {
    kind: 'store',
    ask_id: 1,
    operation: { does: 'get', namespace: ['a'], key: 'k', refresh: false },
  },
  {
    kind: 'store',
    ask_id: 1,
    operation: {
      does: 'put',
      namespace: ['a'],
      key: 'k',
      value: { a: AWKWARD },
      index: false,
      ttl: null,
    },
  },
  { kind: 'store', ask_id: 1, operation: { does: 'delete', namespace: ['a'], key: 'k' } },
  {
    kind: 'store',
    ask_id: 1,
    operation: { does: 'search', search: { limit: 1, offset: 0, query: AWKWARD } },
  },
  {
    kind: 'store',
    ask_id: 1,
    operation: { does: 'namespaces', search: { limit: 1, offset: 0, prefix: ['*'] } },
  },
  { kind: 'delete_thread', ask_id: 1, thread_id: 'thread' },
  { kind: 'delete_runs', ask_id: 1, run_ids: ['run', AWKWARD] },
  { kind: 'copy_thread', ask_id: 1, from: 'thread', to: 'other' },
  { kind: 'prune', ask_id: 1, thread_ids: ['thread'], strategy: 'keep_latest' },
];

/** Returns the kinds, and the operations and questions, that a schema or a message names. */
const named = (part: unknown): string[] => {
  const found: string[] = [];
  JSON.stringify(part, (key, value: unknown) => {
    const word =
      typeof value === 'string' ? value : (value as { const?: unknown } | undefined)?.const;
    if (['kind', 'operation', 'ask', 'want', 'does'].includes(key) && typeof word === 'string')
      found.push(`${key} ${word}`);
    return value;
  });
  return [...new Set(found)].toSorted();
};

const ajv = new Ajv({ strict: false });

const WALLS: [name: string, schema: TSchema, messages: { kind: string }[]][] = [
  ['to a graph thread', ToThread, toThread],
  ['from a graph thread', FromThread, fromThread],
  ["to the user's own code", ToUserCode, toUserCode],
  ["from the user's own code", FromUserCode, fromUserCode],
  ['to a runner in another process', ToRunner, toRunner],
  ['from a runner in another process', FromRunner, fromRunner],
];

describe.each(WALLS)('messages %s', (_, schema, messages) => {
  const agrees = ajv.compile(schema);

  test.each(messages.map((message) => [message.kind, message] as const))(
    '%s arrives in both forms as it was sent',
    (_kind, message) => {
      expect(structuredClone(message)).toEqual(message);
      expect(decodeMessageFrame(schema, toFrame(schema, message))).toEqual(message);
      const header = headerOf(schema, message);
      agrees(header);
      expect([header, agrees.errors]).toEqual([header, null]);
    },
  );

  test('each kind is there', () => {
    expect(named(messages)).toEqual(expect.arrayContaining(named(schema)));
  });
});

test('frames are put together from pieces of any length', () => {
  const frames = fromRunner.map((message) => toFrame(FromRunner, message));
  const stream = Buffer.concat(frames);
  for (const length of [1, 3, 7, 100, stream.length]) {
    const reader = new FrameReader();
    const read: unknown[] = [];
    for (let from = 0; from < stream.length; from += length)
      for (const frame of reader.push(stream.subarray(from, from + length)))
        read.push(decodeMessageFrame(FromRunner, frame));
    expect(read).toEqual(fromRunner);
  }
  expect(() => new FrameReader().push(Buffer.from('ffffffff00', 'hex'))).toThrow('is too long');
});

test('a message of another form does not agree with the schema', () => {
  const agrees = ajv.compile(FromThread as TSchema);
  expect(agrees({ kind: 'beat', full: 'no' })).toBe(false);
  expect(agrees({ kind: 'dance' })).toBe(false);
  expect(
    agrees({
      kind: 'exchange',
      message: { kind: 'chunk', exchange: 1, of: 'answer', bytes: 'AAAA' },
    }),
  ).toBe(false);
});
