import { expect, test } from 'vitest';
import { Bus } from '../../../src/agent/stream/bus.ts';

test('a run that is still being made is not among those whose end is looked for', () => {
  const bus = new Bus();
  const expected = bus.expect('run');
  bus.follow('run', new AbortController().signal);
  expect(bus.followedRuns()).toEqual([]);
  expected.made();
  expect(bus.followedRuns()).toEqual(['run']);
});

test('events that were published together are heard together, in their order', async () => {
  const bus = new Bus();
  const subscription = bus.follow('run', new AbortController().signal);
  const events = [1, 2].map((seq) => ({ ms: 1, seq, event: 'custom', json: '{}' }));
  bus.publish('run', { kind: 'events', run_id: 'run', events });
  bus.publish('run', { kind: 'end', result: undefined });
  expect(await subscription.next()).toEqual({ kind: 'events', run_id: 'run', events });
  expect(await subscription.next()).toEqual({ kind: 'end', result: undefined });
});

test('a reader who does not read is given up before it fills the memory', async () => {
  const bus = new Bus();
  const subscription = bus.follow('run', new AbortController().signal);
  const json = 'x'.repeat(1024 * 1024);
  for (let seq = 1; seq <= 65; seq += 1)
    bus.publish('run', { kind: 'events', run_id: 'run', events: [{ ms: 1, seq, event: 'custom', json }] });
  expect(await subscription.next()).toEqual({ kind: 'too-slow' });
  expect(bus.isFollowed('run')).toBe(false);
});

test('a reader whose signal is aborted follows nothing any more, and is told so', async () => {
  const bus = new Bus();
  const leaving = new AbortController();
  const subscription = bus.follow('run', leaving.signal);
  const next = subscription.next();
  leaving.abort();
  expect(bus.isFollowed('run')).toBe(false);
  expect(await next).toBeUndefined();
  bus.follow('run', leaving.signal);
  expect(bus.isFollowed('run')).toBe(false);
});
