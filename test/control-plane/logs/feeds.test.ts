import { expect, test } from 'vitest';
import type { ControlPlane } from '../../../src/control-plane/control-plane.ts';
import { FeedReader, LogFeeds } from '../../../src/control-plane/logs/feeds.ts';
import type { Line } from '../../../src/control-plane/logs/best-lines.ts';
import { parseLines, createLogPage } from '../../../src/control-plane/logs/lines.ts';
import { LogReads } from '../../../src/control-plane/logs/log-reads.ts';
import { readPodLogs } from '../../../src/control-plane/logs/pod-logs.ts';
import type { PodLogOptions } from '../../../src/kube/kube.ts';
import { createLog } from '../../../src/log.ts';
import { newDeployment } from '../../kit/objects.ts';

const deployment = newDeployment('team', { metadata: { name: 'chat' } });

/** Pods that have written so many lines, and what is asked of them. */
function cluster(pods: string[], log: (options: PodLogOptions) => string) {
  const asked: PodLogOptions[] = [];
  let [reading, most] = [0, 0];
  const plane = {
    kube: {
      list: () =>
        Promise.resolve({ items: pods.map((name) => ({ metadata: { name, namespace: 'team' } })) }),
    },
    logs: {
      readPodLog: async (_ref: unknown, options: PodLogOptions) => {
        asked.push(options);
        most = Math.max(most, (reading += 1));
        await Promise.resolve();
        reading -= 1;
        return log(options);
      },
    },
    log: createLog({ level: 'silent', process: 'test' }),
    config: { defaultTenantId: 'default' },
    // Two namespaces of one tenant, and one of another.
    stored: {
      getOwners: () =>
        new Map(
          Object.entries({
            team: { spec: {} },
            'team-b': { spec: {} },
            other: { spec: { tenantId: 'other' } },
          }),
        ),
    },
  } as unknown as ControlPlane;
  const reads = new LogReads(plane);
  return { plane, reads, feeds: new LogFeeds({ log: plane.log, reads }), asked, most: () => most };
}

const { signal } = new AbortController();

/** Returns all lines of one read, and whether others were too many. */
async function linesFrom(plane: ControlPlane, since?: () => string) {
  const all: Line[] = [];
  let isMissed = false;
  await readPodLogs(plane, { deployment, signal, ...(since && { since }) }, (lines, missed) => {
    all.push(...lines);
    isMissed ||= missed;
  });
  return { lines: all, missed: isMissed };
}

test('fifty readers of one deployment cost one read a look, and all of them hear of each line', async () => {
  const { feeds, asked } = cluster(['a'], () => '2026-01-01T00:00:01Z hello\n');
  const joined = Array.from({ length: 50 }, () =>
    feeds.join({ deployment, since: () => '2026-01-01T00:00:00Z' }),
  );
  await expect
    .poll(() => joined[49]!.reader.take().lines.length, { interval: 5 })
    .toBeGreaterThan(0);
  const reads = asked.length;
  expect(reads).toBeLessThan(5);
  expect(joined.slice(0, 49).map(({ reader }) => reader.take().lines[0]?.message)).toEqual(
    Array.from({ length: 49 }, () => 'hello'),
  );
  for (const { leave } of joined) leave();
});

test('a reader that does not read holds few lines, the newest, and is told that it missed some', () => {
  const reader = new FeedReader();
  const lines = parseLines('2026-01-01T00:00:01Z a\n2026-01-01T00:00:02Z b\n', 'pod');
  reader.push(lines);
  expect(reader.take()).toEqual({ lines, missed: false });
  for (let count = 0; count < 10_000; count += 1) reader.push(lines);
  const { lines: held, missed } = reader.take();
  expect([held.length <= 5000, held.length > 0, missed]).toEqual([true, true, true]);
  expect(reader.take()).toEqual({ lines: [], missed: false });
});

test('forty who ask for the logs of twenty chatty pods at once cost two reads of each, and hold their page alone', async () => {
  const line = `2026-01-01T00:00:01.5Z ${'x'.repeat(180)}\n`;
  const { reads, asked, most } = cluster(
    Array.from({ length: 20 }, (_, index) => `pod-${index}`),
    ({ tailLines = 0 }) => line.repeat(tailLines),
  );
  const pages = Array.from({ length: 40 }, () => createLogPage({ limit: 50 }));
  await Promise.all(
    pages.map((page) => reads.readLast({ deployment }, (lines) => page.add(lines))),
  );
  expect([asked.length, most()]).toEqual([2 * 20, 4]);
  expect(new Set(pages.map(({ lines }) => lines.length))).toEqual(new Set([50]));
  // Each line is a copy: a part of a text would hold all of it.
  expect(pages.every(({ isFull }) => isFull)).toBe(true);
});

test('logs of few deployments are read at a time; whoever asks for more is to come again', async () => {
  const { reads } = cluster(['a'], () => '2026-01-01T00:00:01Z hello\n');
  const others = Array.from({ length: 10 }, (_, index) => ({
    ...deployment,
    metadata: { ...deployment.metadata, uid: `${index}` },
  }));
  const reading = others.map((other) => reads.readLast({ deployment: other }, () => undefined));
  const refused = (await Promise.allSettled(reading)).filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(6);
  expect(refused[0]).toMatchObject({
    reason: { status: 429, headers: { 'retry-after': expect.any(String) as string } },
  });
  await reads.readLast({ deployment }, () => undefined);
});

test('two namespaces of one tenant leave places to another tenant', async () => {
  const { reads } = cluster(['a'], () => '2026-01-01T00:00:01Z hello\n');
  const inNamespace = (namespace: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...deployment,
      metadata: { ...deployment.metadata, namespace, uid: `${namespace}${index}` },
    }));
  const asked = [
    ...inNamespace('team', 4),
    ...inNamespace('team-b', 4),
    ...inNamespace('other', 2),
  ];
  const answers = await Promise.allSettled(
    asked.map((one) => reads.readLast({ deployment: one }, () => undefined)),
  );
  expect(answers.map(({ status }) => status === 'fulfilled')).toEqual([
    ...Array<boolean>(6).fill(true),
    false,
    false,
    true,
    true,
  ]);
});

test('long lines are read in a bounded part, the newest, of a few pods at a time', async () => {
  const line = `2026-01-01T00:00:01Z ${'x'.repeat(10_000)}\n`;
  const written = (options: PodLogOptions): string =>
    line.repeat(options.tailLines ?? 0).slice(0, options.limitBytes);
  const { plane, asked, most } = cluster(
    Array.from({ length: 20 }, (_, index) => `pod-${index}`),
    written,
  );
  const { lines } = await linesFrom(plane);
  expect(most()).toBe(4);
  expect(asked.every(({ limitBytes }) => limitBytes === 1024 * 1024)).toBe(true);
  expect(new Set(asked.map(({ tailLines }) => tailLines))).toEqual(new Set([5000, 500, 50]));
  expect(lines.length).toBe(20 * 50);
});

test('more lines in one second than a read brings are never read as a whole: the newest are shown, and what is left out is told', async () => {
  const line = `2026-01-01T00:00:01.5Z ${'x'.repeat(10_000)}\n`;
  const { plane, asked } = cluster(['a'], ({ limitBytes, tailLines = 200 }) =>
    line.repeat(tailLines).slice(0, limitBytes),
  );
  const { lines, missed } = await linesFrom(plane, () => '2026-01-01T00:00:01Z');
  expect(missed).toBe(true);
  expect([lines.length, asked.every(({ limitBytes }) => limitBytes === 1024 * 1024)]).toEqual([
    50,
    true,
  ]);
});

test('of very many short lines, the newest are parsed', async () => {
  const short = Array.from(
    { length: 20_000 },
    (_, index) => `2026-01-01T00:00:01Z ${index}\n`,
  ).join('');
  const { plane } = cluster(['a'], () => short);
  const { lines, missed } = await linesFrom(plane, () => '2026-01-01T00:00:00Z');
  expect([lines.length, lines.at(-1)?.message, missed]).toEqual([5000, '19999', true]);
});
