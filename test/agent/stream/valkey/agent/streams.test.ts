import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openStore, type StoreEntry } from '../../../../../src/agent/stream/valkey/store.ts';
import { EventReader, expectWhole } from '../../../../crash/event-reader.ts';
import { readStream, type Seen } from '../../../../crash/sse.ts';
import { startAgent, type AgentProcess } from '../../../../kit/agent-server.ts';
import { silentLog } from '../../../../kit/log.ts';
import { freshDatabase, type TestDatabase } from '../../../../kit/postgres.ts';
import { until } from '../../../../kit/until.ts';
import { startValkey, type TestValkey } from '../../../../kit/valkey.ts';

/*
 * Runs execute in one process and are read in another, with a key-value store between the two that dies, stands still
 * and forgets.
 */

const STEPS = 40;

let database: TestDatabase;
let valkey: TestValkey;
let api: AgentProcess;
let queue: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  valkey = await startValkey();
  const env = { GX_REDIS_URI: valkey.uri, GX_JOB_LEASE_SECS: '3' };
  api = await startAgent({ database: database.uri, env: { ...env, N_JOBS_PER_WORKER: '0' } });
  queue = await startAgent({ database: database.uri, env: { ...env, N_JOBS_PER_WORKER: '20' } });
});

afterAll(async () => {
  await api.kill();
  await queue.kill();
  await valkey.kill();
  await database.drop();
});

beforeEach(async () => {
  valkey.goOn();
  await valkey.start();
  for (const one of [api, queue])
    await until('each process has reached the store', async () => (await figuresOf(one)).up);
});

type Figures = { up: boolean; byStore: number; byTable: number; turned: number };

const figuresOf = async ({ url }: AgentProcess): Promise<Figures> =>
  ((await (await fetch(`${url}/metrics?format=json`)).json()) as { streams: Figures }).streams;

const input = { left: STEPS, pause: 25 };

type Stream = { seen: Seen[]; ended: Promise<unknown> };

function startStream(more: object = {}): Stream {
  const body = JSON.stringify({
    assistant_id: 'steps',
    input,
    config: { recursion_limit: 100 },
    stream_mode: ['custom'],
    ...more,
  });
  const seen: Seen[] = [];
  const ended = readStream(
    `${api.url}/runs/stream`,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body },
    seen,
  );
  return { seen, ended };
}

async function startReader(): Promise<{ reader: EventReader; ended: Promise<void> }> {
  const threadId = randomUUID();
  const reader = new EventReader(threadId, { next: () => api.url });
  const params = { assistant_id: 'steps', input, config: { recursion_limit: 100 } };
  const body = JSON.stringify({ id: 1, method: 'run.start', params });
  const answer = await fetch(`${api.url}/threads/${threadId}/commands`, { method: 'POST', body });
  expect(await answer.json()).toMatchObject({ type: 'success' });
  return { reader, ended: reader.follow() };
}

const customOf = (seen: Seen[]): unknown[] =>
  seen.filter(({ event }) => event === 'custom').map(({ data }) => data);
const COUNTDOWN = Array.from({ length: STEPS }, (_, at) => ({ left: STEPS - at }));

/** Expects each step once and in order and, of a stream with ids, numbers without a gap. */
function expectAll({ seen }: Stream): void {
  expect(customOf(seen)).toEqual(COUNTDOWN);
  const numbers = seen.flatMap(({ id }) => (id === undefined ? [] : [Number(id.split('-')[1])]));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
}

type Twenty = { streams: Stream[]; readers: EventReader[] };

/** Starts twenty streams of three kinds, does something in the middle of all of them, and reads them to their ends. */
async function through(event: () => Promise<unknown>): Promise<Twenty> {
  const plain = Array.from({ length: 8 }, () => startStream());
  const streams = [
    ...plain,
    ...Array.from({ length: 6 }, () => startStream({ stream_resumable: true })),
  ];
  const started = await Promise.all(Array.from({ length: 6 }, startReader));
  const readers = started.map(({ reader }) => reader);
  const under = (): boolean =>
    streams.every(({ seen }) => seen.length > 5) && readers.every(({ seen }) => seen.length > 10);
  await until('each stream is under way', under);
  await event();
  await Promise.all([...streams, ...started].map(({ ended }) => ended));
  return { streams, readers };
}

/** Expects that each stream has every event once. */
function expectTwenty({ streams, readers }: Twenty): void {
  for (const stream of streams) expectAll(stream);
  for (const { seen } of readers) {
    expectWhole(seen);
    expect(seen.filter(({ method }) => method === 'custom')).toHaveLength(STEPS);
  }
}

test('events reach the readers of another process through the store, and the table gets only those to be kept', async () => {
  const before = await figuresOf(queue);
  const stream = startStream();
  await stream.ended;
  expectAll(stream);
  const after = await figuresOf(queue);
  expect(after.byStore - before.byStore).toBeGreaterThanOrEqual(STEPS);
  expect(after).toMatchObject({ byTable: before.byTable, turned: before.turned });
});

test('a stream that can be resumed is read again from the store, and from the table once the store has lost it', async () => {
  const stream = startStream({ stream_resumable: true });
  const { path } = (await stream.ended) as { path: string };
  const again = async (): Promise<Seen[]> => {
    const seen: Seen[] = [];
    await readStream(
      `${api.url}${path}`,
      { headers: { 'last-event-id': stream.seen[9]!.id! } },
      seen,
    );
    return seen;
  };
  expect(await again()).toEqual(stream.seen.slice(10));
  await valkey.ask('flushall');
  expect(await again()).toEqual(stream.seen.slice(10));
});

test('the store is killed in the middle of twenty streams: each has every event once', async () => {
  const { turned } = await figuresOf(queue);
  expectTwenty(await through(() => valkey.kill()));
  expect((await figuresOf(queue)).turned).toBeGreaterThan(turned);
  expect((await figuresOf(queue)).up).toBe(false);
});

test('the store dies and comes back empty in the middle of twenty streams', async () => {
  const back = async (): Promise<void> => {
    await valkey.kill();
    await valkey.start();
  };
  const { turned } = await figuresOf(queue);
  expectTwenty(await through(back));
  expect((await figuresOf(queue)).turned).toBeGreaterThan(turned);
});

test('the store stands still in the middle of twenty streams', async () => {
  const { turned } = await figuresOf(queue);
  expectTwenty(await through(async () => valkey.stand()));
  expect((await figuresOf(queue)).turned).toBeGreaterThan(turned);
});

test('the store forgets all of twenty streams', async () => {
  const { turned } = await figuresOf(queue);
  expectTwenty(await through(() => valkey.ask('flushall')));
  expect(await figuresOf(queue)).toMatchObject({ turned });
});

test('a worker is killed: its runs go on behind the last event that the store has', async () => {
  const stream = startStream({ stream_resumable: true, on_disconnect: 'continue' });
  const { reader, ended } = await startReader();
  await until('both are under way', () => stream.seen.length > 8 && reader.seen.length > 10);
  await queue.kill('SIGKILL');
  queue = await startAgent({
    database: database.uri,
    env: { GX_REDIS_URI: valkey.uri, GX_JOB_LEASE_SECS: '3', N_JOBS_PER_WORKER: '20' },
  });
  await Promise.all([stream.ended, ended]);
  expectWhole(reader.seen);
  const numbers = stream.seen.map(({ id }) => Number(id!.split('-')[1]));
  expect(numbers).toEqual(numbers.map((_, at) => at + 1));
  expect(new Set(customOf(stream.seen).map((data) => JSON.stringify(data))).size).toBe(STEPS);
});

/** An entry of a run with 100 kB of events. `life`: the run is over, and is kept for so many seconds. */
const entry = (run_id: string, number: number, life?: number): StoreEntry => ({
  run_id,
  thread_id: run_id,
  events: [{ ms: 1, seq: number, event: 'values', json: JSON.stringify('x'.repeat(100_000)) }],
  first: number === 1,
  life,
});

test('in a full store, streams of finished runs are forgotten first, and one under way keeps all of its events', async () => {
  const small = await startValkey(['--maxmemory', '8mb', '--maxmemory-policy', 'volatile-ttl']);
  const store = await openStore({ uri: small.uri, prefix: 'gx:' });
  store.listen(
    randomUUID(),
    { heard: () => undefined, lost: () => undefined, missed: () => undefined },
    silentLog(),
  );
  await until('the store is reached', () => store.isUp);
  const under = randomUUID();
  const over = Array.from({ length: 200 }, () => randomUUID());
  const refused: string[] = [];
  for (const [at, run] of over.entries()) {
    const entries = [...(at % 20 === 0 ? [entry(under, at / 20 + 1)] : []), entry(run, 1, 60)];
    refused.push(...(await store.put(entries, new Map())).refused);
  }
  expect(refused).toEqual([]);
  expect((await store.readEvents(under, { ms: 0, seq: 0 })).map(({ seq }) => seq)).toEqual(
    Array.from({ length: 10 }, (_, at) => at + 1),
  );
  expect(
    Number(/^evicted_keys:(\d+)/m.exec(await small.ask('info', 'stats'))?.[1]),
  ).toBeGreaterThan(100);
  store.close();
  await small.kill();
});
