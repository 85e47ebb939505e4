import { randomUUID } from 'node:crypto';
import { call, stream, type Streamed } from './http.ts';
import type { BenchServer } from './servers.ts';

/* The calls of the measurements, the same for every server. */

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

export async function waitOnFreshThread(server: BenchServer): Promise<void> {
  await wait(server, await createThread(server));
}
