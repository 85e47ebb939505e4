import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { PendingRequests } from '../../../src/agent/runs/executing/pending-requests.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const run = { run_id: 'run', thread_id: 'thread' };

test('a stop is for one beginning of the run, readers are for each', () => {
  const pending = new PendingRequests();
  pending.addStop('run', 'interrupt');
  pending.addStop('run', 'rollback');
  pending.addReader('run', 'a');
  pending.addReader('thread', 'b');
  pending.addReader('another', 'c');
  expect(pending.take(run)).toEqual({ stop: 'rollback', readers: ['a', 'b'] });
  expect(pending.take(run)).toEqual({ stop: undefined, readers: ['a', 'b'] });
});

test('each request is kept for ten seconds from the last time it was made', () => {
  const pending = new PendingRequests();
  pending.addStop('run', 'interrupt');
  pending.addReader('thread', 'a');
  vi.advanceTimersByTime(9000);
  pending.addReader('thread', 'b');
  pending.addStop('run', 'interrupt');
  vi.advanceTimersByTime(9000);
  expect(pending.take(run)).toEqual({ stop: 'interrupt', readers: ['b'] });
  vi.advanceTimersByTime(1000);
  expect(pending.take(run)).toEqual({ stop: undefined, readers: [] });
});
