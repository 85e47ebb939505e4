import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Gateway } from '../../src/gateway/start.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { RolloutSpec } from '../../src/schema/platform/rollout/rollout-spec.ts';
import { buildWorkPath } from '../../src/schema/wire/work-report.ts';
import { newDeployment } from '../kit/objects.ts';
import { metricOf, type RunningOperator } from '../kit/operator.ts';
import { gatewayOf } from '../kit/gateway-of-stage.ts';
import { startPrometheus, type TestPrometheus } from '../kit/prometheus.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* A new revision is compared by a query that a real Prometheus answers. */

let stage: Stage;
let gateway: Gateway;
let operator: RunningOperator;
let prometheus: TestPrometheus;
/** The cost of each revision, by its name. */
const costs: Record<string, number> = {};

beforeAll(async () => {
  const metrics = (): string =>
    Object.entries(costs)
      .map(
        ([revision, cost]) =>
          `cost{deployment="${revision.slice(0, -6)}",revision="${revision}"} ${cost}\n`,
      )
      .join('');
  prometheus = await startPrometheus(metrics);
  stage = await openStage('queries');
  stage.startKubelet();
  gateway = await gatewayOf(stage);
  operator = await stage.startOperator({
    gateways: () => [`http://127.0.0.1:${gateway.reportsPort}`],
    settings: {
      gateway: { service: 'gateway', namespace: stage.namespace },
      prometheusUrl: prometheus.url,
    },
  });
});
afterAll(async () => {
  await stage.stop();
  await prometheus.stop();
});

const checked = (query: string): RolloutSpec => ({
  steps: [{ share: 20, seconds: 1 }],
  checks: [{ query, worseBy: 50, failures: 2 }],
  checkSeconds: 1,
});
const COST = 'cost{deployment="{deployment}", revision="{revision}"}';

/** Deploys a revision and asks for a second one. Its agents report all the time. */
async function tried(name: string, query: string): Promise<{ first: string; second: string }> {
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec: {} };
  const spec = { rollout: checked(query) };
  await stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { metadata: { name }, template, spec }),
  );
  await stage.see.untilReady(name);
  const path = '/spec/template/sourceRevisionConfig/imageUri';
  await stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
    { op: 'replace', path, value: 'agent:2' },
  ]);
  const [first, second] = [`${name}-00001`, `${name}-00002`];
  await until('it is tried out', async () => (await candidateOf(name))?.share === 20);
  const key = Buffer.from(
    (await stage.see.secret(`${name}-key`)).data?.['api-key'] ?? '',
    'base64',
  ).toString('utf8');
  await fetch(`http://127.0.0.1:${gateway.port}${buildWorkPath(stage.namespace, name)}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'worker', slots: 10, idle_seconds: 0, ended: [] }),
  });
  return { first, second };
}

const candidateOf = async (name: string) =>
  (await stage.see.deployment(name)).status?.rollout?.candidate;
/** A comparison takes a second, a report and a reconcile. */
const SLOW = { timeout: 60_000 };
const verdictOf = async (name: string): Promise<string | undefined> =>
  (await candidateOf(name))?.verdict;

test('one whose number is greater is given up, with both numbers', async () => {
  Object.assign(costs, { 'dear-00001': 10, 'dear-00002': 30 });
  const { first, second } = await tried('dear', `sum(${COST})`);
  await stage.see.untilPhase(second, 'DEPLOY_FAILED');
  const message = `A check failed: the query sum(${COST}): 30, and 10 of the other.`;
  expect((await stage.see.revision(second)).status).toMatchObject({
    reason: 'RolloutAborted',
    message: expect.stringContaining(message),
  });
  expect((await stage.see.deployment('dear')).status).toMatchObject({
    activeRevision: first,
    rollout: { aborted: { message, cause: 'Check' } },
  });
  const reported = (): Promise<number> =>
    metricOf(operator, 'gx_rollout_given_up_timestamp_seconds', 'deployment="dear"');
  await until('the metric says since when', async () => {
    const { since = '' } = (await stage.see.deployment('dear')).status?.rollout?.aborted ?? {};
    return (await reported()) === Date.parse(since) / 1000;
  });
  await stage.kube.delete(kinds.deployment, { namespace: stage.namespace, name: 'dear' });
  await expect.poll(reported).toBe(0);
});

test('without data of one of them it waits and says so, and goes on when there are some', async () => {
  costs['thin-00001'] = 10;
  const { second } = await tried('thin', COST);
  await expect
    .poll(() => verdictOf('thin'), SLOW)
    .toContain('because Prometheus has no data (thin-00002)');
  expect((await stage.see.revision(second)).status?.phase).toBe('DEPLOYING');
  costs['thin-00002'] = 11;
  await until(
    'it serves',
    async () => (await stage.see.deployment('thin')).status?.activeRevision === second,
    30,
  );
});

test.each([
  ['broken', 'sum(cost{revision="{revision}"', 'Prometheus refuses it'],
  ['wide', '{__name__=~"scrape.*|{revision}"}', 'series instead of one (wide-00002)'],
])('a query that gives no single number is waited for: %s', async (name, query, words) => {
  await tried(name, query);
  await expect.poll(() => verdictOf(name), SLOW).toContain(words);
});
