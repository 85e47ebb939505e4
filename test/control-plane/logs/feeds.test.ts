import { expect, test } from 'vitest';
import type { ControlPlane } from '../../../src/control-plane/control-plane.ts';
import { FeedReader, LogFeeds } from '../../../src/control-plane/logs/feeds.ts';
import { linesOf } from '../../../src/control-plane/logs/lines.ts';
import { podLogs } from '../../../src/control-plane/logs/pod-logs.ts';
import type { PodLogOptions } from '../../../src/kube/kube.ts';
import { createLog } from '../../../src/log.ts';
import { newDeployment } from '../../kit/objects.ts';

const deployment = newDeployment('team', { metadata: { name: 'chat' } });

/** Pods that have written so many lines, and what is asked of them. */
function cluster(pods: string[], log: (options: PodLogOptions) => string) {
  const asked: PodLogOptions[] = [];
  let [reading, most] = [0, 0];
  const plane = {
    kube: { list: () => Promise.resolve({ items: pods.map((name) => ({ metadata: { name, namespace: 'team' } })) }) },
    logs: {
      podLog: async (_ref: unknown, options: PodLogOptions) => {
        asked.push(options);
        most = Math.max(most, (reading += 1));
        await Promise.resolve();
        reading -= 1;
        return log(options);
      },
    },
    log: createLog({ level: 'silent', process: 'test' }),
  } as unknown as ControlPlane;
  return { plane, asked, most: () => most };
}

const { signal } = new AbortController();

test('fifty readers of one deployment cost one read a look, and all of them hear of each line', async () => {
  const { plane, asked } = cluster(['a'], () => '2026-01-01T00:00:01Z hello\n');
  const feeds = new LogFeeds(plane);
  const joined = Array.from({ length: 50 }, () => feeds.join({ deployment, since: () => '2026-01-01T00:00:00Z' }));
  await expect.poll(() => joined[49]!.reader.take()?.length, { interval: 5 }).toBeGreaterThan(0);
  const reads = asked.length;
  expect(reads).toBeLessThan(5);
  expect(joined.slice(0, 49).map(({ reader }) => reader.take()?.[0]?.message)).toEqual(Array.from({ length: 49 }, () => 'hello'));
  for (const { leave } of joined) leave();
});

test('a reader that does not read holds few lines, and is told that it missed some', () => {
  const reader = new FeedReader();
  const lines = linesOf('2026-01-01T00:00:01Z a\n2026-01-01T00:00:02Z b\n', 'pod');
  reader.push(lines);
  expect(reader.take()).toEqual(lines);
  for (let count = 0; count < 10_000; count += 1) reader.push(lines);
  expect([reader.take(), reader.take()]).toEqual([undefined, []]);
});

test('long lines are read in a bounded part, the newest, of a few pods at a time', async () => {
  const line = `2026-01-01T00:00:01Z ${'x'.repeat(10_000)}\n`;
  const written = (options: PodLogOptions): string => line.repeat(options.tailLines ?? 0).slice(0, options.limitBytes);
  const { plane, asked, most } = cluster(
    Array.from({ length: 20 }, (_, index) => `pod-${index}`),
    written,
  );
  const lines = await podLogs(plane, { deployment, signal });
  expect(most()).toBe(4);
  expect(asked.every(({ limitBytes }) => limitBytes === 1024 * 1024)).toBe(true);
  expect(new Set(asked.map(({ tailLines }) => tailLines))).toEqual(new Set([5000, 500, 50]));
  expect(lines.length).toBe(20 * 50);
});

test('lines that nobody wants are not kept', async () => {
  const { plane } = cluster(['a'], () => '2026-01-01T00:00:01Z yes\n2026-01-01T00:00:02Z no\n');
  const lines = await podLogs(plane, { deployment, signal, wants: ({ message }) => message === 'yes' });
  expect(lines.map(({ message }) => message)).toEqual(['yes']);
});

test('more lines in one second than a read brings are read as a whole, because times are asked for by the second', async () => {
  const line = `2026-01-01T00:00:01.5Z ${'x'.repeat(10_000)}\n`;
  const { plane, asked } = cluster(['a'], ({ limitBytes }) => line.repeat(200).slice(0, limitBytes));
  const lines = await podLogs(plane, { deployment, signal, since: () => '2026-01-01T00:00:01Z' });
  expect([lines.length, asked.length]).toEqual([200, 2]);
});
