import { describe, expect, test } from 'vitest';
import {
  decideQueue,
  type QueueBounds,
  type QueueState,
} from '../../../src/operator/scale/queue-scale.ts';
import type { WorkSummary } from '../../../src/schema/wire/work-summary.ts';
import { randomFrom } from '../../kit/random-changes.ts';

/* How many queue pods the work asks for. */

const START = Date.parse('2026-11-23T12:00:00Z');
const DOWN = 300;
const QUIET: WorkSummary = {
  due: 0,
  running: 0,
  webhooks: 0,
  nextDue: undefined,
  slots: 10,
  idleSeconds: 0,
  age: 0,
};
const BOUNDS: QueueBounds = { least: 1, most: 8 };

type Moment = { second: number; summary?: Partial<WorkSummary> | undefined };

/** Decides once for each moment, and returns the states. */
function decided(moments: Moment[], bounds = BOUNDS, live = bounds.least): QueueState[] {
  let state: QueueState | undefined;
  return moments.map(({ second, ...given }) => {
    const summary =
      'summary' in given && given.summary === undefined
        ? undefined
        : { ...QUIET, ...given.summary };
    state = decideQueue(state, {
      summary,
      bounds,
      live,
      now: START + second * 1000,
      downSeconds: DOWN,
    });
    return state;
  });
}

const sizes = (moments: Moment[], bounds = BOUNDS, live = bounds.least): number[] =>
  decided(moments, bounds, live).map(({ desired }) => desired);

describe('upwards', () => {
  test('a backlog gets its workers in the moment in which it is known', () => {
    expect(sizes([{ second: 0 }, { second: 1, summary: { due: 31, running: 9 } }])).toEqual([1, 4]);
  });

  test('a wave that rises doubles them, so that it takes few steps', () => {
    const rising = [11, 21, 22, 41, 79].map((due, second) => ({ second, summary: { due } }));
    expect(sizes(rising)).toEqual([2, 4, 4, 8, 8]);
  });

  test('never more than may be', () => {
    expect(sizes([{ second: 0, summary: { due: 5000 } }])).toEqual([8]);
  });

  test('a worker that takes one run is one of many', () => {
    expect(sizes([{ second: 0, summary: { due: 3, slots: 1 } }])).toEqual([3]);
  });

  test('without a worker that told, each counts as the server begins', () => {
    expect(sizes([{ second: 0, summary: { due: 11, slots: undefined } }])).toEqual([2]);
  });
});

describe('from none', () => {
  const none = { least: 0, most: 4 };

  test('one run, one webhook, or what is due within half a minute brings one', () => {
    const soon = new Date(START + 20_000).toISOString();
    for (const summary of [{ due: 1 }, { running: 1 }, { webhooks: 1 }, { nextDue: soon }])
      expect(sizes([{ second: 0, summary }], none)).toEqual([1]);
  });

  test('what is due later brings none', () => {
    expect(
      sizes([{ second: 0, summary: { nextDue: new Date(START + 60_000).toISOString() } }], none),
    ).toEqual([0]);
  });
});

describe('downwards', () => {
  test('one step, when fewer were enough for the whole time', () => {
    const quiet = [1, 150, 299, 300, 301, 302].map((second) => ({ second }));
    expect(sizes([{ second: 0, summary: { due: 35 } }, ...quiet])).toEqual([4, 4, 4, 4, 4, 1, 1]);
  });

  test('not below what runs', () => {
    const busy = [1, 301, 400].map((second) => ({ second, summary: { running: 25 } }));
    expect(sizes([{ second: 0, summary: { due: 80 } }, ...busy])).toEqual([8, 8, 3, 3]);
  });

  test('work that comes back in time keeps all', () => {
    expect(
      sizes([
        { second: 0, summary: { due: 35 } },
        { second: 1 },
        { second: 290, summary: { due: 40 } },
        { second: 320 },
      ]),
    ).toEqual([4, 4, 4, 4]);
  });

  test('an operator that takes over waits for the whole time, too', () => {
    expect(sizes([{ second: 0 }, { second: 299 }, { second: 301 }], BOUNDS, 5)).toEqual([5, 5, 1]);
  });
});

test('while nobody reports, all stay, and the reason says so', () => {
  const states = decided([
    { second: 0, summary: { due: 35 } },
    { second: 1, summary: undefined },
    { second: 900, summary: undefined },
  ]);
  expect(states.map(({ desired, reason }) => [desired, reason])).toEqual([
    [4, 'Backlog'],
    [4, 'NotReported'],
    [4, 'NotReported'],
  ]);
});

test('other bounds count at once', () => {
  const [before] = decided([{ second: 0, summary: { due: 80 } }]);
  const state = decideQueue(before, {
    summary: { ...QUIET, due: 80 },
    bounds: { least: 1, most: 3 },
    live: 8,
    now: START + 1000,
    downSeconds: DOWN,
  });
  expect(state.desired).toBe(3);
});

test('it says why, with the counts of the moment in which it decided', () => {
  const [up, , down] = decided([
    { second: 0, summary: { due: 31, running: 4 } },
    { second: 1 },
    { second: 302 },
  ]);
  expect([up, down].map((state) => [state?.reason, state?.message])).toEqual([
    [
      'Backlog',
      '4 queue pods are asked for: 31 runs were due and 4 under way, of which each pod takes 10.',
    ],
    [
      'Quiet',
      '1 queue pods are asked for: 0 runs were due and 0 under way, of which each pod takes 10. Fewer were enough for 300 s.',
    ],
  ]);
});

/**
 * Returns a wave of work that rises, stays and falls within four minutes, as each second would report it, and then
 * rest.
 */
function wave(random: () => number): Moment[] {
  const [rise, top, fall, height] = [
    1 + random() * 60,
    random() * 60,
    1 + random() * 120,
    1 + random() * 100,
  ].map(Math.round) as [number, number, number, number];
  const load = (second: number): number => {
    if (second < rise) return height * (second / rise);
    if (second < rise + top) return height;
    return Math.max(0, height * (1 - (second - rise - top) / fall));
  };
  // Figures are never smooth.
  const noisy = (value: number): number =>
    Math.max(0, Math.round(value + (value > 0 ? (random() - 0.5) * 6 : 0)));
  return Array.from({ length: rise + top + fall + 2 * DOWN }, (_, second) => ({
    second,
    summary: { due: noisy(load(second)) },
  }));
}

describe('for any wave', () => {
  const waves = Array.from({ length: 200 }, (_, seed) => wave(randomFrom(seed + 1)));

  test('at most four changes, and the least at its end', () => {
    for (const one of waves) {
      const found = sizes(one);
      const changes = found.filter((size, at) => at > 0 && size !== found[at - 1]).length;
      expect(changes).toBeLessThanOrEqual(4);
      expect(found.at(-1)).toBe(1);
    }
  });

  test('always enough for the work, as far as the bounds allow', () => {
    for (const one of waves)
      for (const [at, size] of sizes(one).entries())
        expect(size).toBeGreaterThanOrEqual(
          Math.min(8, Math.ceil((one[at]?.summary?.due ?? 0) / 10)),
        );
  });
});
