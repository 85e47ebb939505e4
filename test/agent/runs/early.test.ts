import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Early } from '../../../src/agent/runs/early.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const run = { run_id: 'run', thread_id: 'thread' };

test('a stop is for one beginning of the run, readers are for each', () => {
  const early = new Early();
  early.stop('run', 'interrupt');
  early.stop('run', 'rollback');
  early.reader('run', 'a');
  early.reader('thread', 'b');
  early.reader('another', 'c');
  expect(early.of(run)).toEqual({ stopped: 'rollback', readers: ['a', 'b'] });
  expect(early.of(run)).toEqual({ stopped: undefined, readers: ['a', 'b'] });
});

test('each word is kept for ten seconds from the last time it was said', () => {
  const early = new Early();
  early.stop('run', 'interrupt');
  early.reader('thread', 'a');
  vi.advanceTimersByTime(9000);
  early.reader('thread', 'b');
  early.stop('run', 'interrupt');
  vi.advanceTimersByTime(9000);
  expect(early.of(run)).toEqual({ stopped: 'interrupt', readers: ['b'] });
  vi.advanceTimersByTime(1000);
  expect(early.of(run)).toEqual({ stopped: undefined, readers: [] });
});
