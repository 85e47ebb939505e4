import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectListedMetrics } from '../kit/metric-names.ts';
import { newDeployment } from '../kit/objects.ts';
import { metricOf } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';
import { kinds } from '../../src/kube/kinds.ts';

/* Series of deployments at a real operator: they are there while the deployment is. test/bench/scrape.ts has more. */

const NAMES = Array.from({ length: 50 }, (_, index) => `chat-${index}`);
/** They are suspended: the operator reports on them, and makes no objects for them. */
const MANY = Array.from({ length: 1000 }, (_, index) => `many-${index}`);
/** Requests under way at a time. */
const AT_ONCE = 25;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('series');
});
afterAll(() => stage.stop());

const scraped = async (): Promise<string> =>
  (await fetch(`http://127.0.0.1:${stage.operator.port}/metrics`)).text();
const namespaced = async (): Promise<string[]> => {
  const text = await scraped();
  return text
    .split('\n')
    .filter((line) => line.startsWith('gx_') && line.includes(`namespace="${stage.namespace}"`));
};

const ofMany = (work: (name: string) => Promise<unknown>): Promise<unknown> => {
  const rest = MANY.values();
  const inTurn = async (): Promise<void> => {
    for (const name of rest) await work(name);
  };
  return Promise.all(Array.from({ length: AT_ONCE }, inTurn));
};

test('a thousand deployments that are made and deleted leave no series', async () => {
  const { kube, namespace } = stage;
  await ofMany((name) =>
    kube.create(
      kinds.deployment,
      newDeployment(namespace, { metadata: { name }, spec: { suspend: true } }),
    ),
  );
  const suspended = async (): Promise<number> =>
    (await namespaced()).filter((line) => line.includes('reason="Suspended"')).length;
  // Ready and Suspended.
  await expect.poll(suspended, { timeout: 60_000 }).toBe(2 * MANY.length);
  await ofMany((name) => kube.delete(kinds.deployment, { namespace, name }));
  await expect.poll(namespaced, { timeout: 60_000 }).toEqual([]);
});

test('fifty deployments have series of their own, eight of each at most, and leave none when they are deleted', async () => {
  const { kube, namespace, see, operator } = stage;
  for (const name of NAMES)
    await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name } }));
  for (const name of NAMES) await see.untilReady(name, 200);
  const ready = (name: string): Promise<number> =>
    metricOf(
      operator,
      'gx_deployment_condition',
      `deployment="${name}",condition="Ready",status="True"`,
    );
  for (const name of NAMES)
    await until(`${name} is Ready by its metric`, async () => (await ready(name)) === 1);
  await until(
    'each revision has ended',
    async () => (await metricOf(operator, 'gx_revisions', 'phase="DEPLOYED"')) === NAMES.length,
  );
  expectListedMetrics('operator', await scraped());
  const all = await namespaced();
  for (const name of NAMES)
    expect(all.filter((line) => line.includes(`deployment="${name}"`)).length).toBeLessThanOrEqual(
      8,
    );
  for (const name of NAMES) await kube.delete(kinds.deployment, { namespace, name });
  await until(
    'all are deleted',
    async () => (await kube.listAll(kinds.deployment, { namespace })).length === 0,
    200,
  );
  await expect.poll(namespaced, { timeout: 120_000 }).toEqual([]);
});
