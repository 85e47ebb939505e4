import type { PageCall } from './page-call.ts';

/*
 * The calls of deep-agents-ui with npm SDK 1.15, as recorded: the assistant, lists of threads, a message, a change of
 * the state, a question and its answer, a reload in the middle, single steps, a thread marked as done, a stop.
 */

const HEADERS = {
  'content-type': 'application/json',
  'x-api-key': 'a-key',
  'x-auth-scheme': 'langsmith',
};
const READING = { ...HEADERS, accept: 'application/json' };

const STREAMED = {
  stream_mode: ['messages-tuple', 'values'],
  stream_resumable: true,
  assistant_id: '{assistant}',
  on_disconnect: 'continue',
};
const CONFIG = { recursion_limit: 100 };
const human = (id: string, content: string) => ({ messages: [{ id, type: 'human', content }] });

const NEWEST = { limit: 20, offset: 0, sort_by: 'updated_at', sort_order: 'desc' };
const LIST: PageCall = {
  method: 'POST',
  path: '/threads/search',
  headers: HEADERS,
  body: { metadata: { assistant_id: '{assistant}' }, ...NEWEST },
};
const HISTORY: PageCall = {
  method: 'POST',
  path: '/threads/{thread}/history',
  headers: HEADERS,
  body: { limit: 10 },
};
const ended: PageCall = {
  method: 'GET',
  path: '{run}',
  headers: READING,
  holds: { status: 'success' },
};

const stream = (body: object): PageCall => ({
  method: 'POST',
  path: '/threads/{thread}/runs/stream',
  headers: HEADERS,
  body: { ...body, ...STREAMED },
});

const HELLO = ['hello', 'Hello from the agent.'];
const ASKED = [...HELLO, 'delete it', ''];
const ANSWERED = [...ASKED, 'a.txt is deleted.', 'The tool said: a.txt is deleted.'];
const WEATHER = [
  ...ANSWERED,
  'what is the weather?',
  '',
  'Sunny in Rome.',
  'The tool said: Sunny in Rome.',
];
const STEP = [...WEATHER, 'weather', ''];
const STEPPED = [...STEP, 'Sunny in Rome.', 'The tool said: Sunny in Rome.'];

export const DEEP_AGENTS_UI: PageCall[] = [
  {
    method: 'POST',
    path: '/assistants/search',
    headers: HEADERS,
    body: { graph_id: 'agent', limit: 100, offset: 0 },
    holds: [{ graph_id: 'agent', metadata: { created_by: 'system' } }],
    keeps: ({ body }) => ({ assistant: (body as { assistant_id: string }[])[0]!.assistant_id }),
  },
  {
    method: 'GET',
    path: '/assistants/{assistant}',
    headers: HEADERS,
    holds: { name: 'agent', version: 1, config: {}, context: {} },
  },
  { ...LIST, holds: [] },
  {
    ...LIST,
    body: { metadata: { assistant_id: '{assistant}' }, ...NEWEST, status: 'interrupted' },
    holds: [],
  },
  {
    method: 'POST',
    path: '/threads',
    headers: HEADERS,
    body: { metadata: {} },
    keeps: ({ body }) => ({ thread: (body as { thread_id: string }).thread_id }),
  },
  {
    ...stream({ input: human('5b1a0000-0000-4000-8000-000000000001', 'hello'), config: CONFIG }),
    events: ['metadata', 'values', 'messages'],
    says: HELLO,
  },
  ended,
  { ...HISTORY, says: HELLO },
  {
    method: 'POST',
    path: '/threads/{thread}/state',
    headers: HEADERS,
    body: { values: { messages: [] } },
    holds: { checkpoint: { thread_id: '{thread}', checkpoint_ns: '' } },
  },
  {
    ...stream({
      input: human('5b1a0000-0000-4000-8000-000000000002', 'delete it'),
      config: CONFIG,
    }),
    says: ASKED,
  },
  ended,
  {
    ...HISTORY,
    says: ASKED,
    holds: [{ tasks: [{ interrupts: [{ value: { question: 'Delete a.txt?' } }] }] }],
  },
  { ...stream({ input: null, command: { resume: 'yes' } }), says: ANSWERED },
  ended,
  { ...HISTORY, says: ANSWERED },
  // The page is reloaded in the middle of a run: it asks for the history, and joins the run from its beginning.
  {
    ...stream({
      input: human('5b1a0000-0000-4000-8000-000000000003', 'what is the weather?'),
      config: CONFIG,
    }),
    leaves: true,
  },
  {
    ...HISTORY,
    keeps: ({ body }) => ({
      checkpoint: (body as { checkpoint: { checkpoint_id: string } }[])[0]!.checkpoint
        .checkpoint_id,
    }),
  },
  {
    method: 'GET',
    path: '{run}/stream?cancel_on_disconnect=0&checkpoint_id={checkpoint}',
    headers: { ...HEADERS, 'last-event-id': '-1' },
    events: ['metadata', 'values', 'messages'],
    says: WEATHER,
  },
  ended,
  { ...HISTORY, says: WEATHER },
  // The page goes one step at a time: the run stops before the tools, then goes on from there.
  {
    ...stream({
      input: human('5b1a0000-0000-4000-8000-000000000004', 'weather'),
      config: {},
      interrupt_before: ['tools'],
    }),
    says: STEP,
  },
  ended,
  { ...HISTORY, says: STEP, holds: [{ next: ['tools'] }] },
  { ...stream({ config: CONFIG, interrupt_before: ['tools'] }), says: STEPPED },
  ended,
  { ...HISTORY, says: STEPPED, holds: [{ next: [] }] },
  // The thread is marked as done, and its list is read again.
  { ...stream({ input: null, command: { goto: '__end__', update: null } }), says: STEPPED },
  ended,
  { ...LIST, holds: [{ thread_id: '{thread}', status: 'idle' }] },
  // Somebody stops a run.
  {
    ...stream({
      input: human('5b1a0000-0000-4000-8000-000000000005', 'tell a story'),
      config: CONFIG,
    }),
    leaves: true,
  },
  { method: 'POST', path: '{run}/cancel?wait=0&action=interrupt', headers: HEADERS, status: 202 },
  { ...HISTORY, settles: true, says: [...STEPPED, 'tell a story'], holds: [{ next: ['model'] }] },
];
