import { expect, test } from 'vitest';
import { ANONYMOUS, type AgentCaller } from '../../src/agent/auth/caller.ts';
import { Callers } from '../../src/agent/auth/callers.ts';

const caller = { identity: ANONYMOUS, source: '192.0.2.1' } as AgentCaller;
const starting = (runsPerMinute: number, count: number): void =>
  new Callers({ streams: 1, runsPerMinute }).acquireRuns(caller, count);

test('a request that starts more runs than a minute allows is wrong, because waiting would not help', () => {
  expect(() => starting(30, 31)).toThrow(
    expect.objectContaining({
      status: 422,
      message: 'body: must start at most 30 runs (GX_RUNS_PER_MINUTE)',
    }),
  );
  expect(() => starting(30, 30)).not.toThrow();
  expect(() => starting(0, 1_000_000)).not.toThrow();
});

test('runs beyond those of this minute are to come later', () => {
  const callers = new Callers({ streams: 1, runsPerMinute: 30 });
  callers.acquireRuns(caller, 20);
  expect(() => callers.acquireRuns(caller, 20)).toThrow(expect.objectContaining({ status: 429 }));
});
