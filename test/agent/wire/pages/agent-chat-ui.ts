import { checkpointBefore, type PageCall } from './page-call.ts';

/*
 * The calls of agent-chat-ui with npm SDK 1.15, as recorded: its first view, a message, the same message again, a
 * question and its answer, the list of threads.
 */

const OWN = { 'content-type': 'application/json', 'x-api-key': 'a-key' };
const HOOK = { ...OWN, 'x-auth-scheme': 'langsmith-api-key' };
const READING = {
  accept: 'application/json',
  'x-api-key': 'a-key',
  'x-auth-scheme': 'langsmith-api-key',
};

const STREAMED = {
  stream_mode: ['values', 'messages-tuple', 'custom'],
  stream_subgraphs: true,
  stream_resumable: true,
  assistant_id: 'agent',
  on_disconnect: 'continue',
};
const human = (id: string, text: string) => ({
  messages: [{ id, type: 'human', content: [{ type: 'text', text }] }],
});

const LIST: PageCall = {
  method: 'POST',
  path: '/threads/search',
  headers: OWN,
  body: { metadata: { graph_id: 'agent' }, limit: 100, offset: 0 },
};
const HISTORY: PageCall = {
  method: 'POST',
  path: '/threads/{thread}/history',
  headers: HOOK,
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
  headers: HOOK,
  body: { ...body, ...STREAMED },
  events: ['metadata', 'values', 'messages'],
});

const HELLO = ['hello', 'Hello from the agent.'];
const ASKED = [...HELLO, 'delete it', ''];

export const AGENT_CHAT_UI: PageCall[] = [
  {
    method: 'GET',
    path: '/info',
    headers: { 'x-api-key': 'a-key' },
    holds: { flags: { assistants: true } },
  },
  { ...LIST, holds: [] },
  {
    method: 'POST',
    path: '/threads',
    headers: HOOK,
    body: { metadata: {} },
    holds: { status: 'idle', values: null, interrupts: {} },
    keeps: ({ body }) => ({ thread: (body as { thread_id: string }).thread_id }),
  },
  { ...stream({ input: human('5b1a0000-0000-4000-8000-000000000001', 'hello') }), says: HELLO },
  ended,
  { ...HISTORY, says: HELLO, keeps: ({ body }) => ({ checkpoint: checkpointBefore(body, 2) }) },
  { ...stream({ checkpoint: { checkpoint_ns: '', checkpoint_id: '{checkpoint}' } }), says: HELLO },
  ended,
  { ...HISTORY, says: HELLO },
  {
    ...stream({ input: human('5b1a0000-0000-4000-8000-000000000002', 'delete it') }),
    says: ASKED,
    holds: { __interrupt__: [{ value: { question: 'Delete a.txt?' } }] },
  },
  ended,
  {
    ...HISTORY,
    says: ASKED,
    holds: [
      {
        next: ['tools'],
        tasks: [{ name: 'tools', interrupts: [{ value: { question: 'Delete a.txt?' } }] }],
      },
    ],
  },
  {
    ...stream({ input: {}, command: { resume: 'yes' } }),
    says: [...ASKED, 'a.txt is deleted.', 'The tool said: a.txt is deleted.'],
  },
  ended,
  {
    ...HISTORY,
    says: [...ASKED, 'a.txt is deleted.', 'The tool said: a.txt is deleted.'],
    holds: [{ next: [], tasks: [] }],
  },
  { ...LIST, holds: [{ thread_id: '{thread}', status: 'idle', metadata: { graph_id: 'agent' } }] },
];
