import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CronClock, type ClockDeps } from '../../../src/agent/crons/clock.ts';
import { runDueCrons, type FireDeps } from '../../../src/agent/crons/fire.ts';
import { silentLog } from '../../kit/log.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A clock whose database says in how many milliseconds the next cron is due, and counts what it is asked. */
function clockOf(wait: () => number | undefined): { clock: CronClock; asked: string[] } {
  const asked: string[] = [];
  const query = ({ name = '' }: { name?: string }): Promise<object[]> => {
    asked.push(name);
    const next = wait();
    return Promise.resolve(name === 'cron_next' && next !== undefined ? [{ wait: next }] : []);
  };
  const deps = {
    db: { query },
    graphs: ['agent'],
    pinning: { revision: undefined, pin: 'None' },
    queued: { admit: () => undefined },
    log: silentLog(),
    signals: { send: () => Promise.resolve() },
  };
  const fire: ClockDeps['fire'] = (slow) => runDueCrons(deps as unknown as FireDeps, slow);
  return { clock: new CronClock({ ...deps, fire } as unknown as ClockDeps), asked };
}

test('with nothing due there is one statement in 30 seconds', async () => {
  const { clock, asked } = clockOf(() => undefined);
  const stop = new AbortController();
  const done = clock.run(stop.signal);
  await vi.advanceTimersByTimeAsync(5 * 30_000 + 1000);
  expect(asked).toEqual(Array.from({ length: 6 }, () => 'cron_next'));
  stop.abort();
  await done;
});

test('what is due later is looked at when it is due', async () => {
  const due = Date.now() + 45_000;
  const { clock, asked } = clockOf(() => (Date.now() < due ? due - Date.now() : undefined));
  const stop = new AbortController();
  const done = clock.run(stop.signal);
  await vi.advanceTimersByTimeAsync(44_900);
  expect(asked).toEqual(['cron_next', 'cron_next']);
  await vi.advanceTimersByTimeAsync(101);
  expect(asked.slice(2, 3)).toEqual(['cron_due']);
  stop.abort();
  await vi.advanceTimersByTimeAsync(1000);
  await done;
});

test('a cron that is made meanwhile is looked at at once, unless it is due after the next look', async () => {
  const { clock, asked } = clockOf(() => undefined);
  const stop = new AbortController();
  const done = clock.run(stop.signal);
  await vi.advanceTimersByTimeAsync(1000);
  clock.announce(new Date(Date.now() + 60_000).toISOString());
  clock.announce(null);
  await vi.advanceTimersByTimeAsync(1000);
  expect(asked).toHaveLength(1);
  clock.announce(new Date(Date.now() + 2000).toISOString());
  await vi.advanceTimersByTimeAsync(1);
  expect(asked).toHaveLength(2);
  stop.abort();
  await done;
});
