import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Gateway } from '../../src/gateway/start.ts';
import { kinds } from '../../src/kube/kinds.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import type { ReportAnswer } from '../../src/schema/wire/report-answer.ts';
import {
  buildWorkPath,
  type QueueWork,
  type WorkReport,
} from '../../src/schema/wire/work-report.ts';
import { gatewayOf } from '../kit/gateway-of-stage.ts';
import { newDeployment } from '../kit/objects.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * Twenty deployments of one tenant share a budget. Their agents report what they have spent to two replicas of the
 * gateway, and hear in the answers what is left.
 */

const COUNT = 20;
/** Seconds from the report that passes the bound until all have heard of it. Agents report each 5 s under load. */
const SECONDS = 10;

let stage: Stage;
let operator: Awaited<ReturnType<Stage['startOperator']>>;
let gateways: Gateway[];
const keys = new Map<string, string>();
const names = Array.from({ length: COUNT }, (_, at) => `agent-${at}`);

beforeAll(async () => {
  stage = await openStage('tenant-budgets');
  stage.startKubelet();
  gateways = await Promise.all([1, 2].map(() => gatewayOf(stage)));
  operator = await stage.startOperator({
    gateways: () => gateways.map(({ reportsPort }) => `http://127.0.0.1:${reportsPort}`),
    settings: {
      gateway: { service: 'gateway', namespace: stage.namespace },
      tenantBudgets: [
        {
          name: 'day',
          unit: 'usd',
          within: 'day',
          at: 'ask',
          hard: 1_000_000_000,
          tenants: undefined,
        },
      ],
    },
  });
  // Its namespace belongs to the tenant of a Listener.
  await stage.kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace: stage.namespace },
    spec: { computeId: 'test', namespaces: [stage.namespace] },
  });
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' } };
  for (const name of names)
    await stage.kube.create(
      kinds.deployment,
      newDeployment(stage.namespace, { metadata: { name }, template }),
    );
  for (const name of names)
    keys.set(
      name,
      await until(`${name} has a key`, async () => {
        const { data } = await stage.see.secret(`${name}-key`);
        return Buffer.from(data?.['api-key'] ?? '', 'base64').toString('utf8') || undefined;
      }),
    );
}, 200_000);
afterAll(() => stage.stop());

const today = (): string => new Date().toISOString().slice(0, 10);

const usage = (nano: number): NonNullable<QueueWork['usage']> => [
  {
    day: today(),
    calls: 1,
    unreported: 0,
    unpriced: 0,
    input: 10,
    cache_read: 0,
    output: 1,
    cost_nano: nano,
  },
];

async function report(name: string, nano: number, replica = 0): Promise<ReportAnswer> {
  const body: WorkReport = {
    from: 'api',
    slots: 0,
    idle_seconds: 0,
    queue: { due: 0, running: 1, webhooks: 0, next_due: null, usage: usage(nano) },
  };
  return until(`the report of ${name} is taken`, async () => {
    const answer = await fetch(
      `http://127.0.0.1:${gateways[replica]?.port}${buildWorkPath(stage.namespace, name)}`,
      {
        method: 'POST',
        headers: { 'x-api-key': keys.get(name)!, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      },
    );
    return answer.ok ? ((await answer.json()) as ReportAnswer) : undefined;
  });
}

const lefts = async (nano: number): Promise<(number | undefined)[]> =>
  (await Promise.all(names.map((name, at) => report(name, nano, at % 2)))).map(
    ({ budgets }) => budgets?.[0]?.left,
  );

test('all hear within seconds that the bound is passed, at both replicas, and what is their own part', async () => {
  await until('all know what is left', async () =>
    (await lefts(49_000_000)).every((left) => left === 20_000_000),
  );
  await report('agent-7', 70_000_000);
  const began = performance.now();
  await until(
    'all know that nothing is left',
    async () => {
      const others = names.filter((name) => name !== 'agent-7');
      const answers = await Promise.all(others.map((name, at) => report(name, 49_000_000, at % 2)));
      return answers.every(({ budgets }) => budgets?.[0]?.left === 0);
    },
    SECONDS,
  );
  expect((performance.now() - began) / 1000).toBeLessThan(SECONDS);
  const { budgets } = await report('agent-7', 70_000_000);
  expect(budgets).toEqual([
    {
      name: 'day',
      unit: 'usd',
      within: 'day',
      at: 'ask',
      since: `${today()}T00:00:00.000Z`,
      hard: 1_000_000_000,
      own: 70_000_000,
      left: 0,
    },
  ]);
});

test('while no operator leads, the last word holds', async () => {
  await until('the sums are in the statuses', async () => {
    const all = await Promise.all(names.map((name) => stage.see.deployment(name)));
    return all.every(({ status }) => status?.usageToday !== undefined);
  });
  await operator.stop();
  const { budgets } = await report('agent-1', 49_000_000);
  expect(budgets?.[0]).toMatchObject({ left: 0 });
});
