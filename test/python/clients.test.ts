import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';
import { play } from './play.ts';

/*
 * LangGraph's Python clients, with the versions of requirements.txt. The cases are in test/python/clients. Where the
 * client streams events, a case is played by server-sent events and by WebSocket.
 */

const STEPS = [
  'stream_message start',
  'stream_message end',
  'call_tool start',
  'call_tool end',
  'ask_human start',
];
const ANSWERED = [
  'ask_human start',
  'ask_human end',
  'run_subgraph start',
  'sub_node start',
  'sub_node end',
  'run_subgraph end',
];
/** What the agent says that asks, up to its question and from there. */
const said = [...STEPS, ...ANSWERED];

/** Cases of graphs that LangGraph.js has, too: the agents of the captured streams. */
const TWINS = {
  answers_at_once: {
    namespace: [],
    items: ['streamed', 'tool', 'asked', 'sub'],
    said: 'Human said: yes',
    still: false,
  },
  values: { counts: [1, 2, 3, 4], last: 'Done.' },
  tools: [{ name: 'search', input: { query: 'v3' }, output: "result for 'v3'" }],
  extensions: said,
  plain_answers_at_once: ['streamed', 'tool', 'asked', 'sub'],
  plain_values: { counts: [1, 2, 3, 4], last: 'Done.' },
  plain_tools: [{ name: 'search', output: "result for 'v3'" }],
  plain_extensions: said,
};

const counted = Array.from({ length: 12 }, (_, at) => at + 1);

const STREAMED = {
  ...TWINS,
  messages: [['Hello,', ' ', 'world!']],
  plain_messages: [['Hello,', ' ', 'world!']],
  // The researcher answers without a model, so that it has no message of its own.
  subgraphs: { graphs: ['tools'], ends: ['completed'], texts: [[]] },
  plain_subgraphs: { graphs: ['tools'], texts: [[]] },
  interleaved: [
    'values',
    'tasks',
    'tasks',
    'values',
    'tasks',
    'tool_calls',
    'tasks',
    'values',
    'tasks',
    'tasks',
    'values',
  ],
  cancelled: { heard: ['running', 'interrupted'], status: 'interrupted', again: 'echo: again' },
  failing: 'Run errored: The node fails.',
  plain_failing: 'Run errored: The node fails.',
  broken_connections: { counted, output: 12, broken: true },
  rejoined: { seen: [null, 1, 2, 3, 4, 5, 6, 7, 8], output: 8 },
};

const OTHERS = {
  modes: {
    values: { metadata: 1, values: 4 },
    updates: { metadata: 1, updates: 3 },
    messages: {
      metadata: 1,
      'messages/metadata': 1,
      'messages/partial': 3,
      'messages/complete': 3,
    },
    'messages-tuple': { metadata: 1, messages: 5 },
    custom: { metadata: 1, custom: 5 },
    events: { metadata: 1, events: 14 },
    tasks: { metadata: 1, tasks: 6 },
    checkpoints: { metadata: 1, checkpoints: 4 },
    debug: { metadata: 1, debug: 10 },
  },
  modes_at_once: [
    'checkpoints',
    'debug',
    'messages',
    'metadata',
    'tasks',
    'updates',
    'values',
  ].flatMap((mode) => (mode === 'metadata' ? [mode] : [mode, `${mode}|tools`])),
  tokens: { tokens: ['Hello,', ' ', 'world!'], kinds: ['AIMessageChunk', 'ai', 'tool'] },
  typed_parts: { types: ['metadata', 'updates', 'values'], asked: ['Are we good?'] },
  joined: { first: [1, 2], rest: [3, 4, 5, 6] },
  stopped: 'interrupted',
  plain_streams: {
    events: { metadata: 1, custom: 5, updates: 3 },
    asked: ['Are we good?'],
    items: ['streamed', 'tool', 'asked', 'sub'],
  },
  remote_invoked: {
    answers: [
      { question: 'q', answer: 'echo: q' },
      { question: 'q', answer: 'echo: q' },
    ],
    state: { question: 'q', answer: 'echo: q' },
    error: { error: 'ValueError', message: 'The node fails.' },
  },
  plain_remote_invoked: [{ question: 'q', answer: 'echo: q' }, [{ answer: { answer: 'echo: q' } }]],
  remote_streams: {
    tokens: ['Hello,', ' ', 'world!'],
    next: ['ask_human'],
    asked: ['Are we good?'],
    rest: [
      [[], ['ask_human']],
      [['run_subgraph'], ['sub']],
      [[], ['run_subgraph']],
    ],
  },
  remote_states: {
    history: [2, 1, 0, -1],
    value: 'updated',
    next: ['run_subgraph'],
    same: true,
    nodes: ['__end__', '__start__', 'ask_human', 'call_tool', 'run_subgraph', 'stream_message'],
  },
  remote_events: { updates: [['agent'], ['tools'], ['answer']], last: 'Done.' },
  plain_remote_events: { names: ['tool_calls', 'values'], last: 'Done.' },
  remote_within: ['human', 'ai', 'tool', 'ai'],
};

const byBoth = (expected: unknown): unknown => ({ sse: expected, websocket: expected });

let database: TestDatabase;

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

describe.each([
  {
    of: 'Python',
    start: () => startPython(database.uri),
    streamed: STREAMED,
    others: OTHERS,
  },
  {
    of: 'JavaScript',
    start: () =>
      startAgent({ database: database.uri, config: 'test/agent/event-streaming/graphs/gx.json' }),
    streamed: TWINS,
    others: {},
  },
])('the Python clients, with graphs in $of', ({ start, streamed, others }) => {
  let agent: AgentProcess;
  let results: Record<string, unknown>;
  beforeAll(async () => {
    agent = await start();
    results = await play(agent.url, [...Object.keys(streamed), ...Object.keys(others)]);
  }, 180_000);
  afterAll(() => agent.kill('SIGKILL'));

  describe('streaming events', () => {
    test.each(Object.entries(streamed))('%s', (name, expected) =>
      expect(results[name]).toEqual(byBoth(expected)),
    );
  });
  test.each(Object.entries(others))('%s', (name, expected) =>
    expect(results[name]).toEqual(expected),
  );
});
