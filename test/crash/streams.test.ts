import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { api as startApi, pidOf, say, worker as startWorker } from './fleet.ts';
import { openJournal } from './journal.ts';
import { readStream, type Seen } from './sse.ts';

/* The process that answers dies with SIGKILL while clients read streams from it. They go on at another one. */

const READERS = 20;
const STEPS = 40;
const PAUSE = 100;

let database: TestDatabase;
let worker: AgentProcess;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
  worker = await startWorker({
    database: database.uri,
    env: { N_JOBS_PER_WORKER: String(READERS) },
  });
});

afterAll(async () => {
  await worker.kill();
  await database.drop();
});

const body = {
  assistant_id: 'counted',
  input: { left: STEPS, pause: PAUSE, journal: journal.file },
  config: { recursion_limit: STEPS + 5 },
  stream_mode: ['custom'],
  stream_resumable: true,
};

/**
 * Starts a run and reads it. Whenever the connection breaks, it goes on behind the last event, at the process that
 * `next` names.
 */
async function follow(first: AgentProcess, next: () => AgentProcess, seen: Seen[]): Promise<void> {
  const { thread_id } = await first.client.threads.create();
  let request: { url: string; init: RequestInit } = {
    url: `${first.url}/threads/${thread_id}/runs/stream`,
    init: { method: 'POST', body: JSON.stringify(body) },
  };
  for (;;) {
    const { path, whole } = await readStream(request.url, request.init, seen);
    if (whole) return;
    const lastId = seen.at(-1)?.id ?? '-';
    request = { url: `${next().url}${path}`, init: { headers: { 'last-event-id': lastId } } };
  }
}

test('readers of a killed process go on at another one, without gap and without duplicate', async () => {
  const options = { database: database.uri };
  const first = await startApi(options);
  const second = await startApi(options);
  const third = await startApi(options);
  let alive = second;
  const readers = Array.from({ length: READERS }, (): Seen[] => []);
  const following = Promise.all(readers.map((seen) => follow(first, () => alive, seen)));
  following.catch(() => undefined);
  const allHave = (events: number): Promise<true> =>
    until(`every reader has ${events} events`, () =>
      readers.every(({ length }) => length >= events),
    );
  await allHave(STEPS / 4);
  await first.kill('SIGKILL');
  await allHave(STEPS / 2);
  alive = third;
  await second.kill('SIGKILL');
  const all = Array.from({ length: STEPS }, (_, at) => STEPS - at);
  await following;
  for (const seen of readers) {
    expect(
      seen
        .filter(({ event }) => event === 'custom')
        .map(({ data }) => (data as { left: number }).left),
    ).toEqual(all);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  }
  say(
    `${READERS} readers of ${STEPS} events each went on twice at another process: no gap, no duplicate`,
  );
  await third.kill();
}, 120_000);

/** Stores each event half a second late. What a worker has not written yet when it dies is certain to be lost. */
const LATE = `create function late() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return null; end $$;
  create trigger late before insert on gx.stream_event for each statement execute function late()`;

test.each(['sync', 'async'] as const)(
  'what was checkpointed has been told: a worker that dies leaves no gap in the stream (%s)',
  async (durability) => {
    const slow = await freshDatabase();
    await slow.sql(LATE);
    const options = { database: slow.uri, env: { GX_JOB_LEASE_SECS: '3' } };
    const reader = await startApi(options);
    const first = await startWorker(options);
    const { thread_id } = await reader.client.threads.create();
    // Checkpoints come half a second after their steps. When the fourth exists, the last step is more than two seconds
    // away.
    const input = { left: 10, pause: 400, journal: journal.file };
    const { run_id } = await reader.client.runs.create(thread_id, 'counted', {
      input,
      durability,
      streamMode: ['custom'],
      streamResumable: true,
    });
    const count = `select 1 from gx.checkpoints where thread_id = $1`;
    await until(
      'some checkpoints are stored',
      async () => (await slow.sql(count, [thread_id])).length >= 4,
    );
    await first.kill('SIGKILL');
    const second = await startWorker(options);
    await reader.client.runs.join(thread_id, run_id);
    const seen: Seen[] = [];
    await readStream(
      `${reader.url}/threads/${thread_id}/runs/${run_id}/stream`,
      { headers: { 'last-event-id': '-' } },
      seen,
    );
    const told = seen
      .filter(({ event }) => event === 'custom')
      .map(({ data }) => (data as { left: number }).left);
    expect(new Set(journal.of(run_id).map(({ pid }) => pid))).toEqual(
      new Set([pidOf(first), pidOf(second)]),
    );
    expect([...new Set(told)]).toEqual(Array.from({ length: 10 }, (_, at) => 10 - at));
    expect(
      seen
        .filter(({ event }) => event === 'metadata')
        .map(({ data }) => (data as { attempt: number }).attempt),
    ).toEqual([1, 2]);
    await Promise.all([reader, second].map((one) => one.kill()));
    await slow.drop();
  },
);
