import { expect, test } from 'vitest';
import { Bus, type Hears } from '../../../src/agent/stream/bus.ts';

test('a run that is still being made is not among those whose end is looked for', () => {
  const bus = new Bus();
  const expected = bus.expect('run');
  bus.follow('run', { signal: new AbortController().signal, hears: 'events' });
  expect(bus.listFollowedRuns()).toEqual([]);
  expected.made();
  expect(bus.listFollowedRuns()).toEqual(['run']);
});

test('events that were published together are heard together, in their order', async () => {
  const bus = new Bus();
  const subscription = bus.follow('run', { signal: new AbortController().signal, hears: 'events' });
  const events = [1, 2].map((seq) => ({ ms: 1, seq, event: 'custom', json: '{}' }));
  bus.publish('run', { kind: 'events', run_id: 'run', events });
  bus.publish('run', { kind: 'end', result: undefined });
  expect(await subscription.readNext()).toEqual({ kind: 'events', run_id: 'run', events });
  expect(await subscription.readNext()).toEqual({ kind: 'end', result: undefined });
});

test('a reader who does not read is given up before it fills the memory', async () => {
  const bus = new Bus();
  const subscription = bus.follow('run', { signal: new AbortController().signal, hears: 'events' });
  const json = 'x'.repeat(1024 * 1024);
  for (let seq = 1; seq <= 65; seq += 1)
    bus.publish('run', {
      kind: 'events',
      run_id: 'run',
      events: [{ ms: 1, seq, event: 'custom', json }],
    });
  expect(await subscription.readNext()).toEqual({ kind: 'too-slow' });
  expect(bus.isFollowed('run')).toBe(false);
});

test('a reader whose signal is aborted follows nothing any more, and is told so', async () => {
  const bus = new Bus();
  const leaving = new AbortController();
  const subscription = bus.follow('run', { signal: leaving.signal, hears: 'events' });
  const next = subscription.readNext();
  leaving.abort();
  expect(bus.isFollowed('run')).toBe(false);
  expect(await next).toBeUndefined();
  bus.follow('run', { signal: leaving.signal, hears: 'events' });
  expect(bus.isFollowed('run')).toBe(false);
});

test('who waits for the end only does not count as one who reads events, and gets none', async () => {
  const bus = new Bus();
  const follow = (hears: Hears): ReturnType<Bus['follow']> =>
    bus.follow('run', { signal: new AbortController().signal, hears });
  const waiting = follow('end');
  expect([bus.isFollowed('run'), bus.isHeard(['run', 'thread'])]).toEqual([true, false]);
  const reading = follow('events');
  expect(bus.isHeard(['run', 'thread'])).toBe(true);
  bus.publish('run', {
    kind: 'events',
    run_id: 'run',
    events: [{ ms: 1, seq: 1, event: 'custom', json: '{}' }],
  });
  bus.publish('run', { kind: 'end', result: undefined });
  expect(await waiting.readNext()).toEqual({ kind: 'end', result: undefined });
  expect(await reading.readNext()).toMatchObject({ kind: 'events' });
});

test('the first reader of any of the keys is told to who waits for one, and nobody waits for ever', () => {
  const bus = new Bus();
  const told: string[] = [];
  const enough = bus.watchForReader(['run', 'thread'], () => told.push('a reader came'));
  const { signal } = new AbortController();
  bus.follow('thread', { signal, hears: 'end' });
  expect(told).toEqual([]);
  bus.follow('thread', { signal, hears: 'events' });
  enough();
  bus.follow('run', { signal, hears: 'events' });
  expect(told).toEqual(['a reader came']);
});
