import { expect, test } from 'vitest';
import { CostlyBodies } from '../../src/http/bodies/costly-bodies.ts';

const MEBIBYTE = 1024 * 1024;

/** Begins to read a body of each of the callers, in this order. The pauses end when `go` is called. */
function stage(most = 100 * MEBIBYTE) {
  const read: string[] = [];
  const pauses: (() => void)[] = [];
  const bodies = new CostlyBodies(most, () => new Promise<void>((resolve) => pauses.push(resolve)));
  const send = (caller: string, bytes = MEBIBYTE): Promise<unknown> =>
    bodies.runInTurn({ caller, bytes }, (step) => step(() => read.push(caller)));
  return { read, send, pauses };
}

test('a body is read at once, and the next after the pause', async () => {
  const { read, send, pauses } = stage();
  await send('one');
  const next = send('one');
  await new Promise((resolve) => setImmediate(resolve));
  expect(read).toEqual(['one']);
  pauses.shift()?.();
  await next;
  expect(read).toEqual(['one', 'one']);
});

test('one who sends many has no more turns than one who sends a few', async () => {
  const { read, send, pauses } = stage();
  const all = [send('many'), send('many'), send('many'), send('many'), send('few'), send('few')];
  for (let count = 0; count < all.length; count += 1) {
    await expect.poll(() => pauses.length).toBe(1);
    pauses.shift()?.();
  }
  await Promise.all(all);
  expect(read).toEqual(['many', 'many', 'few', 'many', 'few', 'many']);
});

test('of one caller so much waits, and no less of another', async () => {
  const { send } = stage(2 * MEBIBYTE);
  const first = send('many');
  const waiting = [send('many'), send('many'), send('few', 20 * MEBIBYTE)];
  await expect(send('many')).rejects.toMatchObject({
    status: 429,
    headers: { 'retry-after': '5' },
  });
  await first;
  expect(waiting).toHaveLength(3);
});

test('a body that can not be read gives up its turn', async () => {
  const { send, pauses } = stage();
  const bodies = new CostlyBodies(MEBIBYTE, () => Promise.resolve());
  const broken = bodies.runInTurn({ caller: 'one', bytes: 1 }, () =>
    Promise.reject(new Error('no JSON')),
  );
  await expect(broken).rejects.toThrow('no JSON');
  await bodies.runInTurn({ caller: 'two', bytes: 1 }, (step) => step(() => undefined));
  await send('one');
  expect(pauses).toHaveLength(1);
});
