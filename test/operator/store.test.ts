import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds, type KubeObject } from '../../src/kube/kube.ts';
import { newDeployment } from '../kit/objects.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

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
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec: { redisMemoryMb: 64 } };
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'chat' }, template }));
  await see.untilReady('chat');
  expect(await ofStore()).not.toContain(undefined);
  const secret = await see.secret('chat-store');
  const { password = '', uri = '' } = secret.data ?? {};
  expect(Buffer.from(password, 'base64').toString()).toMatch(/^[\w-]{32}$/);
  expect(Buffer.from(uri, 'base64').toString()).toContain(`@chat-store.${namespace}.svc.cluster.local:6379`);
  const env = (await agentOf('chat-00001')).env.find(({ name }) => name === 'GX_REDIS_URI');
  expect(env?.valueFrom).toEqual({ secretKeyRef: { name: 'chat-store', key: 'uri', optional: true } });
  const ready = await until('the store is ready', async () =>
    (await see.deployment('chat')).status?.conditions?.find(({ type, status }) => type === 'StoreReady' && status === 'True'),
  );
  expect(ready.reason).toBe('StoreReady');
  const { status } = await see.deployment('chat');
  expect(status?.storeSecret).toBe('chat-store');
  expect(status?.conditions?.find(({ type }) => type === 'FieldsWithoutEffect')?.reason).toBe('NoGateway');

  const gone = [{ op: 'remove' as const, path: '/spec/template/resourceSpec/redisMemoryMb' }];
  await kube.jsonPatch(kinds.deployment, { namespace, name: 'chat' }, gone);
  await until('nothing of the store is left', async () => (await ofStore()).every((object) => object === undefined));
  await until('the status names none', async () => {
    const now = (await see.deployment('chat')).status;
    return now?.storeSecret === undefined && now?.conditions?.every(({ type }) => type !== 'StoreReady') === true;
  });
});

test('a store goes with its deployment', async () => {
  const { kube, namespace, see } = stage;
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec: { redisMemoryMb: 64 } };
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'gone' }, template }));
  await see.untilReady('gone');
  await kube.delete(kinds.deployment, { namespace, name: 'gone' });
  await until('the deployment is gone', async () => (await find('deployment', 'gone')) === undefined);
  for (const kind of ['statefulSet', 'secret', 'service'] as const) expect(await find(kind, 'gone-store')).toBeUndefined();
});
