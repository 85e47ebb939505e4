import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { badWire } from '../kit/bad-wire.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { EventReader, expectWhole } from './event-reader.ts';
import { api, say, worker } from './fleet.ts';
import { openJournal } from './journal.ts';

/*
 * Readers of a thread's events lose their connections again and again and come back at any process. One of them sleeps.
 * The processes that answer, and the one that executes, die with SIGKILL.
 */

const READERS = 20;
const CUTS = 100;
const PAUSE = 80;

let database: TestDatabase;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

const someOf = <T>(all: T[]): T => all[Math.floor(Math.random() * all.length)]!;

async function start(url: string, threadId: string, steps: number): Promise<void> {
  const input = { left: steps, pause: PAUSE, journal: journal.file };
  const params = { assistant_id: 'counted', input, config: { recursion_limit: steps + 5 } };
  const body = JSON.stringify({ id: 1, method: 'run.start', params });
  expect(
    await (await fetch(`${url}/threads/${threadId}/commands`, { method: 'POST', body })).json(),
  ).toMatchObject({ type: 'success' });
}

const allHave = (readers: EventReader[], events: number): Promise<true> =>
  until(`every reader has ${events} events`, () =>
    readers.every(({ seen }) => seen.length >= events),
  );

/** Checks that one reader has the whole stream and that each has the same. Returns the number of events. */
function expectAllTheSame(readers: EventReader[], { seen: all }: EventReader): number {
  expectWhole(all);
  const ids = all.map(({ event_id: id }) => id);
  for (const { seen } of readers) expect(seen.map(({ event_id: id }) => id)).toEqual(ids);
  return ids.length;
}

test('readers that are cut a hundred times, of processes that die, have each event once and in order', async () => {
  const options = { database: database.uri, env: { GX_JOB_LEASE_SECS: '3' } };
  const [first, second] = [await api(options), await api(options)];
  const executing = await worker(options);
  let answering = [first, second];
  const next = (): string => someOf(answering).url;
  const threadId = randomUUID();
  const readers = Array.from({ length: READERS }, () => new EventReader(threadId, { next }));
  const cutSoon = ({ cuts }: EventReader) =>
    cuts < CUTS ? Math.round(50 + Math.random() * 250) : undefined;
  const following = Promise.all(readers.map((reader) => reader.follow(() => cutSoon(reader))));
  following.catch(() => undefined);
  await start(second.url, threadId, 250);
  await allHave(readers, 100);
  answering = [second];
  await first.kill('SIGKILL');
  answering = [second, await api(options)];
  await allHave(readers, 500);
  await executing.kill('SIGKILL');
  const other = await worker(options);
  await following;
  // This reader comes when everything is over.
  const sleeper = new EventReader(threadId, { next });
  await sleeper.follow();
  const events = expectAllTheSame(readers, sleeper);
  expect(Math.min(...readers.map(({ cuts }) => cuts))).toBeGreaterThanOrEqual(CUTS);
  say(`${READERS} readers, cut ${CUTS} times each, have ${events} events each: no gap, none twice`);
  await Promise.all([...answering, other].map((one) => one.kill()));
}, 240_000);

test('readers behind a slow proxy that cuts each connection have each event once and in order, also when a process dies', async () => {
  const options = { database: database.uri };
  const answering: AgentProcess[] = [await api(options), await api(options)];
  const executing = await worker(options);
  const slow = 100_000;
  const hasty = await Promise.all(
    answering.map(({ url }) => badWire(url, { bytesPerSecond: slow, life: 250 })),
  );
  const patient = await Promise.all(
    answering.map(({ url }) => badWire(url, { bytesPerSecond: slow, life: 5000 })),
  );
  let alive = [0, 1];
  const threadId = randomUUID();
  const behind = (wires: { url: string }[], count: number): EventReader[] =>
    Array.from({ length: count }, (_, at) => {
      const next = (): string => wires[someOf(alive)]!.url;
      return new EventReader(threadId, { next, transport: at % 2 === 0 ? 'sse' : 'websocket' });
    });
  const cutOften = behind(hasty, READERS);
  const cutSeldom = behind(patient, 4);
  const readers = [...cutOften, ...cutSeldom];
  const direct = new EventReader(threadId, { next: () => answering[1]!.url });
  const following = Promise.all([...readers, direct].map((reader) => reader.follow()));
  following.catch(() => undefined);
  await start(answering[1]!.url, threadId, 400);
  await allHave(readers, 300);
  alive = [1];
  await answering[0]!.kill('SIGKILL');
  await following;
  const events = expectAllTheSame(readers, direct);
  const fewest = (of: EventReader[]): number => Math.min(...of.map(({ cuts }) => cuts));
  expect(fewest(cutOften)).toBeGreaterThanOrEqual(CUTS);
  expect(fewest(cutSeldom)).toBeGreaterThanOrEqual(4);
  say(
    `${READERS} readers behind a proxy, cut ${fewest(cutOften)} times and more, have ${events} events each`,
  );
  for (const wire of [...hasty, ...patient]) wire.stop();
  await Promise.all([answering[1]!, executing].map((one) => one.kill()));
}, 240_000);
