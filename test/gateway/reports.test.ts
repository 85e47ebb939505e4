import { expect, test } from 'vitest';
import { Reports } from '../../src/gateway/reports.ts';
import type { WorkReport } from '../../src/schema/work-report.ts';

/* What a gateway keeps of reports, and what it tells of them. */

const report = (from: string): WorkReport => ({
  from,
  slots: 0,
  idle_seconds: 1,
  queue: { due: 1, running: 0, webhooks: 0, next_due: null },
});

test('a page has what arrived since the last one, each process once', () => {
  const reports = new Reports('one');
  reports.keep('team/chat', report('a'));
  reports.keep('team/chat', report('a'));
  reports.keep('team/mail', report('b'));
  const first = reports.since({});
  expect(Object.entries(first.reports).map(([name, some]) => [name, some.map(({ from }) => from)])).toEqual([
    ['team/chat', ['a']],
    ['team/mail', ['b']],
  ]);
  reports.keep('team/mail', report('c'));
  const second = reports.since(first);
  expect(second.reports).toEqual({ 'team/mail': [{ ...report('c'), age_seconds: expect.any(Number) as number }] });
  expect(reports.since(second).reports).toEqual({});
});

test('whoever has read another gateway at this address gets everything', () => {
  const reports = new Reports('two');
  reports.keep('team/chat', report('a'));
  expect(Object.keys(reports.since({ instance: 'one', cursor: 77 }).reports)).toEqual(['team/chat']);
});

test('a process that is silent for a minute and a half is forgotten', () => {
  let now = 0;
  const reports = new Reports('one', () => now);
  reports.keep('team/chat', report('a'));
  now = 60_000;
  reports.keep('team/chat', report('b'));
  now = 91_000;
  expect(reports.of('team/chat').map(({ from, age_seconds: age }) => [from, age])).toEqual([['b', 31]]);
  now = 151_000;
  expect([reports.of('team/chat'), reports.since({}).reports, reports.size]).toEqual([[], {}, 0]);
});
