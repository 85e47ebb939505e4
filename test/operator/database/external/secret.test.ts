import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../../src/kube/kube.ts';
import { conditionOf } from '../../../kit/api-server.ts';
import { until } from '../../../kit/until.ts';
import { newDeployment } from '../../../kit/objects.ts';
import { look } from '../../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../../kit/stage.ts';

let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('external');
  ({ kube, namespace, see } = stage);
});
afterAll(() => stage.stop());

const ADDRESS = 'postgresql://agents:canary@db.example/agents';

const secret = (name: string, stringData: Record<string, string>): Promise<KubeObject> =>
  kube.apply(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    stringData,
  });
const deploy = (name: string, external: object, spec: object = {}): Promise<object> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      spec: { database: { external } as never, ...spec },
    }),
  );
const said = async (name: string) =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'DatabaseReady');
const saysOf = (name: string, status: string, words: string): Promise<true> =>
  until(`the database of ${name} is ${status}: ${words}`, async () => {
    const found = await said(name);
    return found?.status === status && found.message.includes(words);
  });
type PodTemplate = {
  spec: {
    template: {
      metadata: { annotations: Record<string, string> };
      spec: { containers: { env: object[] }[] };
    };
  };
};
const addressOf = async (name: string) => {
  const { spec } = (await see.workload(`${name}-00001-api`)) as unknown as PodTemplate;
  return {
    stamp: spec.template.metadata.annotations['gx.dev/database-address'],
    env: spec.template.spec.containers[0]?.env,
  };
};
const fromSecret = (name: string, key: string) => ({
  name: 'DATABASE_URI',
  valueFrom: { secretKeyRef: { name, key } },
});
const agentPods = async (name: string): Promise<KubeObject[]> => {
  const all = await kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `gx.dev/deployment=${name}`,
  });
  return all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
};
const setReady = async (name: string, status: 'True' | 'False'): Promise<void> => {
  for (const { metadata, status: before } of await agentPods(name)) {
    const { conditions } = before as { conditions: { type: string }[] };
    const changed = conditions.map((known) =>
      ['Ready', 'ContainersReady'].includes(known.type) ? { ...known, status } : known,
    );
    await kube.patchStatus(kinds.pod, { namespace, name: metadata.name }, { conditions: changed });
  }
};

test('an external database: its pods read the address from the Secret, and nothing of a database is made', async () => {
  await secret('managed', { address: ADDRESS });
  await deploy('outside', { secretName: 'managed', key: 'address' });
  await see.untilReady('outside');
  expect(await said('outside')).toMatchObject({ status: 'True', reason: 'External' });
  expect((await addressOf('outside')).env).toContainEqual(fromSecret('managed', 'address'));
  const made = await Promise.all(
    [kinds.statefulSet, kinds.networkPolicy, kinds.volumeClaim, kinds.service, kinds.secret].map(
      (kind) => kube.listAll(kind, { namespace, labelSelector: 'gx.dev/deployment=outside' }),
    ),
  );
  expect(made.flat().map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'NetworkPolicy outside-agent',
    'Service outside-agent',
    'Secret outside-key',
  ]);
});

test('a Secret that is missing, or is no address, is told with a sentence; the rollout begins when it is right', async () => {
  await deploy('early', { secretName: 'later' });
  await saysOf('early', 'False', 'The Secret later of the external database does not exist.');
  await secret('later', { uri: 'canary' });
  await saysOf('early', 'False', 'is not an address');
  expect(JSON.stringify(await see.deployment('early'))).not.toContain('canary');
  await secret('later', { uri: ADDRESS });
  await see.untilReady('early', 40);
});

test('a database that is lost is told by the pods that run on without being ready, and so is its return', async () => {
  await secret('shaky', { uri: ADDRESS });
  await deploy('lost', { secretName: 'shaky' });
  await see.untilReady('lost');
  await setReady('lost', 'False');
  await saysOf('lost', 'False', 'No pod can reach the database that the Secret shaky names');
  const { status } = await see.deployment('lost');
  expect(status?.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
    status: 'False',
    reason: 'DatabaseNotReady',
  });
  await setReady('lost', 'True');
  await see.untilReady('lost');
});

test('another Secret, or another content of it, replaces the pods in turn without a new revision', async () => {
  await secret('first', { uri: ADDRESS });
  await secret('second', { uri: ADDRESS });
  await deploy('moves', { secretName: 'first' });
  await see.untilReady('moves');
  const path = '/spec/database/external/secretName';
  await kube.patchJson(kinds.deployment, { namespace, name: 'moves' }, [
    { op: 'replace', path, value: 'second' },
  ]);
  await until('the pods read the second one', async () => {
    const { env } = await addressOf('moves');
    return JSON.stringify(env).includes('"second"');
  });
  const before = (await addressOf('moves')).stamp;
  await secret('second', { uri: `${ADDRESS}?sslmode=require` });
  const now = { 'gx.dev/reconcile-requested-at': 'now' };
  await kube.patchJson(kinds.deployment, { namespace, name: 'moves' }, [
    { op: 'add', path: '/metadata/annotations', value: now },
  ]);
  await until('the pods are replaced', async () => (await addressOf('moves')).stamp !== before);
  expect((await see.deployment('moves')).status?.latestRevision).toBe('moves-00001');
});

test('a managed database does not become an external one, nor the other way round, and an external one takes no password', async () => {
  await secret('stays', { uri: ADDRESS });
  await deploy('stays', { secretName: 'stays' });
  const change = (name: string, op: object): Promise<object> =>
    kube.patchJson(kinds.deployment, { namespace, name }, [op as never]);
  await expect(change('stays', { op: 'remove', path: '/spec/database' })).rejects.toThrow(
    /database.external: can't be added or removed/,
  );
  await expect(
    change('stays', {
      op: 'add',
      path: '/spec/database/passwordRequestedAt',
      value: '2026-01-01T00:00:00Z',
    }),
  ).rejects.toThrow(/database.passwordRequestedAt: only for a managed database/);
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'own' } }));
  const external = { external: { secretName: 'stays' } };
  await expect(
    change('own', { op: 'add', path: '/spec/database', value: external }),
  ).rejects.toThrow(/can't be added or removed/);
});

test('sizes of an own database are told to be without effect, and deletion leaves the Secret alone', async () => {
  await secret('kept', { uri: ADDRESS });
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name: 'leaves' },
      template: { resourceSpec: { dbMemoryMb: 512, dbMaxConnections: 50 } },
      spec: { database: { external: { secretName: 'kept' } }, deletionPolicy: 'Delete' },
    }),
  );
  await see.untilReady('leaves');
  const told = (await see.deployment('leaves')).status?.conditions?.find(
    ({ type }) => type === 'FieldsWithoutEffect',
  );
  expect(told?.message).toContain('dbMemoryMb');
  expect(told?.message).not.toContain('dbMaxConnections');
  await kube.delete(kinds.deployment, { namespace, name: 'leaves' });
  await until(
    'the deployment is gone',
    async () =>
      conditionOf(await see.deployment('leaves').catch(() => ({})), 'Ready') === undefined,
  );
  expect((await see.secret('kept')).metadata.name).toBe('kept');
});
