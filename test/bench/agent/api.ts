import { randomUUID } from 'node:crypto';
import { call, callForText, follow, stream, type Streamed } from './http.ts';
import type { BenchServer } from './servers.ts';

/* The calls of the measurements, the same for every server. */

export const input = { messages: [{ role: 'user', content: 'a question of a few words' }] };

export type EchoState = { started_at: number; messages: unknown[] };

export async function createThread({ url }: BenchServer, metadata: object = {}): Promise<string> {
  const { thread_id } = await call<{ thread_id: string }>(`${url}/threads`, {
    thread_id: randomUUID(),
    metadata,
  });
  return thread_id;
}

export const wait = ({ url }: BenchServer, thread: string): Promise<EchoState> =>
  call<EchoState>(`${url}/threads/${thread}/runs/wait`, { assistant_id: 'echo', input });

/** Returns the JSON of the state, which nobody has parsed. */
export const waitForText = ({ url }: BenchServer, thread: string): Promise<string> =>
  callForText(`${url}/threads/${thread}/runs/wait`, { assistant_id: 'echo', input });

export const createRun = ({ url }: BenchServer, thread: string): Promise<{ run_id: string }> =>
  call<{ run_id: string }>(`${url}/threads/${thread}/runs`, { assistant_id: 'echo', input });

export const streamRun = ({ url }: BenchServer, thread: string): Promise<Streamed> =>
  stream(`${url}/threads/${thread}/runs/stream`, {
    assistant_id: 'talk',
    input,
    stream_mode: ['custom'],
  });

/** What event streaming makes of every run, whatever its readers ask for, as modes of the older door. */
export const ALL_MODES = ['values', 'updates', 'messages-tuple', 'custom', 'tasks', 'checkpoints'];
/** The same as channels of event streaming. */
export const ALL_CHANNELS = [
  'values',
  'updates',
  'messages',
  'custom',
  'tasks',
  'checkpoints',
  'lifecycle',
];

/** The same by the older door as event streaming does it: every event is kept, so that a reader can come back. */
export const streamResumable = (
  { url }: BenchServer,
  thread: string,
  stream_mode: string[],
): Promise<Streamed> =>
  stream(`${url}/threads/${thread}/runs/stream`, {
    assistant_id: 'talk',
    input,
    stream_mode,
    stream_subgraphs: true,
    stream_resumable: true,
  });

/** Whom a client asks, and with which words. */
export type Asked = { assistant: string; content: string };

const TALK: Asked = { assistant: 'talk', content: input.messages[0]!.content };

/** The same by event streaming: a subscription, which includes the end, and a command. */
export const streamByEvents = (
  { url }: BenchServer,
  thread: string,
  channels: string[],
  asked: Asked = TALK,
): Promise<Streamed> =>
  follow(`${url}/threads/${thread}/stream/events`, { channels }, () =>
    call(`${url}/threads/${thread}/commands`, {
      id: 1,
      method: 'run.start',
      params: {
        assistant_id: asked.assistant,
        input: { messages: [{ role: 'user', content: asked.content }] },
      },
    }),
  );

/** The same by AG-UI, whose run is one of event streaming: one request, which makes the thread, too. */
export const streamByAgUi = (
  { url }: BenchServer,
  threadId: string,
  { assistant, content }: Asked = TALK,
): Promise<Streamed> =>
  stream(
    `${url}/ag-ui/${assistant}`,
    {
      threadId,
      runId: randomUUID(),
      protocolVersion: '1.0',
      messages: [{ id: randomUUID(), role: 'user', content }],
      tools: [],
      context: [],
    },
    'data: {"type":"CUSTOM"',
  );

export async function waitOnFreshThread(server: BenchServer): Promise<void> {
  await wait(server, await createThread(server));
}
