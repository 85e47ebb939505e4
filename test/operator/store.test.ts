import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { newDeployment } from '../kit/objects.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { still, until } from '../kit/until.ts';

/* The key-value store of a deployment, for its streams. */

let stage: OperatedStage;

beforeAll(async () => {
  stage = await setStage('store');
});
afterAll(() => stage.stop());

const find = (kind: keyof typeof kinds, name: string): Promise<KubeObject | undefined> =>
  stage.kube.find(kinds[kind], { namespace: stage.namespace, name });
const ofStore = async (): Promise<(KubeObject | undefined)[]> => [
  await find('statefulSet', 'chat-store'),
  await find('service', 'chat-store'),
  await find('networkPolicy', 'chat-store'),
  await find('secret', 'chat-store'),
];

type Container = { env: { name: string; valueFrom?: object }[] };
const agentOf = async (revision: string): Promise<Container> => {
  const { spec } = await stage.see.workload(`${revision}-queue`);
  return (spec as { template: { spec: { containers: Container[] } } }).template.spec.containers[0]!;
};

test('a deployment gets a store with a password of its own, tells its agents, and loses it with the setting', async () => {
  const { kube, namespace, see } = stage;
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { redisMemoryMb: 64 },
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'chat' }, template }),
  );
  await see.untilReady('chat');
  expect(await ofStore()).not.toContain(undefined);
  const secret = await see.secret('chat-store');
  const { password = '', uri = '' } = secret.data ?? {};
  expect(Buffer.from(password, 'base64').toString()).toMatch(/^[\w-]{32}$/);
  expect(Buffer.from(uri, 'base64').toString()).toContain(
    `@chat-store.${namespace}.svc.cluster.local:6379`,
  );
  const env = (await agentOf('chat-00001')).env.find(({ name }) => name === 'GX_REDIS_URI');
  expect(env?.valueFrom).toEqual({
    secretKeyRef: { name: 'chat-store', key: 'uri', optional: true },
  });
  const ready = await until('the store is ready', async () =>
    (await see.deployment('chat')).status?.conditions?.find(
      ({ type, status }) => type === 'StoreReady' && status === 'True',
    ),
  );
  expect(ready.reason).toBe('StoreReady');
  const { status } = await see.deployment('chat');
  expect(status?.storeSecret).toBe('chat-store');
  expect(status?.conditions?.find(({ type }) => type === 'FieldsWithoutEffect')?.reason).toBe(
    'NoGateway',
  );

  const gone = [{ op: 'remove' as const, path: '/spec/template/resourceSpec/redisMemoryMb' }];
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, gone);
  await until('nothing of the store is left', async () =>
    (await ofStore()).every((object) => object === undefined),
  );
  await until('the status names none', async () => {
    const now = (await see.deployment('chat')).status;
    return (
      now?.storeSecret === undefined &&
      now?.conditions?.every(({ type }) => type !== 'StoreReady') === true
    );
  });
});

test('a store goes with its deployment', async () => {
  const { kube, namespace, see } = stage;
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { redisMemoryMb: 64 },
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'gone' }, template }),
  );
  await see.untilReady('gone');
  await kube.delete(kinds.deployment, { namespace, name: 'gone' });
  await until(
    'the deployment is gone',
    async () => (await find('deployment', 'gone')) === undefined,
  );
  for (const kind of ['statefulSet', 'secret', 'service'] as const)
    expect(await find(kind, 'gone-store')).toBeUndefined();
});

describe('an operator with another image', () => {
  const name = 'kept';
  const path = '/spec/template/spec/containers/0/image';
  type Containers = {
    template: {
      spec: { containers: { image: string; resources: { limits: { memory: string } } }[] };
    };
  };
  const ref = () => ({ namespace: stage.namespace, name: `${name}-store` });
  const first = async () =>
    ((await stage.kube.get(kinds.statefulSet, ref())).spec as Containers).template.spec
      .containers[0]!;
  const images = { storeImage: 'gx-valkey:next', imagePullPolicy: 'Never' as const };
  let asked = 0;

  /** Waits until the present operator has looked at the deployment, and the store is as it stays. */
  async function looked(): Promise<void> {
    asked += 1;
    const annotations = { 'gx.dev/reconcile-requested-at': String(asked) };
    const patch = [{ op: 'add' as const, path: '/metadata/annotations', value: annotations }];
    await stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, patch);
    await until(
      'it has looked',
      async () =>
        (await stage.see.deployment(name)).status?.lastHandledReconcileAt === String(asked),
    );
    await still('the store', first);
  }

  beforeAll(async () => {
    const template = {
      sourceRevisionConfig: { imageUri: 'agent:1' },
      resourceSpec: { redisMemoryMb: 64 },
    };
    await stage.kube.create(
      kinds.deployment,
      newDeployment(stage.namespace, { metadata: { name }, template }),
    );
    await stage.see.untilReady(name);
    await until(
      'the status has its form',
      async () => (await stage.see.deployment(name)).status?.storeTemplate,
    );
    await stage.operator.stop();
  });

  test('leaves the pod of a store as it is, and that of the first version, too', async () => {
    const before = await first();
    const newer = await stage.startOperator({ identity: 'newer', settings: images });
    await looked();
    expect(await first()).toEqual(before);
    await newer.stop();
    // The first version wrote neither.
    const { kube, namespace } = stage;
    await kube.patchJson(kinds.statefulSet, ref(), [
      { op: 'remove', path: '/metadata/annotations/gx.dev~1template' },
    ]);
    await kube.patchStatus(kinds.deployment, { namespace, name }, { storeTemplate: null });
    await stage.startOperator({ identity: 'newest', settings: images });
    await looked();
    expect(await first()).toEqual(before);
  });

  test("makes the pod by today's settings when somebody else has changed it, and when another size is asked for", async () => {
    await stage.kube.patchJson(kinds.statefulSet, ref(), [
      { op: 'replace', path, value: 'foreign:1' },
    ]);
    await until('the change is undone', async () => (await first()).image === images.storeImage);
    await stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
      { op: 'replace', path: '/spec/template/resourceSpec/redisMemoryMb', value: 96 },
    ]);
    await until('it has its size', async () => (await first()).resources.limits.memory === '96Mi');
    expect((await first()).image).toBe(images.storeImage);
  });
});
