import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
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
const create = (name: string, image: string, resourceSpec: object = {}): Promise<KubeObject> =>
  stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, {
      metadata: { name },
      image,
      template: {
        sourceRevisionConfig: { imageUri: image },
        resourceSpec: { redisMemoryMb: 64, ...resourceSpec },
      },
    }),
  );
const agentsOf = (name: string) => pullsOf(kinds.workload, `${name}-00001-api`);

test('pods pull with the Secrets of their account and of the installation', async () => {
  await setAccount('default', 'of-default');
  await setAccount('robot', 'of-robot', 'mirror');
  const without = await stage.startOperator({ identity: 'without' });
  await create('before', 'agent:1');
  await stage.see.untilReady('before');
  expect(await agentsOf('before')).toBeUndefined();
  await without.stop();

  await stage.startOperator({ identity: 'with', settings: { imagePullSecrets: ['mirror'] } });
  const both = ['of-default', 'mirror'];
  await create('usual', 'agent:1');
  await create('robots', 'agent:1', { serviceAccountName: 'robot' });
  await create('waiting', 'mute:1');
  for (const name of ['usual', 'robots']) await stage.see.untilReady(name);
  expect(await agentsOf('usual')).toEqual(both);
  expect(await pullsOf(kinds.statefulSet, 'usual-db')).toEqual(both);
  expect(await pullsOf(kinds.statefulSet, 'usual-store')).toEqual(both);
  expect(await agentsOf('robots')).toEqual(['of-robot', 'mirror']);
  expect(await pullsOf(kinds.statefulSet, 'robots-db')).toEqual(both);
  // An upgrade restarts nothing.
  expect(await agentsOf('before')).toBeUndefined();
});

test('a revision under way follows its account, and pods that serve stay as they are', async () => {
  await expect.poll(() => agentsOf('waiting').catch(String)).toEqual(['of-default', 'mirror']);
  await setAccount('default', 'renewed');
  await expect.poll(() => agentsOf('waiting')).toEqual(['renewed', 'mirror']);
  expect(await agentsOf('usual')).toEqual(['of-default', 'mirror']);
  expect(await pullsOf(kinds.statefulSet, 'usual-db')).toEqual(['of-default', 'mirror']);
  await create('later', 'agent:1');
  await stage.see.untilReady('later');
  expect(await agentsOf('later')).toEqual(['renewed', 'mirror']);
});
