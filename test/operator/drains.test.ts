import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import type { DeploymentSpec } from '../../src/schema/platform/resources/custom-resources.ts';
import { until } from '../kit/until.ts';
import type { FakeKubelet } from '../kit/fake-kubelet.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { newDeployment } from '../kit/objects.ts';
import type { look } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';

/* A node drain asks for evictions. The API server grants or refuses them according to the budgets that exist. */
let kube: Kube;
let namespace: string;
let kubelet: FakeKubelet;
let see: ReturnType<typeof look>;
let kubectl: Kubectl;
let folder: string;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('drain');
  ({ kube, namespace, kubelet, see } = stage);
  const { kubectl: path } = await ensureTools(['kubectl']);
  kubectl = kubectlFor({ kubectl: path, kubeconfig: inject('kubeconfig') });
  folder = mkdtempSync(join(tmpdir(), 'gx-drain-'));
});
afterAll(async () => {
  await stage.stop();
  await rm(folder, { recursive: true, force: true });
});

type Budget = KubeObject & {
  metadata: { generation?: number };
  status?: { observedGeneration?: number; disruptionsAllowed?: number };
};

const deploy = async (name: string, spec: Partial<DeploymentSpec>, minScale = 1): Promise<void> => {
  const { template, ...others } = spec;
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      spec: others,
      template: { ...template, resourceSpec: { minScale } },
    }),
  );
  await see.untilReady(name);
};
const budgets = async (name: string): Promise<string[]> => {
  const found = await kube.listAll(kinds.disruptionBudget, {
    namespace,
    labelSelector: `gx.dev/deployment=${name}`,
  });
  return found
    .map(({ metadata }) => `${metadata.name} of ${metadata.ownerReferences?.[0]?.name}`)
    .toSorted();
};
const podsOf = async (name: string, component: string): Promise<string[]> => {
  const pods = await kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component=${component}`,
  });
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);
};
const untilAllowed = (name: string, allowed: number): Promise<true> =>
  until(`the budget ${name} allows ${allowed}`, async () => {
    const { status } = (await kube.get(kinds.disruptionBudget, { namespace, name })) as Budget;
    return status?.disruptionsAllowed === allowed;
  });
/** Asks to evict one pod, as `kubectl drain` does. */
const evict = (name: string): Promise<string> => {
  const file = join(folder, `${name}.json`);
  writeFileSync(
    file,
    JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }),
  );
  return kubectl(
    'create',
    '--raw',
    `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
    '-f',
    file,
  );
};

test('of several api pods that serve one at a time goes, and the next once its place is taken', async () => {
  await deploy('several', {}, 3);
  expect(await budgets('several')).toEqual(['several-agent of several']);
  await untilAllowed('several-agent', 1);
  const [first = '', second = ''] = await podsOf('several', 'api');
  // The pod's replacement is not ready, because the double of the kubelet rests.
  await kubelet.stop();
  await evict(first);
  await expect(evict(second)).rejects.toThrow(/disruption budget/);
  await kube.delete(kinds.pod, { namespace, name: first });
  kubelet = stage.startKubelet();
  await untilAllowed('several-agent', 1);
  await evict(second);
});

test('a single api pod and the database hold up no drain', async () => {
  await deploy('single', {});
  expect(await budgets('single')).toEqual([]);
  for (const component of ['api', 'queue', 'database'])
    await evict((await podsOf('single', component))[0] ?? '');
});

test('a database that asks for it is not taken, until it asks no more; the budget goes with its deployment', async () => {
  await deploy('held', { database: { podDisruptionBudget: true } });
  expect(await budgets('held')).toEqual(['held-db of held']);
  await until('the budget is counted', async () => {
    const { status } = (await kube.get(kinds.disruptionBudget, {
      namespace,
      name: 'held-db',
    })) as Budget;
    return status?.observedGeneration === 1;
  });
  await expect(evict('held-db-0')).rejects.toThrow(/disruption budget/);
  const path = '/spec/database/podDisruptionBudget';
  await kube.patchJson(kinds.deployment, { namespace, name: 'held' }, [
    { op: 'replace', path, value: false },
  ]);
  await until('the budget is gone', async () => (await budgets('held')).length === 0);
  await evict('held-db-0');
});
