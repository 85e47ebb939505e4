import { PLAIN } from '../../../src/agent/encryption/codec.ts';
import { expect, test } from 'vitest';
import { createBatchedStatements } from '../../../src/agent/db/batched-statements.ts';
import type { Db } from '../../../src/agent/db/base/pool.ts';
import type { Signal } from '../../../src/agent/db/base/signals.ts';
import { Readers } from '../../../src/agent/runs/reading/readers.ts';
import { Bus, buildThreadKey } from '../../../src/agent/stream/bus.ts';
import { EventLog } from '../../../src/agent/stream/log.ts';
import { Unavailable } from '../../../src/errors.ts';
import { silentLog } from '../../kit/log.ts';

const run = { run_id: 'run', thread_id: 'thread' };

type Setup = { readers: Readers; bus: Bus; sent: [to: string | undefined, signal: Signal][] };

/** The readers of a process called "self". Its database answers so many statements with these rows, then fails. */
function readersOf(rows: object[] = [], statements = Infinity): Setup {
  let left = statements;
  const query = async <R>(): Promise<R[]> =>
    (left -= 1) < 0 ? Promise.reject(new Unavailable('no database')) : (rows as R[]);
  const db: Db = { query, codec: PLAIN };
  const sent: [string | undefined, Signal][] = [];
  const send = async (signal: Signal, to?: string): Promise<void> => void sent.push([to, signal]);
  const eventLog = new EventLog({ db, lifeSeconds: 60, log: silentLog() });
  const bus = new Bus();
  return {
    readers: new Readers({
      db,
      batched: createBatchedStatements(db),
      bus,
      signals: { processId: 'self', send },
      eventLog,
    }),
    bus,
    sent,
  };
}

test('the end of a run is told once: to readers here by the bus, to other processes by a signal', async () => {
  const { readers, sent } = readersOf();
  const { subscription, registered } = readers.expectRun('run', {
    signal: new AbortController().signal,
    hears: 'events',
  });
  expect(registered).toEqual(['self']);
  await readers.end('run', ['self', 'other'], { result: { values: '{"a":1}' } });
  expect(sent).toEqual([['other', { about: 'end', run_id: 'run' }]]);
  expect(await readers.waitForEnd(run, subscription!)).toMatchObject({ state: '{"a":1}' });
  expect(readers.listFollowedHere()).toEqual([]);
});

test('who follows a run that another process executes is told to that process', async () => {
  const progress = { ...run, status: 'running', worker: 'other', resumable: false, error: null };
  const { readers, sent } = readersOf([progress]);
  await readers.followRun(
    { runId: 'run', threadId: 'thread' },
    { signal: new AbortController().signal, hears: 'events' },
  );
  expect(sent).toEqual([['other', { about: 'reader', run_id: 'run', reader: 'self' }]]);
  await expect(
    readers.followRun(
      { runId: 'run', threadId: 'another' },
      { signal: new AbortController().signal, hears: 'events' },
    ),
  ).rejects.toThrow('Run with ID run not found');
});

test('a reader who leaves before the end gets no result', async () => {
  const { readers } = readersOf();
  const leaving = new AbortController();
  const { subscription } = readers.expectRun('run', { signal: leaving.signal, hears: 'events' });
  const waiting = readers.waitForEnd(run, subscription!);
  leaving.abort();
  expect(await waiting).toBeUndefined();
});

test('a thread that nobody follows is told nothing, and nothing is asked for it', async () => {
  const { readers } = readersOf([]);
  let asked = 0;
  await readers.notifyThread('thread', 'state_update', () => Promise.resolve(`${(asked += 1)}`));
  expect(asked).toBe(0);
});

test('a reader whose registration fails follows nothing', async () => {
  const { readers, bus } = readersOf([], 0);
  const { signal } = new AbortController();
  await expect(
    readers.followRun({ runId: 'run', threadId: 'thread' }, { signal, hears: 'events' }),
  ).rejects.toBeInstanceOf(Unavailable);
  await expect(readers.followThread('thread', signal)).rejects.toBeInstanceOf(Unavailable);
  const reading = readers.followProtocolEvents(readers.followThreadToCome('thread', signal), 0);
  await expect(reading.next()).rejects.toBeInstanceOf(Unavailable);
  expect([bus.isFollowed('run'), bus.isFollowed(buildThreadKey('thread'))]).toEqual([false, false]);
});

test('a reader whose position can not be read leaves the run that it has just followed', async () => {
  const progress = { ...run, status: 'running', worker: 'self', resumable: true, error: null };
  const { readers } = readersOf([progress], 1);
  const followed = await readers.followRun(
    { runId: 'run', threadId: 'thread' },
    { signal: new AbortController().signal, hears: 'events' },
  );
  expect(readers.listFollowedHere()).toEqual(['run']);
  const wanted = { modes: undefined, namespaces: undefined };
  await expect(readers.readEventsAfter(undefined, followed, wanted)).rejects.toBeInstanceOf(
    Unavailable,
  );
  expect(readers.listFollowedHere()).toEqual([]);
});
