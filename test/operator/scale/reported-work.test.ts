import { expect, test } from 'vitest';
import { gatewayUrls } from '../../../src/operator/scale/gateways.ts';
import { ReportedWork } from '../../../src/operator/scale/reported-work.ts';
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
  const work = new ReportedWork();
  const queue = { due: 7, running: 0, webhooks: 0, next_due: '2026-11-23T12:00:00.000Z' };
  work.add({ reports: { 'team/chat': [report('a', 1, { queue })] } }, 100_000);
  work.add({ reports: { 'team/chat': [report('a', 20)] } }, 100_000);
  expect(work.summary('team/chat', 101_000)).toMatchObject({ due: 7, nextDue: '2026-11-23T12:00:00.000Z', age: 2 });
});

test('workers tell how many runs they take, and those that leave no longer', () => {
  const work = new ReportedWork();
  work.add({ reports: { 'team/chat': [report('a', 0), worker('q', 4), { ...worker('r', 2), leaves: true }] } }, 0);
  expect(work.summary('team/chat', 0)).toMatchObject({ slots: 4, running: 2 });
});

test('a deployment rests for as long as the process that was asked last', () => {
  const work = new ReportedWork();
  work.add({ reports: { 'team/chat': [report('a', 0, { idle_seconds: 300 }), report('b', 0, { idle_seconds: 40 })] } }, 0);
  expect(work.summary('team/chat', 0)?.idleSeconds).toBe(40);
});

test('what was reported too long ago is not known', () => {
  const work = new ReportedWork();
  work.add({ reports: { 'team/chat': [report('a', 0)] } }, 0);
  expect(work.summary('team/chat', 90_000)).toBeDefined();
  expect(work.summary('team/chat', 90_001)).toBeUndefined();
  expect(work.summary('team/other', 0)).toBeUndefined();
});

test('of the facts that processes of a revision report, those with the strictest guard count', () => {
  const work = new ReportedWork();
  const server = (guard: 'open' | 'key' | 'handlers', revision = 'chat-00001', version = 'v1') => ({
    server: { revision, version, guard },
  });
  const add = (...reports: KeptReport[]) => work.add({ reports: { 'team/chat': reports } }, 0).learned;
  expect(add(report('a', 5, server('key')), report('code', 4, server('open', 'chat-00001', 'v9')))).toEqual(['team/chat']);
  expect(add(report('next', 3, server('open', 'chat-00002')))).toEqual(['team/chat']);
  const guards = () =>
    Object.fromEntries([...work.servers('team/chat', 0)].map(([name, facts]) => [name, `${facts.guard} ${facts.version}`]));
  expect(guards()).toEqual({ 'chat-00001': 'key v1', 'chat-00002': 'open v1' });
  // The same facts are no news.
  expect(add(report('a', 2, server('key')))).toEqual([]);
  expect(add(report('code', 1, server('handlers')))).toEqual(['team/chat']);
  expect(guards()).toMatchObject({ 'chat-00001': 'handlers v1' });
  expect([...work.servers('team/chat', 100_000)]).toEqual([]);
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
  expect(gatewayUrls(slices)).toEqual(['http://10.0.0.2:8082', 'http://[fd00::1]:8082']);
});

test('of too many processes of one deployment, those that were told of first are forgotten', () => {
  const work = new ReportedWork();
  const many = Array.from({ length: 2000 }, (_, index) => worker(`p${index}`, index === 0 ? 1 : 4));
  work.add({ reports: { 'evil/flood': [report('a', 0), ...many] } }, 0);
  expect(work.summary('evil/flood', 0)).toBeUndefined();
  work.add({ reports: { 'evil/flood': [report('a', 0)] } }, 0);
  expect(work.summary('evil/flood', 0)).toMatchObject({ slots: 4 });
});
