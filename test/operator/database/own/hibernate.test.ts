import { afterAll, beforeAll, expect, test } from 'vitest';
import { getDeploymentStatus } from '../../../../src/control-plane/deployments/resource.ts';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube } from '../../../../src/kube/kube.ts';
import type { DeploymentResource } from '../../../../src/schema/platform/resources/custom-resources.ts';
import { names } from '../../../../src/schema/names.ts';
import { until } from '../../../kit/until.ts';
import { newDeployment } from '../../../kit/objects.ts';
import { look } from '../../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../../kit/stage.ts';

/* Hibernation on a real API server: what stops, what stays, and what a person reads meanwhile. */
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('hibernate');
  ({ kube, namespace, see } = stage);
});
afterAll(() => stage.stop());

const hibernate = (name: string, value: boolean): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/hibernate', value },
  ]);

const conditionsOf = ({ status }: DeploymentResource): Record<string, string> =>
  Object.fromEntries(
    (status?.conditions ?? []).map(({ type, status: said, reason }) => [type, `${said} ${reason}`]),
  );

const pods = (name: string) =>
  kube.listAll(kinds.pod, { namespace, labelSelector: `gx.dev/deployment=${name}` });

const untilAsleep = (name: string): Promise<true> =>
  until(
    `${name} hibernates`,
    async () => conditionsOf(await see.deployment(name)).Ready === 'True Hibernated',
  );

test('a deployment that hibernates has no pod, keeps its data and its revision, and wakes as it was', async () => {
  await kube.create(kinds.deployment, newDeployment(namespace));
  await see.untilReady('chat');
  const claims = await kube.listAll(kinds.volumeClaim, { namespace });
  await hibernate('chat', true);
  await untilAsleep('chat');
  expect(await pods('chat')).toEqual([]);
  const asleep = await see.deployment('chat');
  expect(conditionsOf(asleep)).toMatchObject({
    Serving: 'False Hibernated',
    DatabaseReady: 'False Hibernated',
  });
  expect(conditionsOf(asleep)).not.toHaveProperty('Reconciling');
  expect(asleep.status).toMatchObject({
    phase: 'UNUSED',
    activeRevision: 'chat-00001',
    observedGeneration: asleep.metadata.generation,
  });
  expect(getDeploymentStatus(asleep)).toBe('UNUSED');
  expect((await see.revision('chat-00001')).status?.phase).toBe('DEPLOYED');
  expect(await kube.listAll(kinds.volumeClaim, { namespace })).toHaveLength(claims.length);
  expect(
    (await kube.get(kinds.statefulSet, { namespace, name: names.database('chat') })).spec,
  ).toMatchObject({ replicas: 0 });

  await hibernate('chat', false);
  await see.untilReady('chat');
  expect((await see.deployment('chat')).status).toMatchObject({
    phase: 'READY',
    latestRevision: 'chat-00001',
    activeRevision: 'chat-00001',
  });
  expect(await kube.listAll(kinds.revision, { namespace })).toHaveLength(1);
  const reasons = async () =>
    (await kube.listAll(kinds.event, { namespace })).map(
      (event) => (event as unknown as { reason: string }).reason,
    );
  await expect
    .poll(reasons)
    .toEqual(expect.arrayContaining(['Hibernating', 'Hibernated', 'Serving']));
});

test('a rollout that is asked for meanwhile waits, and begins when the deployment wakes', async () => {
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'late' }, spec: { hibernate: true } }),
  );
  await untilAsleep('late');
  await until(
    'the revision says why it waits',
    async () => (await see.revision('late-00001')).status?.reason === 'Hibernated',
  );
  expect((await see.revision('late-00001')).status?.phase).toBe('QUEUED');
  expect(await pods('late')).toEqual([]);
  await kube.patchJson(kinds.deployment, { namespace, name: 'late' }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'agent:2' },
  ]);
  await see.untilPhase('late-00001', 'SKIPPED');
  await see.untilPhase('late-00002', 'QUEUED');
  await hibernate('late', false);
  await see.untilReady('late');
  expect((await see.deployment('late')).status).toMatchObject({
    phase: 'READY',
    activeRevision: 'late-00002',
  });
});

test('a pod that a node gave up, which stays in the list, does not keep the deployment awake', async () => {
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'evicted' } }));
  await see.untilReady('evicted');
  const agents = (await pods('evicted')).filter(
    ({ metadata }) => metadata.labels?.['gx.dev/component'] === 'api',
  );
  const lost = agents[0]?.metadata.name ?? '';
  const conditions = [{ type: 'Ready', status: 'False' }];
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: lost },
    { phase: 'Failed', reason: 'Evicted', message: 'low on memory', conditions },
  );
  await until('another took its place', async () => (await pods('evicted')).length === 4);
  await see.untilReady('evicted');
  await hibernate('evicted', true);
  await untilAsleep('evicted');
  expect((await pods('evicted')).map(({ metadata }) => metadata.name)).toEqual([lost]);
});
