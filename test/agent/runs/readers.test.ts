import { expect, test } from 'vitest';
import type { Db } from '../../../src/agent/db/pool.ts';
import type { Signal } from '../../../src/agent/db/signals.ts';
import { Readers } from '../../../src/agent/runs/readers.ts';
import { Bus } from '../../../src/agent/stream/bus.ts';
import { EventLog } from '../../../src/agent/stream/log.ts';
import { silentLog } from '../../kit/log.ts';

const run = { run_id: 'run', thread_id: 'thread' };

/** The readers of a process called "self", on a database that answers these rows, and the signals that it sent. */
function readersOf(rows: object[] = []): { readers: Readers; sent: [to: string | undefined, signal: Signal][] } {
  const db: Db = { query: <R>() => Promise.resolve(rows as R[]) };
  const sent: [string | undefined, Signal][] = [];
  const send = async (signal: Signal, to?: string): Promise<void> => void sent.push([to, signal]);
  const eventLog = new EventLog({ db, lifeSeconds: 60, log: silentLog() });
  return { readers: new Readers({ db, bus: new Bus(), signals: { processId: 'self', send }, eventLog }), sent };
}

test('the end of a run is told once: to readers here by the bus, to other processes by a signal', async () => {
  const { readers, sent } = readersOf();
  const { subscription, registered } = readers.expectRun('run', new AbortController().signal);
  expect(registered).toEqual(['self']);
  await readers.end('run', ['self', 'other'], { values: '{"a":1}' });
  expect(sent).toEqual([['other', { about: 'end', run_id: 'run' }]]);
  expect(await readers.waitForEnd(run, subscription!)).toEqual({ state: { a: 1 } });
  expect(readers.followedHere()).toEqual([]);
});

test('who follows a run that another process executes is told to that process', async () => {
  const progress = { ...run, status: 'running', worker: 'other', resumable: false, error: null };
  const { readers, sent } = readersOf([progress]);
  await readers.followRun({ runId: 'run', threadId: 'thread' }, new AbortController().signal);
  expect(sent).toEqual([['other', { about: 'reader', run_id: 'run', reader: 'self' }]]);
  await expect(readers.followRun({ runId: 'run', threadId: 'another' }, new AbortController().signal)).rejects.toThrow(
    'Run with ID run not found',
  );
});

test('a reader who leaves before the end gets no result', async () => {
  const { readers } = readersOf();
  const leaving = new AbortController();
  const { subscription } = readers.expectRun('run', leaving.signal);
  const waiting = readers.waitForEnd(run, subscription!);
  leaving.abort();
  expect(await waiting).toBeUndefined();
});

test('a thread that nobody follows is told nothing, and nothing is asked for it', async () => {
  const { readers } = readersOf([]);
  let asked = 0;
  await readers.tellThread('thread', 'state_update', () => Promise.resolve(`${(asked += 1)}`));
  expect(asked).toBe(0);
});
