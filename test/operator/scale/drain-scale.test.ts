import { expect, test } from 'vitest';
import { decideDrain, type DrainState } from '../../../src/operator/scale/drain-scale.ts';
import type { PinnedWork } from '../../../src/schema/wire/work-report.ts';

/* How many queue pods a replaced revision has, over the seconds of a day. */

type Step = { at: number; work?: Partial<PinnedWork> };
function play(steps: Step[], { live = 2, most = 4 } = {}): number[] {
  let state: DrainState | undefined;
  return steps.map(({ at, work }) => {
    const counted = work && {
      revision: 'chat-1',
      due: 0,
      running: 0,
      later: 0,
      waiting: 0,
      next_due: null,
      ...work,
    };
    state = decideDrain(state, {
      work: counted,
      slots: 10,
      live,
      most,
      now: at * 1000,
      downSeconds: 30,
    });
    return state.desired;
  });
}

test('pods stay while nothing was counted, and for a while without work', () => {
  expect(play([{ at: 0 }, { at: 500 }])).toEqual([2, 2]);
  expect(
    play([
      { at: 0, work: { waiting: 7 } },
      { at: 29, work: { waiting: 7 } },
      { at: 30, work: { waiting: 7 } },
    ]),
  ).toEqual([2, 2, 0]);
});

test('pods come at once with work, as many as it needs, and none goes before the last run has ended', () => {
  const steps = [
    { at: 0, work: { due: 1 } },
    { at: 1, work: { due: 25, running: 1 } },
    { at: 2, work: { due: 500 } },
    { at: 90, work: { running: 1 } },
  ];
  expect(play(steps, { live: 0 })).toEqual([1, 3, 4, 4]);
});

test('a time without work counts from its beginning again after each run', () => {
  const quiet = {};
  const steps = [
    { at: 0, work: quiet },
    { at: 20, work: { running: 1 } },
    { at: 40, work: quiet },
    { at: 60, work: quiet },
    { at: 70, work: quiet },
  ];
  expect(play(steps)).toEqual([2, 2, 2, 2, 0]);
});

test('a pod gets ready before a delayed run is due', () => {
  const work = { later: 1, next_due: new Date(100_000).toISOString() };
  expect(
    play(
      [60, 71].map((at) => ({ at, work })),
      { live: 0 },
    ),
  ).toEqual([0, 1]);
});
