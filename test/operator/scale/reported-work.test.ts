import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { listGatewayUrls } from '../../../src/operator/scale/gateways.ts';
import { ReportedWork } from '../../../src/operator/scale/reported-work.ts';
import { NO_RUNS } from '../../../src/operator/scale/verdict.ts';
import { BUCKETS, toFlatCounts, type RunCounts } from '../../../src/schema/wire/run-counts.ts';
import type { KeptReport } from '../../../src/schema/wire/work-report.ts';

/* What the operator knows by the reports that several gateways have kept. */

const report = (from: string, age: number, more: Partial<KeptReport> = {}): KeptReport => ({
  from,
  slots: 0,
  idle_seconds: 5,
  age_seconds: age,
  queue: { due: 1, running: 2, webhooks: 0, next_due: null },
  ...more,
});
const worker = (from: string, slots: number): KeptReport => {
  const { queue: _, ...own } = report(from, 0, { slots });
  return own;
};

test('of one process that reported to two gateways, the newer report counts', () => {
  const work = new ReportedWork(() => undefined);
  const queue = { due: 7, running: 0, webhooks: 0, next_due: '2026-11-23T12:00:00.000Z' };
  work.add({ reports: { 'team/chat': [report('a', 1, { queue })] } }, 100_000);
  work.add({ reports: { 'team/chat': [report('a', 20)] } }, 100_000);
  expect(work.getSummary('team/chat', 101_000)).toMatchObject({
    due: 7,
    nextDue: '2026-11-23T12:00:00.000Z',
    age: 2,
  });
});

test('workers tell how many runs they take, and those that leave no longer', () => {
  const work = new ReportedWork(() => undefined);
  work.add(
    {
      reports: {
        'team/chat': [report('a', 0), worker('q', 4), { ...worker('r', 2), leaves: true }],
      },
    },
    0,
  );
  expect(work.getSummary('team/chat', 0)).toMatchObject({ slots: 4, running: 2 });
});

test('a deployment rests for as long as the process that was asked last', () => {
  const work = new ReportedWork(() => undefined);
  work.add(
    {
      reports: {
        'team/chat': [report('a', 0, { idle_seconds: 300 }), report('b', 0, { idle_seconds: 40 })],
      },
    },
    0,
  );
  expect(work.getSummary('team/chat', 0)?.idleSeconds).toBe(40);
});

test('what was reported too long ago is not known', () => {
  const work = new ReportedWork(() => undefined);
  work.add({ reports: { 'team/chat': [report('a', 0)] } }, 0);
  expect(work.getSummary('team/chat', 90_000)).toBeDefined();
  expect(work.getSummary('team/chat', 90_001)).toBeUndefined();
  expect(work.getSummary('team/other', 0)).toBeUndefined();
});

test('of the facts that processes of a revision report, those with the strictest guard count', () => {
  const work = new ReportedWork(() => undefined);
  const server = (guard: 'open' | 'key' | 'handlers', revision = 'chat-00001', version = 'v1') => ({
    server: { revision, version, guard },
  });
  const add = (...reports: KeptReport[]) =>
    work.add({ reports: { 'team/chat': reports } }, 0).learned;
  expect(
    add(report('a', 5, server('key')), report('code', 4, server('open', 'chat-00001', 'v9'))),
  ).toEqual(['team/chat']);
  expect(add(report('next', 3, server('open', 'chat-00002')))).toEqual(['team/chat']);
  const guards = () =>
    Object.fromEntries(
      [...work.getServers('team/chat', 0)].map(([name, facts]) => [
        name,
        `${facts.guard} ${facts.version}`,
      ]),
    );
  expect(guards()).toEqual({ 'chat-00001': 'key v1', 'chat-00002': 'open v1' });
  // The same facts are no news.
  expect(add(report('a', 2, server('key')))).toEqual([]);
  expect(add(report('code', 1, server('handlers')))).toEqual(['team/chat']);
  expect(guards()).toMatchObject({ 'chat-00001': 'handlers v1' });
  expect([...work.getServers('team/chat', 100_000)]).toEqual([]);
});

test('every ready replica of the gateway is asked, by the port with its name', () => {
  const slice = (addressType: string, endpoints: object[]): never =>
    ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'x' },
      addressType,
      endpoints,
      ports: [
        { name: 'http', port: 8080 },
        { name: 'reports', port: 8082 },
      ],
    }) as never;
  const slices = [
    slice('IPv4', [
      { addresses: ['10.0.0.2'], conditions: { ready: true } },
      { addresses: ['10.0.0.3'], conditions: { ready: false } },
    ]),
    slice('IPv6', [{ addresses: ['fd00::1'] }]),
  ];
  expect(listGatewayUrls(slices)).toEqual(['http://10.0.0.2:8082', 'http://[fd00::1]:8082']);
});

describe('counts of runs', () => {
  const pair = { candidate: 'chat-00002', stable: 'chat-00001' };
  const full = (count: number): [number, number][] =>
    Array.from({ length: BUCKETS }, (_, bucket) => [bucket, count]);
  const counted = (revision: string, done: number, more: Partial<RunCounts> = {}): RunCounts => ({
    revision,
    done,
    errors: 0,
    lost: 0,
    durations: [[10, done]],
    ages: [],
    ...more,
  });
  const tell = (work: ReportedWork, at: number, ended: RunCounts[], from = 'q'): void =>
    void work.add(
      { reports: { 'team/chat': [{ ...worker(from, 10), counts: ended.map(toFlatCounts) }] } },
      at,
    );

  test('grow from the first report of a process on, and those of other revisions are not kept', () => {
    const work = new ReportedWork(() => pair);
    tell(work, 0, [counted('chat-00001', 100), counted('chat-00007', 5)]);
    expect(work.getCounts('team/chat', 'chat-00001').done).toBe(0);
    tell(work, 2000, [
      counted('chat-00001', 130, { errors: 10, durations: [[10, 120]] }),
      counted('chat-00002', 4),
      counted('chat-00007', 9),
    ]);
    const stable = work.getCounts('team/chat', 'chat-00001');
    expect([stable.done, stable.errors, stable.durations[10]]).toEqual([30, 10, 20]);
    expect([
      work.getCounts('team/chat', 'chat-00002').done,
      work.getCounts('team/chat', 'chat-00007').done,
    ]).toEqual([4, 0]);
  });

  test.each<[string, Partial<RunCounts>]>([
    ['more runs than a process can execute in the time', { done: 1_000_000_000, durations: [] }],
    ['more failures than runs', { done: 110, errors: 500, durations: [] }],
    ['fewer runs than before', { done: 10, durations: [[10, 10]] }],
    ['more durations than runs', { done: 110, durations: full(1000) }],
    ['a bucket that has become smaller', { done: 110, durations: [[11, 105]] }],
    [
      'more waits than runs can begin',
      { done: 110, durations: [[10, 110]], waits: full(1_000_000_000) },
    ],
  ])('that grow by %s count nothing', (_, more) => {
    const work = new ReportedWork(() => pair);
    tell(work, 0, [counted('chat-00002', 100)]);
    tell(work, 2000, [counted('chat-00002', 0, more)]);
    expect(work.getCounts('team/chat', 'chat-00002')).toEqual(NO_RUNS);
  });

  test('are lost with another pair of revisions, and runs under way with their process', () => {
    let compared: typeof pair | undefined = pair;
    const work = new ReportedWork(() => compared);
    tell(work, 0, [counted('chat-00002', 1, { ages: [[5, 2]] })]);
    tell(work, 1000, [counted('chat-00002', 2, { ages: [[5, 3]] })]);
    tell(work, 1000, [counted('chat-00002', 2, { ages: [[5, 4]] })], 'r');
    expect([
      work.getAges('team/chat', 'chat-00002', 1000)[5],
      work.getCounts('team/chat', 'chat-00002').done,
    ]).toEqual([7, 1]);
    tell(work, 95_000, [counted('chat-00002', 2)], 'r');
    expect(work.getAges('team/chat', 'chat-00002', 95_000)[5]).toBe(0);
    compared = { ...pair, candidate: 'chat-00003' };
    expect(work.getCounts('team/chat', 'chat-00002')).toEqual(NO_RUNS);
    compared = undefined;
    tell(work, 96_000, [counted('chat-00002', 5)]);
    expect(work.getCounts('team/chat', 'chat-00002')).toEqual(NO_RUNS);
  });

  test('of 2,000 processes with full reports take time and memory that do not follow from their numbers', () => {
    const work = new ReportedWork(() => pair);
    const heavy = (revision: string): RunCounts => ({
      ...counted(revision, 1e9, { errors: 1e9, lost: 1e9 }),
      durations: full(1e9),
      waits: full(1e9),
      tokens: full(1e9),
      ages: full(1e9),
    });
    const counts = [heavy('chat-00001'), heavy('chat-00002')].map(toFlatCounts);
    let longest = 0;
    for (let page = 0; page < 100; page += 1) {
      const reports = Array.from({ length: 20 }, (_, index) => ({
        ...worker(`p${page}-${index}`, 1000),
        counts,
      }));
      const began = process.threadCpuUsage();
      work.add({ reports: { 'evil/flood': reports } }, 0);
      work.getAges('evil/flood', 'chat-00001', 0);
      const { user, system } = process.threadCpuUsage(began);
      longest = Math.max(longest, (user + system) / 1000);
    }
    expect(longest).toBeLessThan(250);
    expect(work.bytes).toBeLessThan(17 * 1024 * 1024);
  });
});

test('what all reports take is bounded, and who has few loses none', () => {
  const work = new ReportedWork(() => undefined, { each: 20_000, all: 50_000 });
  work.add({ reports: { 'team/chat': [report('a', 0), worker('q', 4)] } }, 0);
  for (let evil = 0; evil < 10; evil += 1)
    for (let index = 0; index < 100; index += 1)
      work.add({ reports: { [`evil/${evil}`]: [worker(`p${index}`, 1)] } }, 0);
  expect(work.bytes).toBeLessThan(50_001);
  expect(work.getSummary('team/chat', 0)).toMatchObject({ slots: 4, due: 1 });
});

test('what only the newest report tells is kept once', () => {
  const work = new ReportedWork(() => undefined);
  const pinned = Array.from({ length: 32 }, (_, index) => ({
    revision: `${'c'.repeat(240)}-${index}`,
    due: 1,
    running: 0,
    later: 0,
    next_due: null,
    waiting: 0,
  }));
  const api = (from: string, age: number): KeptReport =>
    report(from, age, {
      queue: { due: 1, running: 2, webhooks: 0, next_due: null, pinned },
      gate: { id: from, status: 'pending' },
    });
  for (let index = 0; index < 1000; index += 1)
    work.add({ reports: { 'evil/flood': [api(`p${index}`, 1)] } }, 0);
  // An older report comes by another gateway.
  work.add({ reports: { 'evil/flood': [api('late', 60)] } }, 0);
  expect(work.bytes).toBeLessThan(1_000_000);
  expect(work.getSummary('evil/flood', 0)?.pinned).toEqual(pinned);
  expect(work.getGateReport('evil/flood', 0)).toEqual({ id: 'late', status: 'pending' });
});

test('of too many processes of one deployment, those that were told of first are forgotten', () => {
  const work = new ReportedWork(() => undefined);
  const many = Array.from({ length: 2000 }, (_, index) => worker(`p${index}`, index === 0 ? 1 : 4));
  work.add({ reports: { 'evil/flood': [report('a', 0), ...many] } }, 0);
  expect(work.getSummary('evil/flood', 0)).toBeUndefined();
  work.add({ reports: { 'evil/flood': [report('a', 0)] } }, 0);
  expect(work.getSummary('evil/flood', 0)).toMatchObject({ slots: 4 });
});
