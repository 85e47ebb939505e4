import { expect, test } from 'vitest';
import { Pause } from '../src/pause.ts';

const NEVER = 3_600_000;

test('a pause ends after its time', async () => {
  await expect(new Pause().waitFor(1)).resolves.toBeUndefined();
});

test('a pause that is under way ends when it is told to', async () => {
  const pause = new Pause();
  const waits = pause.waitFor(NEVER);
  pause.end();
  await expect(waits).resolves.toBeUndefined();
});

test('an end before the pause begins does not shorten it', async () => {
  const pause = new Pause();
  pause.end();
  let isOver = false;
  const waits = pause.waitFor(NEVER).then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  pause.end();
  await waits;
});
