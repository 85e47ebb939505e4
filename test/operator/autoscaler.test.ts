import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import { getReplicas } from '../../src/operator/pods/workload-state.ts';
import { newDeployment } from '../kit/objects.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * The api pods of a deployment follow their load by Kubernetes' own autoscaler, whose controller runs here. There are
 * no metrics, so its decisions are made by the tests.
 */

let stage: OperatedStage;

beforeAll(async () => {
  stage = await setStage('autoscaler');
});
afterAll(() => stage.stop());

const deploy = async (
  name: string,
  resourceSpec: object,
  annotations: Record<string, string> = {},
): Promise<void> => {
  const { kube, namespace, see } = stage;
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name, annotations: { note: 'a', ...annotations } },
      template,
    }),
  );
  await see.untilReady(name);
};

type Patch =
  | { op: 'add' | 'replace'; path: string; value: unknown }
  | { op: 'remove'; path: string };
const change = (name: string, ...patch: Patch[]): Promise<unknown> =>
  stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, patch);

type Scaler = KubeObject & {
  spec: { minReplicas: number; maxReplicas: number; scaleTargetRef: { name: string } };
};
const scaler = (name: string): Promise<Scaler | undefined> =>
  stage.kube.find(kinds.autoscaler, { namespace: stage.namespace, name: `${name}-api` }) as Promise<
    Scaler | undefined
  >;

const scaled = async (name: string): Promise<Condition | undefined> =>
  (await stage.see.deployment(name)).status?.conditions?.find(({ type }) => type === 'ApiScaled');

const replicas = async (workload: string): Promise<number> =>
  getReplicas(await stage.see.workload(workload));

/** Changes the size as the autoscaler does, whose field it then is. */
const decide = (workload: string, count: number): Promise<unknown> =>
  stage.kube.patchJson(kinds.workload, { namespace: stage.namespace, name: workload }, [
    { op: 'replace', path: '/spec/replicas', value: count },
  ]);

test('a range gets an autoscaler; without metrics minScale holds, and a condition says so', async () => {
  await deploy('range', { minScale: 2, maxScale: 5, queueMinScale: 1, queueMaxScale: 1 });
  const made = await until('there is an autoscaler', () => scaler('range'));
  expect(made.spec).toMatchObject({
    minReplicas: 2,
    maxReplicas: 5,
    scaleTargetRef: { kind: 'Deployment', name: 'range-00001-api' },
  });
  const said = await until('it says that it gets no figures', async () => {
    const condition = await scaled('range');
    return condition?.reason === 'NoMetrics' && condition;
  });
  expect(said).toMatchObject({
    status: 'False',
    message: expect.stringContaining('minScale applies') as string,
  });
  expect(await replicas('range-00001-api')).toBe(2);
  const { conditions } = (await stage.see.deployment('range')).status ?? {};
  expect(conditions?.find(({ type }) => type === 'FieldsWithoutEffect')?.reason).toBe('NoGateway');
});

test('the number belongs to the autoscaler; a rollout moves it on, and without a range the spec says it again', async () => {
  await deploy('moves', { minScale: 1, maxScale: 4, queueMinScale: 1, queueMaxScale: 1 });
  await until('there is an autoscaler', () => scaler('moves'));
  await decide('moves-00001-api', 3);
  await stage.see.untilReady('moves');
  await change('moves', {
    op: 'add',
    path: '/metadata/annotations/gx.dev~1reconcile-requested-at',
    value: 'now',
  });
  await until(
    'it was looked at',
    async () => (await stage.see.deployment('moves')).status?.lastHandledReconcileAt === 'now',
  );
  expect(await replicas('moves-00001-api')).toBe(3);

  await change('moves', {
    op: 'replace',
    path: '/spec/template/sourceRevisionConfig/imageUri',
    value: 'agent:2',
  });
  await until(
    'the next revision serves',
    async () => (await stage.see.deployment('moves')).status?.activeRevision === 'moves-00002',
  );
  await until(
    'the autoscaler is about it',
    async () => (await scaler('moves'))?.spec.scaleTargetRef.name === 'moves-00002-api',
  );
  await until('the one before is at zero', async () => (await replicas('moves-00001-api')) === 0);
  // As many as served, also once the operator has looked again.
  await change('moves', {
    op: 'add',
    path: '/metadata/annotations/gx.dev~1reconcile-requested-at',
    value: 'again',
  });
  await until(
    'it was looked at',
    async () => (await stage.see.deployment('moves')).status?.lastHandledReconcileAt === 'again',
  );
  expect(await replicas('moves-00002-api')).toBe(3);

  await decide('moves-00002-api', 2);
  await change('moves', {
    op: 'add',
    path: '/metadata/annotations/gx.dev~1reconcile-requested-at',
    value: 'once more',
  });
  await until(
    'it was looked at',
    async () =>
      (await stage.see.deployment('moves')).status?.lastHandledReconcileAt === 'once more',
  );
  expect(await replicas('moves-00002-api')).toBe(2);
  await decide('moves-00002-api', 4);
  await change('moves', { op: 'replace', path: '/spec/template/resourceSpec/maxScale', value: 1 });
  await until('there is none', async () => (await scaler('moves')) === undefined);
  await until(
    'the size is that of the spec',
    async () => (await replicas('moves-00003-api')) === 1,
  );
  await until('nothing is said of it', async () => (await scaled('moves')) === undefined);
});

test('hibernation takes it away, and whoever scales by other means gets none', async () => {
  await deploy('rests', { minScale: 1, maxScale: 3, queueMinScale: 1, queueMaxScale: 1 });
  await until('there is an autoscaler', () => scaler('rests'));
  await change('rests', { op: 'add', path: '/spec/hibernate', value: true });
  await until('there is none', async () => (await scaler('rests')) === undefined);
  await until('no pod is left', async () => (await replicas('rests-00001-api')) === 0);
  await deploy(
    'outside',
    { minScale: 1, maxScale: 3, queueMinScale: 1, queueMaxScale: 1 },
    { 'gx.dev/api-scaling': 'others' },
  );
  expect(await scaler('outside')).toBeUndefined();
  expect(await scaled('outside')).toBeUndefined();
});
