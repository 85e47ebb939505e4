import { afterEach, expect, test } from 'vitest';
import { buildReportRoutes, WORD_BODIES } from '../../../src/gateway/report-routes.ts';
import { Reports } from '../../../src/gateway/reports.ts';
import { TenantWords } from '../../../src/gateway/tenant-words.ts';
import { listen } from '../../../src/http/server/listen.ts';
import { createApp } from '../../../src/http/server/server.ts';
import { BudgetTeller } from '../../../src/operator/scale/budget-teller.ts';
import { sumTenants, type SpendingDeployment } from '../../../src/operator/scale/tenant-budgets.ts';
import type { TenantBudgetSetting } from '../../../src/config/platform/tenant-budgets.ts';
import type { UsageOfDay } from '../../../src/schema/wire/reported-usage.ts';
import { silentLog } from '../../kit/log.ts';

/* The operator sums what the deployments of a tenant have spent, and tells the gateways how their budgets stand. */

const NOW = new Date('2026-12-02T12:00:00Z');
const DAY = '2026-12-02';
const KEY = 'operator';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const budget = (more: Partial<TenantBudgetSetting> = {}): TenantBudgetSetting => ({
  name: 'day',
  unit: 'calls',
  within: 'day',
  at: 'ask',
  hard: 10,
  tenants: undefined,
  ...more,
});

const used = (calls: number, more: Partial<UsageOfDay> = {}): UsageOfDay => ({
  day: DAY,
  calls,
  unreported: 0,
  unpriced: 0,
  input: 0,
  cache_read: 0,
  output: 0,
  cost_nano: null,
  ...more,
});

const spends = (key: string, tenant: string, calls?: number): SpendingDeployment => ({
  key,
  tenant,
  status: {},
  reported: calls === undefined ? undefined : [used(calls)],
});

test('each tenant has a budget of its own, and each deployment its part of it', () => {
  const words = sumTenants(
    [budget()],
    [
      spends('a/one', 'a', 3),
      spends('a/two', 'a', 4),
      spends('a/new', 'a'),
      spends('b/one', 'b', 12),
    ],
    NOW,
  );
  expect([...words.values()]).toEqual([
    {
      tenant: 'a',
      budgets: [
        {
          name: 'day',
          unit: 'calls',
          within: 'day',
          at: 'ask',
          since: `${DAY}T00:00:00.000Z`,
          hard: 10,
          left: 3,
        },
      ],
      own: { 'a/one': [3], 'a/two': [4], 'a/new': [0] },
    },
    {
      tenant: 'b',
      budgets: [expect.objectContaining({ hard: 10, left: 0 }) as object],
      own: { 'b/one': [12] },
    },
  ]);
});

test('units and windows are summed apart, and tenants that have no budget have no word', () => {
  const day = {
    day: '2026-12-01',
    calls: 2,
    unreportedCalls: 0,
    unpricedCalls: 0,
    inputTokens: 100,
    cacheReadTokens: 60,
    outputTokens: 5,
    costUsd: '0.5',
  };
  const asleep: SpendingDeployment = {
    key: 'a/asleep',
    tenant: 'a',
    // Its status is of yesterday. Earlier days are of the month alone.
    status: {
      usageToday: day,
      usageEarlier: { before: '2026-11-30', week: { calls: 9, tokens: 9, costUsd: '9' } },
    },
    reported: undefined,
  };
  const some = [
    budget({ name: 'usd', unit: 'usd', within: 'week', hard: 1_000_000_000 }),
    budget({ name: 'tokens', unit: 'tokens', within: 'month', hard: 100 }),
    budget({ name: 'today' }),
    budget({ name: 'theirs', tenants: ['b'] }),
  ];
  const words = sumTenants(some, [asleep, spends('c/x', 'c', 1)], NOW);
  expect(words.get('a')?.own).toEqual({ 'a/asleep': [500_000_000, 45, 0] });
  expect(words.get('a')?.budgets.map(({ since, left }) => [since, left])).toEqual([
    ['2026-11-30T00:00:00.000Z', 500_000_000],
    ['2026-12-01T00:00:00.000Z', 55],
    ['2026-12-02T00:00:00.000Z', 10],
  ]);
  expect(sumTenants([budget({ tenants: ['b'] })], [asleep], NOW).size).toBe(0);
});

test('forged sums take the budget of their own tenant alone', () => {
  const most = Number.MAX_SAFE_INTEGER;
  const forged = { ...spends('a/bad', 'a'), reported: [used(most, { cost_nano: most })] };
  const words = sumTenants(
    [budget({ unit: 'usd', hard: most })],
    [forged, { ...forged, key: 'a/worse' }, spends('b/good', 'b', 1)],
    NOW,
  );
  expect(words.get('a')?.budgets[0]?.left).toBe(0);
  expect(words.get('b')?.budgets[0]?.left).toBe(most);
  const began = performance.now();
  for (let turn = 0; turn < 1000; turn += 1) sumTenants([budget()], [forged], NOW);
  expect((performance.now() - began) / 1000).toBeLessThan(1);
});

/** A gateway, of which its words stay when it goes on listening. */
async function startWords(): Promise<{ url: string; words: TenantWords; bodies: () => number }> {
  const words = new TenantWords();
  let count = 0;
  const counted = new Proxy(words, {
    get: (target, name: keyof TenantWords) => {
      if (name === 'take') count += 1;
      return target[name].bind(target);
    },
  });
  const app = createApp({
    routes: buildReportRoutes(
      { reports: new Reports('one'), tenantWords: counted, isOfOperator: (key) => key === KEY },
      'key',
    ),
    log: silentLog(),
    invalid: 'sentence',
    authenticate: () => undefined,
    body: WORD_BODIES,
  });
  const { port, stop } = await listen(app, { host: '127.0.0.1', port: 0 });
  stops.push(() => stop(0));
  return { url: `http://127.0.0.1:${port}`, words, bodies: () => count };
}

test('gateways are told once, then of changes alone, and all again after a restart', async () => {
  const [one, other] = [await startWords(), await startWords()];
  let deployments = [spends('a/one', 'a', 1), spends('b/one', 'b', 2)];
  let urls = [one.url];
  const teller = new BudgetTeller({
    gateways: () => urls,
    key: KEY,
    budgets: [budget()],
    deployments: () => deployments,
    log: silentLog(),
    now: () => NOW,
  });
  const { signal } = new AbortController();
  expect(one.words.get('a/one')).toBeUndefined();
  await teller.tell(signal);
  expect(one.words.get('a/one')).toMatchObject([{ own: 1, left: 9 }]);
  expect(one.words.get('b/one')).toMatchObject([{ own: 2, left: 8 }]);
  // One that belongs to nobody has none, which is known now.
  expect(one.words.get('c/nobody')).toEqual([]);
  // Another gateway hears everything, and a deployment that changes its tenant has that one's budget.
  deployments = [spends('b/one', 'b', 4), spends('a/one', 'b', 1)];
  urls = [one.url, other.url];
  await teller.tell(signal);
  for (const { words } of [one, other]) {
    expect(words.get('a/one')).toMatchObject([{ own: 1, left: 5 }]);
    expect(words.get('b/one')).toMatchObject([{ own: 4, left: 5 }]);
  }
  // The word holds while the operator is away, and an operator that takes over tells all again.
  const next = new BudgetTeller({
    gateways: () => urls,
    key: KEY,
    budgets: [budget({ hard: 100 })],
    deployments: () => deployments,
    log: silentLog(),
    now: () => NOW,
  });
  await next.tell(signal);
  expect(one.words.get('b/one')).toMatchObject([{ own: 4, hard: 100, left: 95 }]);
  // The first one, whose version is unknown by now, is heard with its second word.
  await teller.tell(signal);
  expect(one.words.get('b/one')).toMatchObject([{ hard: 100 }]);
  await teller.tell(signal);
  expect(one.words.get('b/one')).toMatchObject([{ hard: 10 }]);
});

test('nobody but the operator is heard', async () => {
  const { url, words, bodies } = await startWords();
  const body = JSON.stringify({ from: 'me', version: 1, more: false, tenants: [] });
  for (const key of [undefined, 'key', 'x'.repeat(100)]) {
    const { status } = await fetch(`${url}/budgets`, {
      method: 'PUT',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { 'x-api-key': key }),
      },
      body,
    });
    expect(status).toBe(401);
  }
  expect([bodies(), words.get('a/one')]).toEqual([0, undefined]);
});

test('without budgets agents are told that there are none, so that none holds that was removed', async () => {
  const { url, words } = await startWords();
  const teller = new BudgetTeller({
    gateways: () => [url],
    key: KEY,
    budgets: [],
    deployments: () => [spends('a/one', 'a', 1)],
    log: silentLog(),
  });
  await teller.tell(new AbortController().signal);
  expect(words.get('a/one')).toEqual([]);
});

test('a gateway that does not answer is told later, and the others now', async () => {
  const { url, words } = await startWords();
  const teller = new BudgetTeller({
    gateways: () => ['http://127.0.0.1:1', url],
    key: KEY,
    budgets: [budget()],
    deployments: () => [spends('a/one', 'a', 1)],
    log: silentLog(),
    now: () => NOW,
  });
  await teller.tell(new AbortController().signal);
  expect(words.get('a/one')).toMatchObject([{ left: 9 }]);
});

test('10,000 deployments are told in several requests, of which no half counts as all', async () => {
  const { url, words, bodies } = await startWords();
  const deployments = Array.from({ length: 10_000 }, (_, at) =>
    spends(`team-${'x'.repeat(40)}/deployment-${at}`, `tenant-${at % 100}`, 1e12),
  );
  const some = Array.from({ length: 8 }, (_, at) => budget({ name: `b${at}`, hard: 3e14 }));
  const teller = new BudgetTeller({
    gateways: () => [url],
    key: KEY,
    budgets: some,
    deployments: () => deployments,
    log: silentLog(),
    now: () => NOW,
  });
  const { signal } = new AbortController();
  await teller.tell(signal);
  expect(bodies()).toBeGreaterThan(1);
  expect(words.get(deployments[9999]!.key)).toHaveLength(8);
  expect(words.get(deployments[0]!.key)?.[0]).toMatchObject({ own: 1e12, left: 2e14 });
});
