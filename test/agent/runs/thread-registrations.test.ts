import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PLAIN } from '../../../src/agent/encryption/codec.ts';
import type { Db, Statement } from '../../../src/agent/db/base/pool.ts';
import type { Signal } from '../../../src/agent/db/base/signals.ts';
import { ThreadRegistrations } from '../../../src/agent/runs/reading/thread-registrations.ts';
import { Bus, buildThreadKey, type BusMessage } from '../../../src/agent/stream/bus.ts';
import { Unavailable } from '../../../src/errors.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** More than the time after which threads are joined and left. */
const LATER = 1500;

/** What this process, "self", asked of the database and told others, and a database with these threads. */
class Situation {
  readonly bus = new Bus();
  readonly statements: [what: 'join' | 'leave', threadIds: string[]][] = [];
  readonly sent: Signal[] = [];
  readonly threads: Map<string, number>;
  readonly registrations: ThreadRegistrations;
  /** Called in the middle of each statement; what it throws refuses the statement. */
  during: () => void = () => undefined;

  constructor(threads: Record<string, number>) {
    this.threads = new Map(Object.entries(threads));
    const query = async <R>({ name, values = [] }: Statement): Promise<R[]> => {
      const ids = values[0] as string[];
      this.statements.push([name === 'thread_reader' ? 'join' : 'leave', ids]);
      await turn();
      this.during();
      return ids.flatMap((id) =>
        this.threads.has(id) ? [{ thread_id: id, last: this.threads.get(id) }] : [],
      ) as R[];
    };
    const send = async (signal: Signal): Promise<void> => void this.sent.push(signal);
    this.registrations = new ThreadRegistrations({
      db: { query, codec: PLAIN } satisfies Db,
      bus: this.bus,
      signals: { processId: 'self', send },
    });
  }

  /** Follows a thread. Returns what the reader has heard, and what ends the following. */
  follow(threadId: string): { heard: BusMessage[]; close(): void } {
    const subscription = this.bus.follow(buildThreadKey(threadId), {
      signal: new AbortController().signal,
      hears: 'events',
    });
    const heard: BusMessage[] = [];
    void (async () => {
      for (
        let next = await subscription.readNext();
        next !== undefined;
        next = await subscription.readNext()
      )
        heard.push(next);
    })();
    return { heard, close: () => subscription.close() };
  }

  /** Lets time pass, and what it began come to its end. */
  async pass(milliseconds = LATER): Promise<void> {
    await vi.advanceTimersByTimeAsync(milliseconds);
    for (let turns = 0; turns < 10; turns += 1) await turn();
  }
}

test('a reader is woken with the number that it may have missed, and again when the workers have heard of it', async () => {
  const situation = new Situation({ t: 7 });
  const { heard } = situation.follow('t');
  await situation.registrations.joinNow('t');
  await turn();
  expect(heard).toEqual([{ kind: 'wake', thread_seq: 7 }]);
  expect(situation.sent).toEqual([{ about: 'thread-reader', thread_id: 't', reader: 'self' }]);
  await situation.pass();
  expect(heard).toEqual([{ kind: 'wake', thread_seq: 7 }, { kind: 'wake' }]);
});

test('a thread that is joined twice is asked for once, and one that is not there again when it may have been made', async () => {
  const situation = new Situation({ t: 0 });
  situation.follow('t');
  situation.follow('new');
  const { registrations } = situation;
  await Promise.all([
    registrations.joinNow('t'),
    registrations.joinNow('t'),
    registrations.joinNow('new'),
  ]);
  expect([registrations.has('t'), registrations.has('new')]).toEqual([true, false]);
  situation.threads.set('new', 0);
  await registrations.joinNow('new');
  expect(registrations.has('new')).toBe(true);
  expect(situation.statements).toEqual([
    ['join', ['t', 'new']],
    ['join', ['new']],
  ]);
});

test('a thread made while a registration did not find it is joined by the next one, which waits for the first', async () => {
  const situation = new Situation({});
  situation.follow('new');
  const first = situation.registrations.joinNow('new');
  const second = situation.registrations.joinNow('new');
  await first;
  situation.threads.set('new', 0);
  await second;
  expect(situation.registrations.has('new')).toBe(true);
});

test('a reader that stays for a moment is never registered, and those that stay are registered together', async () => {
  const situation = new Situation({ a: 0, b: 0, c: 0 });
  const brief = situation.follow('a');
  situation.follow('b');
  situation.follow('c');
  for (const thread of ['a', 'b', 'c']) situation.registrations.joinLater(thread);
  brief.close();
  situation.registrations.leaveLater('a');
  await situation.pass();
  expect(situation.statements).toEqual([['join', ['b', 'c']]]);
});

test('a registration that the database refuses is tried again', async () => {
  const situation = new Situation({ t: 3 });
  const { heard } = situation.follow('t');
  situation.during = () => {
    throw new Unavailable('no database');
  };
  await situation.registrations.joinNow('t');
  expect([situation.registrations.has('t'), heard]).toEqual([false, []]);
  situation.during = () => undefined;
  await situation.pass();
  expect([situation.registrations.has('t'), heard[0]]).toEqual([
    true,
    { kind: 'wake', thread_seq: 3 },
  ]);
});

test('threads whose last readers have left are left together, after a while, except where a reader has come back', async () => {
  const situation = new Situation({ a: 0, b: 0, c: 0 });
  const readers = ['a', 'b', 'c'].map((thread) => situation.follow(thread));
  const { registrations } = situation;
  await Promise.all(['a', 'b', 'c'].map((thread) => registrations.joinNow(thread)));
  for (const { close } of readers) close();
  for (const thread of ['a', 'b', 'c']) registrations.leaveLater(thread);
  situation.follow('b');
  await situation.pass();
  expect(situation.statements.slice(1)).toEqual([['leave', ['a', 'c']]]);
  expect(['a', 'b', 'c'].map((thread) => registrations.has(thread))).toEqual([false, true, false]);
});

test('a reader that comes while its thread is being left is registered again', async () => {
  const situation = new Situation({ t: 0 });
  const { registrations } = situation;
  const reader = situation.follow('t');
  await registrations.joinNow('t');
  reader.close();
  registrations.leaveLater('t');
  situation.during = () => void situation.follow('t');
  await registrations.leaveNow();
  expect(situation.statements.map(([what]) => what)).toEqual(['join', 'leave', 'join']);
  expect(registrations.has('t')).toBe(true);
});

test('a thread whose last reader left while it was being registered is left', async () => {
  const situation = new Situation({ t: 0 });
  const reader = situation.follow('t');
  situation.during = () => reader.close();
  await situation.registrations.joinNow('t');
  await situation.pass();
  expect(situation.statements.map(([what]) => what)).toEqual(['join', 'leave']);
});

test('a thread that the database does not let go is left later', async () => {
  const situation = new Situation({ t: 0 });
  const reader = situation.follow('t');
  await situation.registrations.joinNow('t');
  reader.close();
  situation.registrations.leaveLater('t');
  situation.during = () => {
    throw new Unavailable('no database');
  };
  await situation.registrations.leaveNow();
  situation.during = () => undefined;
  await situation.pass();
  expect(situation.statements.map(([what]) => what)).toEqual(['join', 'leave', 'leave']);
  expect(situation.registrations.has('t')).toBe(false);
});
