import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import {
  followBySocket,
  laterBy,
  leftByTwoReaders,
  leftIn,
  post,
  read,
  readLongStream,
  statusesOfLargeBodies,
  stepping,
  WHOLE_LONG_STREAM,
} from '../kit/routes/steps-stream.ts';
import { startEnvoy, type Envoy } from './envoy.ts';

/* An agent server behind a real proxy, by a route without a time limit and by a usual one. */

/** Streams that one client may hold open: those of the longest tests side by side, and no more. */
const STREAMS = 3;

let database: TestDatabase;
let agent: AgentProcess;
let envoy: Envoy;
let unlimited: { url: string };
beforeAll(async () => {
  database = await freshDatabase();
  const env = {
    GX_TRUSTED_PROXIES: '127.0.0.1',
    GX_STREAMS_PER_CALLER: String(STREAMS),
    GX_LOG_LEVEL: 'error',
  };
  agent = await startAgent({ database: database.uri, env });
  envoy = await startEnvoy(Number(new URL(agent.url).port));
  unlimited = { url: envoy.unlimited };
});
afterAll(async () => {
  await envoy.stop();
  await agent.kill();
  await database.drop();
});

test('a stream of ninety seconds whose graph is silent for forty arrives whole, and a usual route cuts it', async () => {
  const [whole, cut] = await Promise.all([
    readLongStream(unlimited),
    read(await post({ url: envoy.usual }, '/runs/stream', stepping(2, 45_000))),
  ]);
  expect(whole).toEqual(WHOLE_LONG_STREAM);
  // This is what a route without `timeouts` does, and why ours have them.
  expect([leftIn(cut), cut.broke || cut.seconds < 20]).toEqual([[], true]);
});

test('a reader that comes back goes on behind the last event that it has', async () => {
  expect(await leftByTwoReaders(unlimited)).toEqual([4, 3, 2, 1, 0]);
});

// Longer than a usual route lets a request last.
test('a WebSocket is opened, carries commands and events, and stays open', async () => {
  expect(await followBySocket(unlimited, 20_000)).toBe('open');
});

test('a body of nearly 20 MB arrives, and a larger one gets the answer of the server', async () => {
  expect(await statusesOfLargeBodies(unlimited)).toEqual([200, 413]);
});

describe('clients', () => {
  /** Opens a stream of a thread from another address of this machine, with a header that the client made up. */
  async function opened(
    localAddress: string,
    threadId: string,
  ): Promise<{ status: number; leave: () => void }> {
    const headers = { 'x-forwarded-for': '198.51.100.1' };
    const asked = request(`${envoy.unlimited}/threads/${threadId}/stream`, {
      localAddress,
      headers,
      agent: false,
    }).end();
    const [answer] = (await once(asked, 'response')) as [{ statusCode: number }];
    return { status: answer.statusCode, leave: () => asked.destroy() };
  }

  test('have limits of their own, whatever they say about themselves', async () => {
    const { thread_id } = await agent.client.threads.create();
    const first = [];
    for (let count = 0; count <= STREAMS; count += 1)
      first.push(await opened('127.0.0.2', thread_id));
    const other = await opened('127.0.0.3', thread_id);
    expect(first.map(({ status }) => status)).toEqual([
      ...Array.from({ length: STREAMS }, () => 200),
      429,
    ]);
    expect(other.status).toBe(200);
    for (const { leave } of [...first, other]) leave();
  });
});

test('the first event comes at most ten milliseconds later than without the proxy', async () => {
  expect(await laterBy({ url: agent.url }, unlimited)).toBeLessThanOrEqual(10);
});
