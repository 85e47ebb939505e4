import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { EACH, HostPlaces } from '../../../src/agent/webhooks/host-places.ts';

/* How many messages one host gets at a time. */

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const HOST = 'receiver.example';

const placesWith = (taken: number): { places: HostPlaces; freed: () => number } => {
  const freed = vi.fn();
  const places = new HostPlaces(freed);
  for (let at = 0; at < taken; at += 1) places.take(HOST);
  return { places, freed: () => freed.mock.calls.length };
};

/** Makes attempts one after the other, each of which ends at once. */
function attempts(places: HostPlaces, count: number, failed: boolean): void {
  for (let at = 0; at < count; at += 1) {
    places.take(HOST);
    places.leave(HOST, { failed });
  }
}

test('a host whose places are all taken has no room, and one that comes free is told', () => {
  const { places, freed } = placesWith(EACH);
  expect(places.countFreePlaces().get(HOST)).toBe(0);
  places.leave(HOST, { failed: false });
  expect([places.countFreePlaces().get(HOST), freed()]).toEqual([1, 1]);
});

test('a host that nothing is sent to is not remembered', () => {
  const { places } = placesWith(2);
  for (let at = 0; at < 2; at += 1) places.leave(HOST, { failed: true });
  expect(places.countFreePlaces().size).toBe(0);
});

test('the places of a host that only fails stay taken for a second, so that it gets few attempts', () => {
  const { places, freed } = placesWith(1);
  attempts(places, EACH, true);
  expect(places.countFreePlaces().get(HOST)).toBe(EACH - 1);
  attempts(places, EACH - 1, true);
  expect([places.countFreePlaces().get(HOST), freed()]).toEqual([0, 0]);
  vi.advanceTimersByTime(999);
  expect(places.countFreePlaces().get(HOST)).toBe(0);
  vi.advanceTimersByTime(1);
  expect([places.countFreePlaces().get(HOST), freed()]).toEqual([EACH - 1, 1]);
});

test('a host that fails now and then keeps all of its places', () => {
  const { places } = placesWith(1);
  for (let turn = 0; turn < 10; turn += 1) {
    attempts(places, EACH, true);
    attempts(places, 1, false);
  }
  expect(places.countFreePlaces().get(HOST)).toBe(EACH - 1);
});
