import { expect, test } from 'vitest';
import type { FinishEnd, StopReason } from '../../../src/agent/runs/end.ts';
import { beginLife, nextLife, type Effect, type Life, type LifeEvent, type LifeStep } from '../../../src/agent/runs/life.ts';

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

/** One life in each state. The types require a new state to appear here and in a row below. */
const lives: { [At in Life['at']]: Extract<Life, { at: At }> } = {
  taken: { at: 'taken', stop: undefined, drains: false },
  executing: { at: 'executing' },
  stopping: { at: 'stopping', stop: 'interrupt' },
  saying: { at: 'saying', end: done, feedback: undefined },
  writing: { at: 'writing', end: done, feedback },
  ended: { at: 'ended' },
};

/** One event of each kind. The types require a new kind to appear here and in each row below. */
const events: { [Name in LifeEvent['event']]: Extract<LifeEvent, { event: Name }> } = {
  given: { event: 'given' },
  'not-given': { event: 'not-given' },
  'stop-requested': { event: 'stop-requested', reason: 'rollback' },
  'drain-requested': { event: 'drain-requested' },
  'obey-time-over': { event: 'obey-time-over' },
  'thread-gone': { event: 'thread-gone', loss: 'crashed' },
  'graph-ended': { event: 'graph-ended', outcome: { status: 'success', waiting: false, values: '{}' } },
  'last-events-sent': { event: 'last-events-sent', feedback },
  'end-written': { event: 'end-written', more: true },
  'end-overruled': { event: 'end-overruled' },
  'end-postponed': { event: 'end-postponed', error },
  'end-refused': { event: 'end-refused', error },
  'retry-time-over': { event: 'retry-time-over' },
};

const show = {
  'set-timer': ({ timer, milliseconds }: Extract<Effect, { do: 'set-timer' }>) => `${timer} in ${milliseconds}`,
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
  const detail = 'stop' in life ? life.stop : 'end' in life ? (life.end.kind === 'finish' ? life.end.status : life.end.kind) : undefined;
  const texts = effects.map((effect) => (show[effect.do] as (effect: Effect) => string)(effect));
  return `${life.at}${detail === undefined ? '' : ` ${detail}`}${texts.length === 0 ? '' : `: ${texts.join(', ')}`}`;
}

const nothing = 'nothing';
const finished = 'saying success: no limit, no obey, say last events';
const handedBack = 'writing hand-back: no limit, no obey, write hand-back';
const tryAgain = 'warn, retry in 500';
const refused = 'saying error: error, say ResultNotStored';

const table: Record<Life['at'], Record<LifeEvent['event'], string>> = {
  taken: {
    given: 'executing',
    'not-given': handedBack,
    'stop-requested': 'taken rollback: obey in 2000',
    'drain-requested': 'taken',
    'obey-time-over': 'taken: kill',
    'thread-gone': handedBack,
    'graph-ended': finished,
    'last-events-sent': nothing,
    'end-written': nothing,
    'end-overruled': nothing,
    'end-postponed': nothing,
    'end-refused': nothing,
    'retry-time-over': nothing,
  },
  executing: {
    given: nothing,
    'not-given': nothing,
    'stop-requested': 'stopping rollback: abort, obey in 2000',
    'drain-requested': 'executing: drain',
    'obey-time-over': nothing,
    'thread-gone': handedBack,
    'graph-ended': finished,
    'last-events-sent': nothing,
    'end-written': nothing,
    'end-overruled': nothing,
    'end-postponed': nothing,
    'end-refused': nothing,
    'retry-time-over': nothing,
  },
  stopping: {
    given: nothing,
    'not-given': nothing,
    'stop-requested': 'stopping rollback: abort',
    'drain-requested': nothing,
    'obey-time-over': 'stopping interrupt: kill',
    'thread-gone': 'saying interrupted: no limit, no obey, say last events',
    'graph-ended': 'saying interrupted: no limit, no obey, say last events',
    'last-events-sent': nothing,
    'end-written': nothing,
    'end-overruled': nothing,
    'end-postponed': nothing,
    'end-refused': nothing,
    'retry-time-over': nothing,
  },
  saying: {
    given: nothing,
    'not-given': nothing,
    'stop-requested': nothing,
    'drain-requested': nothing,
    'obey-time-over': nothing,
    'thread-gone': nothing,
    'graph-ended': nothing,
    'last-events-sent': 'writing success: write success',
    'end-written': nothing,
    'end-overruled': nothing,
    'end-postponed': `saying success: ${tryAgain}`,
    'end-refused': refused,
    'retry-time-over': 'saying success: say last events',
  },
  writing: {
    given: nothing,
    'not-given': nothing,
    'stop-requested': nothing,
    'drain-requested': nothing,
    'obey-time-over': nothing,
    'thread-gone': nothing,
    'graph-ended': nothing,
    'last-events-sent': nothing,
    'end-written': 'ended: release, more',
    'end-overruled': 'writing roll-back: no limit, no obey, write roll-back',
    'end-postponed': `writing success: ${tryAgain}`,
    'end-refused': refused,
    'retry-time-over': 'writing success: write success',
  },
  ended: {
    given: nothing,
    'not-given': nothing,
    'stop-requested': nothing,
    'drain-requested': nothing,
    'obey-time-over': nothing,
    'thread-gone': nothing,
    'graph-ended': nothing,
    'last-events-sent': nothing,
    'end-written': nothing,
    'end-overruled': nothing,
    'end-postponed': nothing,
    'end-refused': nothing,
    'retry-time-over': nothing,
  },
};

const pairs = Object.values(lives).flatMap((life) => Object.values(events).map((event) => [life.at, event.event] as const));

test.each(pairs)('%s, %s', (at, name) => {
  const step = nextLife(lives[at], events[name], facts);
  expect(step[0] === lives[at] && step[1].length === 0 ? nothing : shown(step)).toBe(table[at][name]);
});

test('a run begins with its time limit, which no timer of Node exceeds', () => {
  expect(shown(beginLife(undefined, facts))).toBe('taken: limit in 60000');
  expect(shown(beginLife(undefined, { ...facts, timeoutSeconds: 1e9 }))).toBe('taken: limit in 2147483647');
  expect(beginLife(undefined, facts)[1]).toMatchObject([{ expires: { event: 'stop-requested', reason: 'timeout' } }]);
});

test('a run that was to stop before it began is told so by the thread that gets it, and has its time to obey from then on', () => {
  const [life, effects] = beginLife('interrupt', facts);
  expect(shown([life, effects])).toBe('taken interrupt: limit in 60000, obey in 2000');
  expect(shown(nextLife(life, events.given, facts))).toBe('stopping interrupt: abort, obey in 2000');
});

test('one that no thread could be found for ends as it was asked to', () => {
  const ends = (stop: StopReason): string =>
    shown(nextLife({ at: 'taken', stop, drains: false }, events['not-given'], facts)).split(':')[0]!;
  expect((['interrupt', 'rollback', 'timeout', 'shutdown', 'lost'] as const).map(ends)).toEqual([
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
        (at) => nextLife(at === 'taken' ? { at, stop, drains: false } : { at, stop }, { event: 'stop-requested', reason }, facts)[0],
      );
      return next.every((life) => 'stop' in life && life.stop === stop)
        ? []
        : [[stop, reason, ...next.map((life) => 'stop' in life && life.stop)]];
    }),
  );
  expect(outranked).toEqual([['interrupt', 'rollback', 'rollback', 'rollback']]);
});

test('a run that begins while its process is about to stop is told so by the thread that gets it', () => {
  const [life] = nextLife(lives.taken, events['drain-requested'], facts);
  expect(shown(nextLife(life, events.given, facts))).toBe('executing: drain');
});

test('a temporary run, which would begin anew elsewhere, has until the end of the grace', () => {
  const temporary = { ...facts, temporary: true };
  expect(shown(nextLife(lives.executing, events['drain-requested'], temporary))).toBe('executing');
  const [life] = nextLife(lives.taken, events['drain-requested'], temporary);
  expect(shown(nextLife(life, events.given, temporary))).toBe('executing');
});

test('only those who hear of no further attempt hear that a graph was cut off', () => {
  const goesOn = (reason: StopReason): unknown => nextLife(lives.executing, { event: 'stop-requested', reason }, facts)[1][0];
  const reasons: StopReason[] = ['interrupt', 'rollback', 'timeout', 'shutdown', 'lost'];
  expect(reasons.map((reason) => goesOn(reason))).toEqual([false, false, false, true, true].map((is) => ({ do: 'abort', goesOn: is })));
});

test('a second stop of a run without a thread does not put off the time to obey', () => {
  expect(shown(nextLife({ at: 'taken', stop: 'interrupt', drains: false }, events['stop-requested'], facts))).toBe('taken rollback');
});

test('a refused result fails the run, whose readers hear it after what they have heard; an error that is refused as well is given up', () => {
  const [saying] = nextLife(lives.writing, events['end-refused'], facts);
  const [writing] = nextLife(saying, { event: 'last-events-sent', feedback: undefined }, facts);
  expect(writing).toMatchObject({ at: 'writing', end: { status: 'error', values: undefined }, feedback });
  expect(shown(nextLife(writing, events['end-refused'], facts))).toBe('ended: error, release');
});

test('what is no result is given up when the database refuses it: its lease runs out', () => {
  const life: Life = { at: 'writing', end: { kind: 'roll-back' }, feedback: undefined };
  expect(shown(nextLife(life, events['end-refused'], facts))).toBe('ended: error, release');
});
