import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { isRolledOut } from '../../src/operator/pods/workload-state.ts';
import { names } from '../../src/schema/names.ts';
import { until } from '../kit/until.ts';
import { newDeployment } from '../kit/objects.ts';
import { untilIdle } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';

/* Nothing is heard of the database until the test says that it is ready. */
let stage: OperatedStage;

beforeAll(async () => {
  stage = await setStage('side-by-side', { settings: { databaseImage: 'silent:1' } });
});
afterAll(() => stage.stop());

const apply = async (name: string, image: string): Promise<void> => {
  const { kube, namespace } = stage;
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name }, image }));
  await until('its database has a pod', async () => (await databasePod(name)) !== undefined);
};

const databasePod = async (name: string): Promise<KubeObject | undefined> =>
  (await stage.kube.listAll(kinds.pod, { namespace: stage.namespace })).find(
    ({ metadata }) => metadata.name === `${names.database(name)}-0`,
  );

const databaseAnswers = (name: string): Promise<object> => {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: now }];
  const { kube, namespace } = stage;
  return kube.patchStatus(
    kinds.pod,
    { namespace, name: `${names.database(name)}-0` },
    { phase: 'Running', startTime: now, conditions },
  );
};

const endedPods = async (): Promise<KubeObject[]> =>
  (await stage.kube.listAll(kinds.pod, { namespace: stage.namespace })).filter(({ status }) =>
    JSON.stringify(status).includes('CrashLoopBackOff'),
  );

const said = async (name: string): Promise<unknown[]> => {
  const { phase, reason } = (await stage.see.revision(name)).status ?? {};
  return [phase, reason];
};

test('the first pods start beside their database, and serve once it answers', async () => {
  const { see, operator } = stage;
  await apply('early', 'agent:1');
  for (const workload of [names.apiWorkload('early-00001'), names.queueWorkload('early-00001')])
    await until(`the pods of ${workload} are there`, async () =>
      isRolledOut(await see.workload(workload)),
    );
  await untilIdle(operator);
  expect(await said('early-00001')).toEqual(['AWAITING_DEPLOY', 'DatabaseNotReady']);
  expect((await see.deployment('early')).status).toMatchObject({ phase: 'AWAITING_DATABASE' });
  await databaseAnswers('early');
  await see.untilReady('early');
  await see.untilPhase('early-00001', 'DEPLOYED');
  expect((await see.deployment('early')).status).toMatchObject({
    phase: 'READY',
    activeRevision: 'early-00001',
  });
});

test('pods that cannot start say so while their database is still on its way', async () => {
  await apply('wrong', 'missing:1');
  await until('it is told', async () => (await said('wrong-00001'))[1] === 'ImagePullFailed');
  expect((await databasePod('wrong'))?.status).toMatchObject({ phase: 'Pending' });
});

test('pods that end without their database are not blamed for it, and are when they end with it', async () => {
  await apply('broken', 'crash:1');
  const { operator, see } = stage;
  await until('its pods have ended', async () => (await endedPods()).length === 2);
  await untilIdle(operator);
  expect(await said('broken-00001')).toEqual(['AWAITING_DEPLOY', 'DatabaseNotReady']);
  await databaseAnswers('broken');
  await see.untilPhase('broken-00001', 'DEPLOY_FAILED');
  expect(await said('broken-00001')).toEqual(['DEPLOY_FAILED', 'CrashLooping']);
});
