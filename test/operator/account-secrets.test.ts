import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds, type Kind, type KubeObject } from '../../src/kube/kube.ts';
import { newDeployment } from '../kit/objects.ts';
import { openStage, type Stage } from '../kit/stage.ts';

/*
 * Kubernetes gives a pod the pull Secrets of its account only if it names none itself, so those of the installation
 * must not hide them.
 */
let stage: Stage;
beforeAll(async () => {
  stage = await openStage('account-secrets');
  stage.startKubelet();
});
afterAll(() => stage.stop());

const setAccount = (name: string, ...secrets: string[]): Promise<KubeObject> =>
  stage.kube.apply(kinds.serviceAccount, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace: stage.namespace },
    imagePullSecrets: secrets.map((secret) => ({ name: secret })),
  });
type Templated = { spec: { template: { spec: { imagePullSecrets?: { name: string }[] } } } };
const pullsOf = async (kind: Kind, name: string): Promise<string[] | undefined> => {
  const object = await stage.kube.get(kind, { namespace: stage.namespace, name });
  const { imagePullSecrets } = (object as unknown as Templated).spec.template.spec;
  return imagePullSecrets?.map((secret) => secret.name);
};
const create = async (name: string, resourceSpec: object): Promise<void> => {
  const template = { resourceSpec: { redisMemoryMb: 64, ...resourceSpec } };
  await stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, { metadata: { name }, template }),
  );
  await stage.see.untilReady(name);
};
const agentsOf = (name: string) => pullsOf(kinds.workload, `${name}-00001-api`);

test('pods pull with the Secrets of their account and of the installation, and follow both', async () => {
  await setAccount('default', 'of-default');
  await setAccount('robot', 'of-robot', 'mirror');
  const without = await stage.startOperator({ identity: 'without' });
  await create('before', {});
  expect(await agentsOf('before')).toBeUndefined();
  await without.stop();

  await stage.startOperator({ identity: 'with', settings: { imagePullSecrets: ['mirror'] } });
  const both = ['of-default', 'mirror'];
  await expect.poll(() => agentsOf('before')).toEqual(both);
  await create('usual', {});
  await create('robots', { serviceAccountName: 'robot' });
  await create('named', { imagePullSecrets: [{ name: 'own' }] });
  expect(await agentsOf('usual')).toEqual(both);
  expect(await pullsOf(kinds.statefulSet, 'usual-db')).toEqual(both);
  expect(await pullsOf(kinds.statefulSet, 'usual-store')).toEqual(both);
  expect(await agentsOf('robots')).toEqual(['of-robot', 'mirror']);
  expect(await pullsOf(kinds.statefulSet, 'robots-db')).toEqual(both);
  // What a deployment names hides those of its account, as it does in each pod of Kubernetes.
  expect(await agentsOf('named')).toEqual(['own', 'mirror']);

  await setAccount('default', 'renewed');
  await expect.poll(() => agentsOf('usual')).toEqual(['renewed', 'mirror']);
  // A database keeps its pod, and takes it with the next one.
  expect(await pullsOf(kinds.statefulSet, 'usual-db')).toEqual(both);
});
