import { expect, test } from 'vitest';
import type { FinishEnd, StopReason } from '../../../src/agent/runs/executing/end.ts';
import {
  beginLife,
  stepLife,
  type Effect,
  type Life,
  type LifeEvent,
  type LifeStep,
} from '../../../src/agent/runs/executing/life.ts';

const facts = { alone: false, temporary: false, timeoutSeconds: 60 };
const done: FinishEnd = {
  kind: 'finish',
  status: 'success',
  error: null,
  rest: 'idle',
  values: '{}',
  interrupts: '{}',
  stateUnknown: false,
};
const feedback = { score: 'https://agent.test/feedback' };
const error = new Error('too large');

const executing: Life = { at: 'executing' };
const taken: Life = { at: 'taken', stop: undefined, drains: false };
const saying: Life = { at: 'saying', end: done, feedback: undefined };
const writing: Life = { at: 'writing', end: done, feedback };

const show = {
  'set-timer': ({ timer, milliseconds }: Extract<Effect, { do: 'set-timer' }>) =>
    `${timer} in ${milliseconds}`,
  'clear-timer': ({ timer }: Extract<Effect, { do: 'clear-timer' }>) => `no ${timer}`,
  abort: () => 'abort',
  drain: () => 'drain',
  kill: () => 'kill',
  'say-last-events': () => 'say last events',
  'say-error': (effect: Extract<Effect, { do: 'say-error' }>) => `say ${effect.error.error}`,
  'write-end': (effect: Extract<Effect, { do: 'write-end' }>) =>
    `write ${effect.end.kind === 'finish' ? effect.end.status : effect.end.kind}`,
  log: ({ level }: Extract<Effect, { do: 'log' }>) => level,
  release: ({ more }: Extract<Effect, { do: 'release' }>) => (more ? 'release, more' : 'release'),
};

/** Writes a step as `state: effect, effect`. The state comes with its stop or its end. */
function shown([life, effects]: LifeStep): string {
  const detail =
    'stop' in life
      ? life.stop
      : 'end' in life
        ? life.end.kind === 'finish'
          ? life.end.status
          : life.end.kind
        : undefined;
  const texts = effects.map((effect) => (show[effect.do] as (effect: Effect) => string)(effect));
  return `${life.at}${detail === undefined ? '' : ` ${detail}`}${texts.length === 0 ? '' : `: ${texts.join(', ')}`}`;
}

test('a run begins with its time limit, which no timer of Node exceeds', () => {
  expect(shown(beginLife(undefined, facts))).toBe('taken: limit in 60000');
  expect(shown(beginLife(undefined, { ...facts, timeoutSeconds: 1e9 }))).toBe(
    'taken: limit in 2147483647',
  );
  expect(beginLife(undefined, facts)[1]).toMatchObject([
    { expires: { event: 'stop-requested', reason: 'timeout' } },
  ]);
});

test('a run that was to stop before it began is told so by the thread that gets it, and has its time to obey from then on', () => {
  const [life, effects] = beginLife('interrupt', facts);
  expect(shown([life, effects])).toBe('taken interrupt: limit in 60000, obey in 2000');
  expect(shown(stepLife(life, { event: 'given' }, facts))).toBe(
    'stopping interrupt: abort, obey in 2000',
  );
});

test('one that no thread could be found for ends as it was asked to', () => {
  const ends = (stop: StopReason | undefined): string =>
    shown(stepLife({ at: 'taken', stop, drains: false }, { event: 'not-given' }, facts)).split(
      ':',
    )[0]!;
  expect(
    ([undefined, 'interrupt', 'rollback', 'timeout', 'shutdown', 'lost'] as const).map(ends),
  ).toEqual([
    'writing hand-back',
    'saying interrupted',
    'writing roll-back',
    'saying error',
    'writing hand-back',
    'writing forget',
  ]);
});

test('the first reason counts, but a rollback outranks an interrupt', () => {
  const reasons: StopReason[] = ['interrupt', 'rollback', 'timeout', 'shutdown', 'lost'];
  const outranked = reasons.flatMap((stop) =>
    reasons.flatMap((reason) => {
      const next = (['taken', 'stopping'] as const).map(
        (at) =>
          stepLife(
            at === 'taken' ? { at, stop, drains: false } : { at, stop },
            { event: 'stop-requested', reason },
            facts,
          )[0],
      );
      return next.every((life) => 'stop' in life && life.stop === stop)
        ? []
        : [[stop, reason, ...next.map((life) => 'stop' in life && life.stop)]];
    }),
  );
  expect(outranked).toEqual([['interrupt', 'rollback', 'rollback', 'rollback']]);
});

test('a run that begins while its process is about to stop is told so by the thread that gets it', () => {
  const [life] = stepLife(taken, { event: 'drain-requested' }, facts);
  expect(shown(stepLife(life, { event: 'given' }, facts))).toBe('executing: drain');
});

test('a temporary run, which would begin anew elsewhere, has until the end of the grace', () => {
  const temporary = { ...facts, temporary: true };
  expect(shown(stepLife(executing, { event: 'drain-requested' }, temporary))).toBe('executing');
  const [life] = stepLife(taken, { event: 'drain-requested' }, temporary);
  expect(shown(stepLife(life, { event: 'given' }, temporary))).toBe('executing');
});

test('only those who hear of no further attempt hear that a graph was cut off', () => {
  const goesOn = (reason: StopReason): unknown =>
    stepLife(executing, { event: 'stop-requested', reason }, facts)[1][0];
  const reasons: StopReason[] = ['interrupt', 'rollback', 'timeout', 'shutdown', 'lost'];
  expect(reasons.map((reason) => goesOn(reason))).toEqual(
    [false, false, false, true, true].map((is) => ({ do: 'abort', goesOn: is })),
  );
});

test('a second stop of a run without a thread does not put off the time to obey', () => {
  expect(
    shown(
      stepLife(
        { at: 'taken', stop: 'interrupt', drains: false },
        { event: 'stop-requested', reason: 'rollback' },
        facts,
      ),
    ),
  ).toBe('taken rollback');
});

test('a graph that does not obey within its time loses its thread, and a run that waits for one waits no longer', () => {
  expect(
    shown(stepLife({ at: 'stopping', stop: 'interrupt' }, { event: 'obey-time-over' }, facts)),
  ).toBe('stopping interrupt: kill');
  expect(shown(stepLife(taken, { event: 'obey-time-over' }, facts))).toBe('taken: kill');
});

test('a run whose thread is lost goes on elsewhere, and so does one whose process is about to stop', () => {
  const handedBack = 'writing hand-back: no limit, no obey, write hand-back';
  expect(shown(stepLife(executing, { event: 'thread-gone', loss: 'crashed' }, facts))).toBe(
    handedBack,
  );
  expect(shown(stepLife(executing, { event: 'drain-requested' }, facts))).toBe('executing: drain');
});

test('a run that has ended gives its slot back, with the word whether another one of its thread waits', () => {
  const ended = (more: boolean): string =>
    shown(stepLife(writing, { event: 'end-written', more }, facts));
  expect([ended(true), ended(false)]).toEqual(['ended: release, more', 'ended: release']);
});

test('an end that is decided stays, whatever else is asked or heard of its run', () => {
  const late: LifeEvent[] = [
    { event: 'given' },
    { event: 'not-given' },
    { event: 'stop-requested', reason: 'rollback' },
    { event: 'drain-requested' },
    { event: 'obey-time-over' },
    { event: 'thread-gone', loss: 'crashed' },
    { event: 'graph-ended', outcome: { status: 'success', waiting: false, values: '{}' } },
  ];
  const lives: Life[] = [saying, writing, { at: 'ended' }];
  for (const life of lives)
    expect(late.map((event) => stepLife(life, event, facts))).toEqual(late.map(() => [life, []]));
});

test('a roll-back that a client asked for meanwhile takes the place of the end that is being written', () => {
  expect(shown(stepLife(writing, { event: 'end-overruled' }, facts))).toBe(
    'writing roll-back: no limit, no obey, write roll-back',
  );
});

test('an end for which the database is away is written half a second later', () => {
  const ways = [
    [saying, 'say last events'],
    [writing, 'write success'],
  ] as const;
  for (const [life, again] of ways) {
    const [waits, effects] = stepLife(life, { event: 'end-postponed', error }, facts);
    expect(shown([waits, effects])).toBe(`${life.at} success: warn, retry in 500`);
    expect(effects).toContainEqual(
      expect.objectContaining({ timer: 'retry', expires: { event: 'retry-time-over' } }),
    );
    expect(shown(stepLife(waits, { event: 'retry-time-over' }, facts))).toBe(
      `${life.at} success: ${again}`,
    );
  }
});

test('a refused result fails the run, whose readers hear it after what they have heard; an error that is refused as well is given up', () => {
  const [refused] = stepLife(writing, { event: 'end-refused', error }, facts);
  const [failed] = stepLife(refused, { event: 'last-events-sent', feedback: undefined }, facts);
  expect(failed).toMatchObject({
    at: 'writing',
    end: { status: 'error', values: undefined },
    feedback,
  });
  expect(shown(stepLife(failed, { event: 'end-refused', error }, facts))).toBe(
    'ended: error, release',
  );
});

test('what is no result is given up when the database refuses it: its lease runs out', () => {
  const life: Life = { at: 'writing', end: { kind: 'roll-back' }, feedback: undefined };
  expect(shown(stepLife(life, { event: 'end-refused', error }, facts))).toBe(
    'ended: error, release',
  );
});
