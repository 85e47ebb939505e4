import { randomUUID } from 'node:crypto';
import { call, follow, stream, type Streamed } from './http.ts';
import type { BenchServer } from './servers.ts';

/* The calls that the measurements make, the same for every server. */

export const input = { messages: [{ role: 'user', content: 'a question of a few words' }] };

export type EchoState = { started_at: number; messages: unknown[] };

export async function createThread({ url }: BenchServer, metadata: object = {}): Promise<string> {
  const { thread_id } = await call<{ thread_id: string }>(`${url}/threads`, { thread_id: randomUUID(), metadata });
  return thread_id;
}

export const wait = ({ url }: BenchServer, thread: string): Promise<EchoState> =>
  call<EchoState>(`${url}/threads/${thread}/runs/wait`, { assistant_id: 'echo', input });

export const createRun = ({ url }: BenchServer, thread: string): Promise<{ run_id: string }> =>
  call<{ run_id: string }>(`${url}/threads/${thread}/runs`, { assistant_id: 'echo', input });

export const streamRun = ({ url }: BenchServer, thread: string): Promise<Streamed> =>
  stream(`${url}/threads/${thread}/runs/stream`, { assistant_id: 'talk', input, stream_mode: ['custom'] });

/**
 * Does the same by the older door, in the way of event streaming: every event is kept so that a reader can come back.
 */
export const streamResumable = ({ url }: BenchServer, thread: string): Promise<Streamed> =>
  stream(`${url}/threads/${thread}/runs/stream`, { assistant_id: 'talk', input, stream_mode: ['custom'], stream_resumable: true });

/** Does the same by event streaming: a subscription and a command. */
export const streamByEvents = ({ url }: BenchServer, thread: string): Promise<Streamed> =>
  follow(`${url}/threads/${thread}/stream/events`, { channels: ['custom', 'lifecycle'] }, () =>
    call(`${url}/threads/${thread}/commands`, { id: 1, method: 'run.start', params: { assistant_id: 'talk', input } }),
  );

export async function waitOnFreshThread(server: BenchServer): Promise<void> {
  await wait(server, await createThread(server));
}
