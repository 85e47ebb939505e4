import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../../../src/kube/kube.ts';
import { names } from '../../../../src/schema/names.ts';
import { conditionOf } from '../../../kit/api-server.ts';
import { openStage, type Stage } from '../../../kit/stage.ts';
import { until } from '../../../kit/until.ts';
import { dyingDoor, type DyingDoor } from '../../../kit/dying-door.ts';
import { newDeployment, settings } from '../../../kit/objects.ts';
import { look, untilIdle, type RunningOperator } from '../../../kit/operator.ts';

/* There is no volume provisioner, so the test itself reports to the API server that claims are bound. */
const storageClass: Kind = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
};
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('volume');
  ({ kube, namespace, see } = stage);
  stage.startKubelet();
  const { apiVersion, kind } = storageClass;
  await kube.apply(storageClass, {
    apiVersion,
    kind,
    metadata: { name: namespace },
    provisioner: 'test',
    allowVolumeExpansion: true,
  });
  operator = await stage.startOperator({ settings: { storageClass: namespace } });
});
afterAll(async () => {
  await kube.delete(storageClass, { name: namespace });
  await stage.stop();
});

const claim = async (name: string): Promise<KubeObject> => {
  const all = await kube.listAll(kinds.volumeClaim, { namespace });
  return all.find(({ metadata }) =>
    metadata.name.endsWith(`${names.database(name)}-0`),
  ) as KubeObject;
};
const set = (name: string): Promise<KubeObject> =>
  kube.get(kinds.statefulSet, { namespace, name: names.database(name) });
const databasePod = (name: string): Promise<KubeObject> =>
  kube.get(kinds.pod, { namespace, name: `${names.database(name)}-0` });
const requested = ({ spec }: KubeObject): string =>
  (spec as { resources: { requests: { storage: string } } }).resources.requests.storage;
const templateOf = ({ spec }: KubeObject): string =>
  requested((spec as { volumeClaimTemplates: KubeObject[] }).volumeClaimTemplates[0] as KubeObject);

async function deployed(name: string, resourceSpec: object = { dbStorageGi: 10 }): Promise<void> {
  const given = {
    metadata: { name },
    template: { resourceSpec },
    spec: { deletionPolicy: 'Delete' as const },
  };
  await kube.create(kinds.deployment, newDeployment(namespace, given));
  await see.untilReady(name);
  const { metadata } = await claim(name);
  await kube.patchStatus(kinds.volumeClaim, { namespace, name: metadata.name }, { phase: 'Bound' });
}

type Told = { regarding?: { name: string }; type?: string; reason?: string };
/** The event comes once. What stays as it is is not reported again. */
const untilEvent = (name: string, type: string, reason: string): Promise<true> =>
  until(`one event of ${name} says ${reason}`, async () => {
    const all = (await kube.listAll(kinds.event, { namespace })) as Told[];
    return (
      all.filter(
        (told) => told.regarding?.name === name && told.type === type && told.reason === reason,
      ).length === 1
    );
  });

const ask = (name: string, gibibytes: number): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'replace', path: '/spec/template/resourceSpec/dbStorageGi', value: gibibytes },
  ]);

test('a database that is asked to be larger grows while its pod runs, and is never made smaller', async () => {
  await deployed('grows');
  const [pod, before] = [await databasePod('grows'), await set('grows')];
  await ask('grows', 20);
  await until('the set is made again', async () => templateOf(await set('grows')) === '20Gi');
  await see.untilReady('grows');
  expect(requested(await claim('grows'))).toBe('20Gi');
  expect((await set('grows')).metadata.uid).not.toBe(before.metadata.uid);
  expect((await databasePod('grows')).metadata.uid).toBe(pod.metadata.uid);
  await until(
    'the condition is gone',
    async () => conditionOf(await see.deployment('grows'), 'VolumeGrown') === undefined,
  );
  await ask('grows', 5);
  await until('it is told', async () => {
    const { status } = await see.deployment('grows');
    return (
      status?.conditions?.some(
        ({ type, reason, message }) =>
          type === 'VolumeGrown' && reason === 'NeverShrinks' && message.includes('dbStorageGi: '),
      ) === true
    );
  });
  expect(requested(await claim('grows'))).toBe('20Gi');
  await untilEvent('grows', 'Normal', 'Growing');
  await untilEvent('grows', 'Warning', 'NeverShrinks');
});

/** Sets the installation's default volume while an operator of this identity works. */
async function withDefault(storageGi: number, identity: string): Promise<void> {
  await operator.stop();
  const { profile } = settings();
  const database = { ...profile.database, storageGi };
  const given = { storageClass: namespace, profile: { ...profile, database } };
  operator = await stage.startOperator({ identity, settings: given });
}

/** Waits until the present operator has looked at the deployment on request. */
async function lookedAt(name: string, request: string): Promise<void> {
  const annotations = { 'gx.dev/reconcile-requested-at': request };
  await kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/metadata/annotations', value: annotations },
  ]);
  await until(
    'it has looked',
    async () => (await see.deployment(name)).status?.lastHandledReconcileAt === request,
  );
  await untilIdle(operator);
}

test('a live database keeps the default that it was made with, whatever the default of the installation becomes', async () => {
  await deployed('settled', {});
  const [pod, before, volume] = [
    await databasePod('settled'),
    await set('settled'),
    await claim('settled'),
  ];
  expect(requested(volume)).toBe('10Gi');
  for (const [storageGi, identity] of [
    [20, 'raised'],
    [5, 'lowered'],
  ] as const) {
    await withDefault(storageGi, identity);
    await lookedAt('settled', identity);
    expect(requested(await claim('settled'))).toBe('10Gi');
    expect(conditionOf(await see.deployment('settled'), 'VolumeGrown')).toBeUndefined();
    expect((await set('settled')).metadata).toMatchObject({
      uid: before.metadata.uid,
      generation: before.metadata.generation,
    });
    expect((await databasePod('settled')).metadata.uid).toBe(pod.metadata.uid);
  }
  await deployed('fresh', {});
  expect(requested(await claim('fresh'))).toBe('5Gi');
  // A requested size is compared with the volume itself.
  await kube.patchJson(kinds.deployment, { namespace, name: 'settled' }, [
    { op: 'add', path: '/spec/template/resourceSpec', value: { dbStorageGi: 12 } },
  ]);
  await until('the set is made again', async () => templateOf(await set('settled')) === '12Gi');
  expect(requested(await claim('settled'))).toBe('12Gi');
  await withDefault(10, 'as-before');
});

test('a set that somebody deleted comes back with the size of its claim, whatever the default is by then', async () => {
  // The set of its key-value store has no volume.
  await deployed('remade', { redisMemoryMb: 64 });
  await withDefault(20, 'remaking');
  await kube.delete(kinds.statefulSet, { namespace, name: names.database('remade') });
  await until('the set is made again', () => set('remade').then(templateOf, () => undefined));
  await see.untilReady('remade');
  expect(templateOf(await set('remade'))).toBe('10Gi');
  await kube.patchJson(kinds.deployment, { namespace, name: 'remade' }, [
    { op: 'add', path: '/spec/template/resourceSpec', value: { dbStorageGi: 20 } },
  ]);
  await until('the volume grows', async () => requested(await claim('remade')) === '20Gi');
  await withDefault(10, 'after-remaking');
});

test.each([0, 1, 2, 3])(
  'an operator that dies after write %i of a growth leaves the rest to the next one',
  async (writes) => {
    const name = `dies-${writes}`;
    await deployed(name);
    const pod = await databasePod(name);
    await operator.stop();
    let door: DyingDoor | undefined;
    const times = { lease: { duration: 3, renewDeadline: 2.4, retry: 0.2 } };
    const given = { settings: { storageClass: namespace }, times };
    await ask(name, 20);
    const dying = await stage.startOperator({
      ...given,
      identity: `dying-${writes}`,
      through: (through) => (door = dyingDoor(through, writes)).kube,
    });
    await until('it is dead', () => door?.isDead() === true);
    await dying.stop();
    operator = await stage.startOperator({ ...given, identity: `after-${writes}` });
    await until('the set is made again', async () => templateOf(await set(name)) === '20Gi');
    await see.untilReady(name);
    expect(requested(await claim(name))).toBe('20Gi');
    expect((await databasePod(name)).metadata.uid).toBe(pod.metadata.uid);
  },
);

test('a deployment deleted while its set is away goes together with the lost pod', async () => {
  await deployed('lost');
  await operator.stop();
  await kube.delete(
    kinds.statefulSet,
    { namespace, name: names.database('lost') },
    { propagation: 'Orphan' },
  );
  await until(
    'the pod has no owner',
    async () => (await databasePod('lost')).metadata.ownerReferences === undefined,
  );
  await kube.delete(kinds.deployment, { namespace, name: 'lost' });
  operator = await stage.startOperator({ identity: 'two', settings: { storageClass: namespace } });
  await until('the deployment is gone', async () =>
    (await kube.listAll(kinds.deployment, { namespace })).every(
      ({ metadata }) => metadata.name !== 'lost',
    ),
  );
  const pods = await kube.listAll(kinds.pod, { namespace });
  expect(pods.filter(({ metadata }) => metadata.name.startsWith(names.database('lost')))).toEqual(
    [],
  );
});

test('a storage class that does not grow volumes leaves the database alone, and the condition names the field', async () => {
  await deployed('fixed');
  const before = await set('fixed');
  const off = [{ op: 'replace' as const, path: '/allowVolumeExpansion', value: false }];
  await kube.patchJson(storageClass, { name: namespace }, off);
  // The admission plugin reads storage classes from a cache of its own.
  const { metadata } = await claim('fixed');
  const larger = [
    { op: 'replace' as const, path: '/spec/resources/requests/storage', value: '20Gi' },
  ];
  await until('the API server refuses growth', () =>
    kube
      .patchJson(kinds.volumeClaim, { namespace, name: metadata.name }, larger, { dryRun: true })
      .then(
        () => false,
        () => true,
      ),
  );
  await ask('fixed', 20);
  await until(
    'it is told',
    async () => conditionOf(await see.deployment('fixed'), 'VolumeGrown') === 'False',
  );
  const told = (await see.deployment('fixed')).status?.conditions?.find(
    ({ type }) => type === 'VolumeGrown',
  );
  expect(told).toMatchObject({
    reason: 'NotExpandable',
    message: expect.stringContaining('dbStorageGi'),
  });
  await see.untilReady('fixed');
  await untilEvent('fixed', 'Warning', 'NotExpandable');
  expect(requested(await claim('fixed'))).toBe('10Gi');
  expect((await set('fixed')).metadata.uid).toBe(before.metadata.uid);
});
