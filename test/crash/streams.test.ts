import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { api as startApi, say, worker as startWorker } from './fleet.ts';
import { openJournal } from './journal.ts';
import { readStream, type Seen } from './sse.ts';

/* The process that answers dies with SIGKILL while clients read streams from it: they go on at another one. */

const READERS = 20;
const STEPS = 40;
const PAUSE = 100;

let database: TestDatabase;
let worker: AgentProcess;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
  worker = await startWorker({ database: database.uri, env: { N_JOBS_PER_WORKER: String(READERS) } });
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

/** Starts a run and reads it; whenever the connection breaks, goes on behind the last event at the process that `next` names. */
async function follow(first: AgentProcess, next: () => AgentProcess): Promise<Seen[]> {
  const { thread_id } = await first.client.threads.create();
  const seen: Seen[] = [];
  let request: { url: string; init: RequestInit } = {
    url: `${first.url}/threads/${thread_id}/runs/stream`,
    init: { method: 'POST', body: JSON.stringify(body) },
  };
  for (;;) {
    const { path, whole } = await readStream(request.url, request.init, seen);
    if (whole) return seen;
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
  const readers = Array.from({ length: READERS }, () => follow(first, () => alive));
  await new Promise((resolve) => setTimeout(resolve, (STEPS * PAUSE) / 4));
  await first.kill('SIGKILL');
  await new Promise((resolve) => setTimeout(resolve, (STEPS * PAUSE) / 4));
  alive = third;
  await second.kill('SIGKILL');
  const all = Array.from({ length: STEPS }, (_, at) => STEPS - at);
  for (const seen of await Promise.all(readers)) {
    expect(seen.filter(({ event }) => event === 'custom').map(({ data }) => (data as { left: number }).left)).toEqual(all);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  }
  say(`${READERS} readers of ${STEPS} events each went on twice at another process: no gap, no duplicate`);
  await third.kill();
}, 120_000);
