import { expect, test } from 'vitest';
import { follow } from '../../../src/control-plane/stored/follow.ts';
import { buildStandIn } from '../../kit/stand-in.ts';
import type { Stored } from '../../../src/control-plane/stored/stored.ts';
import { Waiting } from '../../../src/control-plane/stored/waiting.ts';

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
};

test('a change wakes those who follow its deployment, and none of a thousand others', async () => {
  const waiting = new Waiting();
  const leaving = new AbortController();
  const stored = buildStandIn<Stored>({
    waitForChange: (signal, uid) => waiting.waitForChange(signal, uid),
  });
  const reads = new Map<string, number>();
  const streams = Array.from({ length: 1001 }, (_, index) => {
    const uid = `uid-${index}`;
    const read = (): Promise<number> => {
      reads.set(uid, (reads.get(uid) ?? 0) + 1);
      return Promise.resolve(reads.get(uid)!);
    };
    const stream = follow({ stored, stopping: leaving.signal }, leaving, {
      event: 'deployment',
      uid,
      read,
      ended: () => false,
    });
    return { stream, next: stream.next() };
  });
  await Promise.all(streams.map(({ next }) => next));
  const second = streams[7]!.stream.next();
  for (const { stream } of streams.slice(8)) void stream.next();
  await turns();
  waiting.wake('uid-7');
  expect((await second).value).toMatchObject({ data: 2 });
  await turns();
  expect([...reads].filter(([, count]) => count > 1)).toEqual([['uid-7', 2]]);
  leaving.abort();
});

test('who waits for any change hears of each, and who is told that all may have changed as well', async () => {
  const waiting = new Waiting();
  const { signal } = new AbortController();
  const any = waiting.waitForChange(signal).then(() => 'any');
  waiting.wake('somebody');
  const one = waiting.waitForChange(signal, 'one').then(() => 'one');
  waiting.wakeAll();
  const left = waiting.waitForChange(AbortSignal.abort(), 'one').then(() => 'left');
  expect(await Promise.all([any, one, left])).toEqual(['any', 'one', 'left']);
});
