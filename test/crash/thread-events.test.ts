import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { api, say, worker } from './fleet.ts';
import { openJournal } from './journal.ts';

/*
 * Readers of a thread's events lose their connections again and again, come back at any process, and one of them
 * sleeps; processes that
 * answer and the one that executes die with SIGKILL.
 */

const READERS = 20;
const CUTS = 100;
const STEPS = 250;
const PAUSE = 80;

let database: TestDatabase;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

type Event = { event_id: string; seq: number; method: string; params: { namespace: string[]; data: { event?: string } } };

const CHANNELS = ['values', 'lifecycle', 'input', 'messages', 'tools', 'custom', 'updates', 'tasks', 'checkpoints'];
const isEnd = ({ method, params: { namespace, data } }: Event): boolean =>
  method === 'lifecycle' && namespace.length === 0 && data.event === 'completed';

class Reader {
  readonly seen: Event[] = [];
  cuts = 0;
  readonly #threadId: string;
  readonly #next: () => AgentProcess;

  constructor(threadId: string, next: () => AgentProcess) {
    this.#threadId = threadId;
    this.#next = next;
  }

  /** Reads until the run has ended; `milliseconds`: how long each of its connections lasts while it is cut. */
  async follow(milliseconds: () => number): Promise<void> {
    while (this.seen.length === 0 || !isEnd(this.seen.at(-1)!)) {
      const cut = this.cuts < CUTS ? AbortSignal.timeout(milliseconds()) : undefined;
      // A process that died answers nothing: the next one does.
      await this.#read(cut).catch(() => wait(20));
      this.cuts += 1;
    }
  }

  async #read(signal: AbortSignal | undefined): Promise<void> {
    const since = this.seen.at(-1)?.seq;
    const response = await fetch(`${this.#next().url}/threads/${this.#threadId}/stream/events`, {
      method: 'POST',
      body: JSON.stringify({ channels: CHANNELS, ...(since !== undefined && { since }) }),
      ...(signal && { signal }),
    });
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const messages = text.split('\r\n\r\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        const data = /^data: (.*)$/m.exec(message)?.[1];
        if (data !== undefined) this.seen.push(JSON.parse(data) as Event);
      }
      if (this.seen.length > 0 && isEnd(this.seen.at(-1)!)) return;
    }
  }
}

test('readers that are cut a hundred times, of processes that die, have each event once and in order', async () => {
  const options = { database: database.uri, env: { GX_JOB_LEASE_SECS: '3' } };
  const [first, second] = [await api(options), await api(options)];
  const executing = await worker(options);
  let answering = [first, second];
  const any = (): AgentProcess => answering[Math.floor(Math.random() * answering.length)]!;
  const threadId = randomUUID();
  const readers = Array.from({ length: READERS }, () => new Reader(threadId, any));
  const sleeper = new Reader(threadId, any);
  const following = Promise.all(readers.map((reader) => reader.follow(() => Math.round(50 + Math.random() * 250))));
  following.catch(() => undefined);
  const input = { left: STEPS, pause: PAUSE, journal: journal.file };
  const params = { assistant_id: 'counted', input, config: { recursion_limit: STEPS + 5 } };
  await fetch(`${second.url}/threads/${threadId}/commands`, {
    method: 'POST',
    body: JSON.stringify({ id: 1, method: 'run.start', params }),
  });
  const allHave = (events: number): Promise<true> =>
    until(`every reader has ${events} events`, () => readers.every(({ seen }) => seen.length >= events));
  await allHave(100);
  answering = [second];
  await first.kill('SIGKILL');
  answering = [second, await api(options)];
  await allHave(500);
  await executing.kill('SIGKILL');
  const other = await worker(options);
  await following;
  await sleeper.follow(() => 60_000);
  const whole = sleeper.seen;
  expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, at) => at + 1));
  expect(new Set(whole.map(({ event_id }) => event_id)).size).toBe(whole.length);
  const ids = whole.map(({ event_id }) => event_id);
  for (const { seen } of readers) expect(seen.map(({ event_id }) => event_id)).toEqual(ids);
  expect(Math.min(...readers.map(({ cuts }) => cuts))).toBeGreaterThanOrEqual(CUTS);
  say(`${READERS} readers, cut ${CUTS} times each, have ${ids.length} events each: no gap, none twice`);
  await Promise.all([...answering, other].map((one) => one.kill()));
}, 240_000);
