import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { Reports } from '../../src/gateway/reports.ts';
import type { ReportsPage, WorkReport } from '../../src/schema/wire/work-report.ts';

/* What a gateway keeps of reports, and what it tells of them. */

const report = (from: string): WorkReport => ({
  from,
  slots: 0,
  idle_seconds: 1,
  queue: { due: 1, running: 0, webhooks: 0, next_due: null },
});

/** Bytes that such a report takes, and characters of it in a page. */
const WEIGHT = 410;
const PAGED = 140;

const page = (reports: Reports, since: { cursor?: number; instance?: string } = {}): ReportsPage =>
  JSON.parse(reports.formatSince(since)) as ReportsPage;

test('a page has what arrived since the last one, each process once', () => {
  const reports = new Reports('one');
  reports.keep('team/chat', report('a'));
  reports.keep('team/chat', report('a'));
  reports.keep('team/mail', report('b'));
  const first = page(reports);
  expect(
    Object.entries(first.reports).map(([name, some]) => [name, some.map(({ from }) => from)]),
  ).toEqual([
    ['team/chat', ['a']],
    ['team/mail', ['b']],
  ]);
  reports.keep('team/mail', report('c'));
  const second = page(reports, first);
  expect(second.reports).toEqual({
    'team/mail': [{ ...report('c'), age_seconds: expect.any(Number) as number }],
  });
  expect(page(reports, second).reports).toEqual({});
});

test('whoever has read another gateway at this address gets everything', () => {
  const reports = new Reports('two');
  reports.keep('team/chat', report('a'));
  expect(Object.keys(page(reports, { instance: 'one', cursor: 77 }).reports)).toEqual([
    'team/chat',
  ]);
});

test('a process that is silent for a minute and a half is forgotten', () => {
  let now = 0;
  const reports = new Reports('one', () => now);
  reports.keep('team/chat', report('a'));
  now = 60_000;
  reports.keep('team/chat', report('b'));
  now = 91_000;
  expect(
    page(reports).reports['team/chat']?.map(({ from, age_seconds: age }) => [from, age]),
  ).toEqual([['b', 31]]);
  now = 151_000;
  expect([reports.summarizeWork('team/chat'), page(reports).reports, reports.size]).toEqual([
    undefined,
    {},
    0,
  ]);
});

describe('a deployment that reports too much', () => {
  const froms = (reports: Reports, deployment: string): string[] =>
    (page(reports).reports[deployment] ?? []).map(({ from }) => from);

  test('loses the processes that were silent for longest, and takes none from others', () => {
    const reports = new Reports('one', undefined, { each: 3 * WEIGHT });
    reports.keep('team/chat', report('its own'));
    for (const from of ['a', 'b', 'c', 'a', 'd']) reports.keep('evil/flood', report(from));
    expect([froms(reports, 'evil/flood'), froms(reports, 'team/chat')]).toEqual([
      ['c', 'a', 'd'],
      ['its own'],
    ]);
  });

  test('gives way when too much is kept of all, and the others keep theirs', () => {
    const reports = new Reports('one', undefined, { all: 10 * WEIGHT });
    for (const from of ['a', 'b', 'c', 'd']) reports.keep('team/chat', report(from));
    for (let index = 0; index < 100; index += 1) reports.keep('evil/flood', report(`p${index}`));
    expect([froms(reports, 'evil/flood').length <= 7, froms(reports, 'team/chat')]).toEqual([
      true,
      ['a', 'b', 'c', 'd'],
    ]);
  });

  test('leaves nothing of what it wrote beside the known fields', () => {
    const reports = new Reports('one');
    const more = {
      ...report('a'),
      note: 'x'.repeat(3500),
      queue: { ...report('a').queue, note: 'x' },
    };
    reports.keep('team/chat', more as unknown as WorkReport);
    expect(page(reports).reports['team/chat']).toEqual([
      { ...report('a'), age_seconds: expect.any(Number) as number },
    ]);
  });

  test('is told of in pages of a bounded size, each of which begins where the last one ended', () => {
    const reports = new Reports('one', undefined, { page: 3 * PAGED });
    for (let index = 0; index < 7; index += 1) reports.keep('evil/flood', report(`p${index}`));
    reports.keep('team/chat', report('a'));
    const read: string[][] = [];
    let last = page(reports);
    const told = (): number =>
      read.push(Object.values(last.reports).flatMap((some) => some.map(({ from }) => from)));
    told();
    while (last.more) {
      last = page(reports, last);
      told();
    }
    expect(read).toEqual([
      ['p0', 'p1', 'p2'],
      ['p3', 'p4', 'p5'],
      ['p6', 'a'],
    ]);
    expect(page(reports, last).reports).toEqual({});
  });

  test('takes no memory by the same processes again and again', () => {
    const reports = new Reports('one', () => 0);
    // What the collector has not come to yet is not kept.
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 500_000; index += 1)
      reports.keep('evil/flood', report(`p${index % 5}`));
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
    expect(Object.values(page(reports).reports).flat()).toHaveLength(5);
  });
});
