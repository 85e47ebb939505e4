/* The requests that both servers get, in their order. */

/** One request. `{name}` in a path or body is what an earlier answer's `keeps` found. */
export type Asked = {
  name: string;
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  body?: unknown;
  /** Names of values of the answer that later requests use, with the field of each. */
  keeps?: Record<string, string>;
};

const newThread = (name: string): Asked => ({
  name: `make ${name}`,
  path: '/threads',
  body: {},
  keeps: { [name]: 'thread_id' },
});
const wait = (name: string, thread: string, body: object): Asked => ({
  name,
  path: `/threads/{${thread}}/runs/wait`,
  body,
});
const get = (name: string, path: string): Asked => ({ name, method: 'GET', path });

const ASKING = { messages: [], value: 'init', items: [] };
const QUESTION = { messages: [{ role: 'user', content: 'Hi there' }] };
const MODES = [
  'values',
  'updates',
  'messages',
  'messages-tuple',
  'custom',
  'tasks',
  'checkpoints',
  'debug',
];
const GRAPHS = ['echo', 'counter', 'approval', 'outer', 'agent', 'tools_agent', 'typed'];
const NOBODY = '00000000-0000-4000-8000-000000000000';

const ASSISTANTS: Asked[] = [
  {
    name: 'search assistants',
    path: '/assistants/search',
    body: { graph_id: 'echo' },
    keeps: { assistant: '0.assistant_id' },
  },
  get('get an assistant', '/assistants/{assistant}'),
  { name: 'count assistants', path: '/assistants/count', body: { graph_id: 'echo' } },
  get('get an assistant that is not there', `/assistants/${NOBODY}`),
  ...GRAPHS.flatMap((graph) => [
    {
      name: `find ${graph}`,
      path: '/assistants/search',
      body: { graph_id: graph },
      keeps: { [graph]: '0.assistant_id' },
    },
    get(`draw ${graph}`, `/assistants/{${graph}}/graph`),
    get(`schemas of ${graph}`, `/assistants/{${graph}}/schemas`),
    get(`subgraphs of ${graph}`, `/assistants/{${graph}}/subgraphs`),
  ]),
];

const THREADS: Asked[] = [
  {
    name: 'make a thread',
    path: '/threads',
    body: { metadata: { kind: 'plain' } },
    keeps: { plain: 'thread_id' },
  },
  get('get a thread', '/threads/{plain}'),
  {
    name: 'change a thread',
    method: 'PATCH',
    path: '/threads/{plain}',
    body: { metadata: { more: 1 } },
  },
  { name: 'search threads', path: '/threads/search', body: { metadata: { kind: 'plain' } } },
  { name: 'count threads', path: '/threads/count', body: { metadata: { kind: 'plain' } } },
  get('state of an empty thread', '/threads/{plain}/state'),
  get('history of an empty thread', '/threads/{plain}/history'),
  get('get a thread that is not there', `/threads/${NOBODY}`),
  get('get a thread by a wrong id', '/threads/none'),
  { name: 'make a thread from a list', path: '/threads', body: [] },
  { name: 'delete a thread', method: 'DELETE', path: '/threads/{plain}' },
];

const RUNS: Asked[] = [
  newThread('echo'),
  wait('wait for echo', 'echo', { assistant_id: 'echo', input: { question: 'q' } }),
  get('state of echo', '/threads/{echo}/state'),
  get('history of echo', '/threads/{echo}/history?limit=5'),
  get('runs of echo', '/threads/{echo}/runs'),
  {
    name: 'write a state',
    path: '/threads/{echo}/state',
    body: { values: { answer: 'by hand' }, as_node: 'answer' },
  },
  get('state that was written', '/threads/{echo}/state'),
  { name: 'copy a thread', path: '/threads/{echo}/copy', body: {}, keeps: { copy: 'thread_id' } },
  get('state of a copy', '/threads/{copy}/state'),
  {
    name: 'wait without a thread',
    path: '/runs/wait',
    body: { assistant_id: 'spread', input: { words: ['a', 'bcd'] } },
  },
  { name: 'wait for odd values', path: '/runs/wait', body: { assistant_id: 'odd', input: {} } },
  {
    name: 'wait for a state of a class',
    path: '/runs/wait',
    body: { assistant_id: 'typed', input: { profile: { name: 'q' } } },
  },
  {
    name: 'wait for an assistant that is not there',
    path: '/runs/wait',
    body: { assistant_id: 'nobody', input: {} },
  },
  newThread('fails'),
  wait('wait for a failure', 'fails', { assistant_id: 'fails', input: { question: 'q' } }),
  get('thread of a failure', '/threads/{fails}'),
  get('state of a failure', '/threads/{fails}/state'),
];

const QUESTIONS: Asked[] = ['approval', 'outer'].flatMap((graph) => [
  newThread(graph),
  wait(`${graph} asks`, graph, { assistant_id: graph, input: { draft: 'd' } }),
  get(`thread of ${graph}`, `/threads/{${graph}}`),
  get(`state of ${graph}`, `/threads/{${graph}}/state`),
  get(`state of ${graph} with subgraphs`, `/threads/{${graph}}/state?subgraphs=true`),
  wait(`${graph} goes on`, graph, { assistant_id: graph, command: { resume: 'yes' } }),
  get(`history of ${graph}`, `/threads/{${graph}}/history`),
]);

const INNER = {
  checkpoint_ns: '{ns}',
  checkpoint_id: '{inner}',
  checkpoint_map: { '': '{root}', '{ns}': '{inner}' },
};

/** A thread that waits in a subgraph, whose own history has the checkpoint from which it runs again. */
const SUBGRAPH: Asked[] = [
  newThread('again'),
  wait('outer asks once more', 'again', { assistant_id: 'outer', input: { draft: 'd' } }),
  {
    ...get('state of outer with its subgraphs', '/threads/{again}/state?subgraphs=true'),
    keeps: { ns: 'tasks.0.state.checkpoint.checkpoint_ns', root: 'checkpoint.checkpoint_id' },
  },
  {
    name: 'history of a subgraph',
    path: '/threads/{again}/history',
    body: { checkpoint: { checkpoint_ns: '{ns}' } },
    keeps: { inner: '0.checkpoint.checkpoint_id' },
  },
  wait('outer asks from within the subgraph', 'again', {
    assistant_id: 'outer',
    input: null,
    checkpoint: INNER,
  }),
  get('thread of a run from within a subgraph', '/threads/{again}'),
  wait('answer the subgraph that ran again', 'again', {
    assistant_id: 'outer',
    command: { resume: 'yes' },
  }),
];

const REFUSED: Asked[] = [
  newThread('bounded'),
  wait('wait for a value that the state refuses', 'bounded', {
    assistant_id: 'bounded',
    input: { name: 'bad' },
  }),
  get('thread of a refused value', '/threads/{bounded}'),
  get('state of a refused value', '/threads/{bounded}/state'),
];

/** Ways to give no context, and ways to give one. */
const CONTEXTS: Record<string, object> = {
  'no context': {},
  'an empty context': { context: {} },
  'an empty configurable': { config: { configurable: {} } },
  'a context': { context: { flavour: 'sour' } },
  'another field': { context: { flavour: 'sour', other: 1 } },
  'settings by their other name': { config: { configurable: { flavour: 'sour' } } },
};

const OF_CONTEXT: Asked[] = ['contextual', 'strict', 'runtime'].flatMap((graph) =>
  Object.entries(CONTEXTS).map(([name, more]) => ({
    name: `wait for ${graph} with ${name}`,
    path: '/runs/wait',
    body: { assistant_id: graph, input: { given: 'x' }, ...more },
  })),
);

/** Two runs on a thread, each of which stops for an answer: the server makes all values again from what it stored. */
const CLASSES: Asked[] = ['kept', 'kept_data', 'kept_model', 'kept_counts'].flatMap((graph) => [
  newThread(graph),
  ...['one', 'two'].flatMap((name) => [
    wait(`${graph} asks ${name}`, graph, {
      assistant_id: graph,
      input: graph === 'kept_counts' ? name : { name },
    }),
    wait(`${graph} goes on ${name}`, graph, { assistant_id: graph, command: { resume: 'yes' } }),
  ]),
  get(`state of ${graph}`, `/threads/{${graph}}/state`),
]);

const SENDS: Asked[] = [
  newThread('kept_sends'),
  wait('kept_sends stops', 'kept_sends', {
    assistant_id: 'kept_sends',
    input: {},
    interrupt_before: ['take'],
  }),
  wait('kept_sends goes on', 'kept_sends', { assistant_id: 'kept_sends', input: null }),
];

const STREAMS: Asked[] = [
  ...MODES.flatMap((mode) => [
    newThread(mode.replace('-', '_')),
    {
      name: `stream agent as ${mode}`,
      path: `/threads/{${mode.replace('-', '_')}}/runs/stream`,
      body: { assistant_id: 'agent', input: ASKING, stream_mode: [mode] },
    },
  ]),
  {
    name: 'stream deep_agent with subgraphs',
    path: '/runs/stream',
    body: {
      assistant_id: 'deep_agent',
      input: QUESTION,
      stream_mode: ['values', 'updates', 'messages-tuple'],
      stream_subgraphs: true,
    },
  },
  {
    name: 'stream a failure',
    path: '/runs/stream',
    body: { assistant_id: 'fails', input: { question: 'q' }, stream_mode: ['values'] },
  },
];

const STORE: Asked[] = [
  {
    name: 'put an item',
    method: 'PUT',
    path: '/store/items',
    body: { namespace: ['a', 'b'], key: 'k', value: { v: 1 } },
  },
  get('get an item', '/store/items?namespace=a.b&key=k'),
  { name: 'search items', path: '/store/items/search', body: { namespace_prefix: ['a'] } },
  { name: 'list namespaces', path: '/store/namespaces', body: {} },
  {
    name: 'delete an item',
    method: 'DELETE',
    path: '/store/items',
    body: { namespace: ['a', 'b'], key: 'k' },
  },
  get('get an item that is not there', '/store/items?namespace=a.b&key=k'),
];

export const REQUESTS: Asked[] = [
  ...ASSISTANTS,
  ...THREADS,
  ...RUNS,
  ...QUESTIONS,
  ...SUBGRAPH,
  ...REFUSED,
  ...OF_CONTEXT,
  ...CLASSES,
  ...SENDS,
  ...STREAMS,
  ...STORE,
];
