import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startEnvoy, type Envoy } from './envoy.ts';

/* An agent server behind a real proxy, by a route without a time limit and by a usual one. */

/** Streams that one client may hold open: those of the longest tests side by side, and no more. */
const STREAMS = 3;

let database: TestDatabase;
let agent: AgentProcess;
let envoy: Envoy;
beforeAll(async () => {
  database = await freshDatabase();
  const env = { GX_TRUSTED_PROXIES: '127.0.0.1', GX_STREAMS_PER_CALLER: String(STREAMS), GX_LOG_LEVEL: 'error' };
  agent = await startAgent({ database: database.uri, env });
  envoy = await startEnvoy(Number(new URL(agent.url).port));
});
afterAll(async () => {
  await envoy.stop();
  await agent.kill();
  await database.drop();
});

type Read = { events: { id: string; event: string; data: string }[]; broke: boolean; seconds: number; silence: number };

/** Reads a stream until it ends, breaks, or has the event. `silence`: the longest time without an event, in seconds. */
async function read(answer: Response, isLast: (event: string) => boolean = () => false): Promise<Read> {
  const started = performance.now();
  const found: Read = { events: [], broke: false, seconds: 0, silence: 0 };
  let text = '';
  let last = started;
  try {
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const messages = (text + chunk).split(/\r?\n\r?\n/);
      text = messages.pop() ?? '';
      for (const message of messages) {
        const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1] ?? '';
        if (field('event') === '') continue;
        found.silence = Math.max(found.silence, (performance.now() - last) / 1000);
        last = performance.now();
        found.events.push({ id: field('id'), event: field('event'), data: field('data') });
        if (isLast(field('event'))) return found;
      }
    }
  } catch {
    found.broke = true;
  }
  return { ...found, seconds: (performance.now() - started) / 1000 };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const post = (url: string, path: string, body: unknown): Promise<Response> =>
  fetch(url + path, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) });
const stepping = (steps: number, pause: number): object => ({
  assistant_id: 'steps',
  input: { left: steps, pause },
  stream_mode: 'updates',
  stream_resumable: true,
});
const leftIn = ({ events }: Read): number[] =>
  events.filter(({ event }) => event === 'updates').map(({ data }) => (JSON.parse(data) as { step: { left: number } }).step.left);

test('a stream of ninety seconds whose graph is silent for forty arrives whole, and a usual route cuts it', async () => {
  const [whole, cut] = await Promise.all([
    read(await post(envoy.unlimited, '/runs/stream', stepping(2, 45_000))),
    read(await post(envoy.usual, '/runs/stream', stepping(2, 45_000))),
  ]);
  expect([leftIn(whole), whole.broke]).toEqual([[1, 0], false]);
  expect(whole.seconds).toBeGreaterThan(89);
  expect(whole.silence).toBeGreaterThan(40);
  // This is what a route without `timeouts` does, and why ours have them.
  expect([leftIn(cut), cut.broke || cut.seconds < 20]).toEqual([[], true]);
});

test('a reader that comes back goes on behind the last event that it has', async () => {
  const { thread_id } = await agent.client.threads.create();
  const first = await post(envoy.unlimited, `/threads/${thread_id}/runs/stream`, stepping(5, 200));
  const before = await read(first, (event) => event === 'updates');
  const headers = { 'last-event-id': before.events.at(-1)!.id };
  const after = await read(await fetch(envoy.unlimited + first.headers.get('location')!, { headers }));
  expect([...leftIn(before), ...leftIn(after)]).toEqual([4, 3, 2, 1, 0]);
});

test('a WebSocket is opened, carries commands and events, and stays open', async () => {
  const socket = new WebSocket(`${envoy.unlimited.replace('http', 'ws')}/threads/${crypto.randomUUID()}/stream/events`);
  const frames: { id?: number; type: string; method?: string; params?: { data?: { event?: string } } }[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as (typeof frames)[number]));
  await once(socket, 'open');
  const send = (id: number, method: string, params: object): void => socket.send(JSON.stringify({ id, method, params }));
  send(1, 'subscription.subscribe', { channels: ['lifecycle'] });
  // Longer than a usual route lets a request last.
  send(2, 'run.start', { assistant_id: 'steps', input: { left: 1, pause: 20_000 } });
  const isCompleted = (): boolean => frames.some(({ params }) => params?.data?.event === 'completed');
  await expect.poll(isCompleted, { timeout: 60_000 }).toBe(true);
  expect(socket.readyState).toBe(WebSocket.OPEN);
  socket.terminate();
});

test('a body of nearly 20 MB arrives, and a larger one gets the answer of the server', async () => {
  const bodyOf = (bytes: number): object => ({ ...stepping(1, 0), input: { left: 1, note: 'x'.repeat(bytes) } });
  const taken = await post(envoy.unlimited, '/runs/wait', bodyOf(20 * 1024 * 1024 - 1000));
  expect([taken.status, await taken.json()]).toEqual([200, expect.objectContaining({ left: 0, done: 1 })]);
  expect((await post(envoy.unlimited, '/runs/wait', bodyOf(20 * 1024 * 1024))).status).toBe(413);
});

describe('clients', () => {
  /** Opens a stream of a thread from another address of this machine, with a header that the client made up. */
  async function opened(localAddress: string, threadId: string): Promise<{ status: number; leave: () => void }> {
    const headers = { 'x-forwarded-for': '198.51.100.1' };
    const asked = request(`${envoy.unlimited}/threads/${threadId}/stream`, { localAddress, headers, agent: false }).end();
    const [answer] = (await once(asked, 'response')) as [{ statusCode: number }];
    return { status: answer.statusCode, leave: () => asked.destroy() };
  }

  test('have limits of their own, whatever they say about themselves', async () => {
    const { thread_id } = await agent.client.threads.create();
    const first = [];
    for (let count = 0; count <= STREAMS; count += 1) first.push(await opened('127.0.0.2', thread_id));
    const other = await opened('127.0.0.3', thread_id);
    expect(first.map(({ status }) => status)).toEqual([...Array.from({ length: STREAMS }, () => 200), 429]);
    expect(other.status).toBe(200);
    for (const { leave } of [...first, other]) leave();
  });
});

test('the first event comes at most ten milliseconds later than without the proxy', async () => {
  const firstEvent = async (url: string): Promise<number> => {
    const started = performance.now();
    await read(await post(url, '/runs/stream', stepping(1, 0)), () => true);
    return performance.now() - started;
  };
  const times: Record<'direct' | 'proxied', number[]> = { direct: [], proxied: [] };
  for (let count = 0; count < 60; count += 1) {
    times.direct.push(await firstEvent(agent.url));
    times.proxied.push(await firstEvent(envoy.unlimited));
  }
  const middle = (list: number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;
  expect(middle(times.proxied) - middle(times.direct)).toBeLessThanOrEqual(10);
});
