import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../../src/kube/kube.ts';
import { names } from '../../../../src/schema/names.ts';
import { newDeployment, settings } from '../../../kit/objects.ts';
import { look, type RunningOperator } from '../../../kit/operator.ts';
import { openStage, type Stage } from '../../../kit/stage.ts';
import { until } from '../../../kit/until.ts';

/* How many connections a live database accepts, and what share of them later pods get. */
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('connections');
  ({ kube, namespace, see } = stage);
  stage.startKubelet();
  operator = await stage.startOperator({ identity: 'first' });
});
afterAll(() => stage.stop());

/** Another operator leads, with this default of the installation and another image of databases. */
async function withDefault(maxConnections: number): Promise<void> {
  await operator.stop();
  const { profile } = settings();
  operator = await stage.startOperator({
    identity: `default-${maxConnections}`,
    settings: {
      databaseImage: 'gx-postgres:18',
      profile: { ...profile, database: { ...profile.database, maxConnections } },
    },
  });
}

type PodSpec = {
  containers: { image: string; args?: string[]; env?: { name: string; value?: string }[] }[];
};
type Templated = { template: { spec: PodSpec } };

const set = (name: string): Promise<KubeObject> =>
  kube.get(kinds.statefulSet, { namespace, name: names.database(name) });
const pod = (name: string): Promise<KubeObject> =>
  kube.get(kinds.pod, { namespace, name: `${names.database(name)}-0` });
const postgresOf = ({ spec }: KubeObject) => (spec as Templated).template.spec.containers[0];
const argumentOf = (object: KubeObject, name: string): string | undefined =>
  postgresOf(object)
    ?.args?.find((argument) => argument.startsWith(`${name}=`))
    ?.slice(name.length + 1);

/** Returns the connections of one pod of the revision. The api and queue pods get the same number. */
async function perPod(revision: string): Promise<number> {
  const workloads = await Promise.all(
    [names.apiWorkload(revision), names.queueWorkload(revision)].map(see.workload),
  );
  const values = workloads.map(
    (one) =>
      postgresOf(one)?.env?.find(({ name }) => name === 'GX_POSTGRES_MAX_CONNECTIONS')?.value,
  );
  expect(values[0]).toBe(values[1]);
  return Number(values[0]);
}

async function deployed(name: string, resourceSpec: object = {}): Promise<void> {
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, template: { resourceSpec } }),
  );
  await see.untilReady(name);
}

async function ask(name: string, resourceSpec: object, revision: string): Promise<void> {
  await kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/template/resourceSpec', value: resourceSpec },
  ]);
  await see.untilPhase(revision, 'DEPLOYED', 60);
  await see.untilReady(name);
}

test('pods share out what the live database takes, whatever the default of the installation is by then', async () => {
  await deployed('settled');
  const before = await set('settled');
  expect([argumentOf(before, 'max_connections'), await perPod('settled-00001')]).toEqual([
    '100',
    22,
  ]);
  await withDefault(400);
  await ask('settled', { labels: { team: 'research' } }, 'settled-00002');
  expect(await perPod('settled-00002')).toBe(22);
  await ask('settled', { minScale: 2 }, 'settled-00003');
  expect(await perPod('settled-00003')).toBe((100 - 10) / 8 - 0.25);
  expect((await set('settled')).metadata).toMatchObject({
    uid: before.metadata.uid,
    generation: before.metadata.generation,
  });
});

test('a live database restarts once, with as many connections as more pods need, and changes in nothing else', async () => {
  await deployed('scaled');
  const [before, running] = [await set('scaled'), await pod('scaled')];
  expect(argumentOf(before, 'max_connections')).toBe('400');
  await withDefault(50);
  // Today's default for these pods is 10 + 2 x 42 x 5, which is also what they need.
  await ask('scaled', { minScale: 21 }, 'scaled-00002');
  const after = await set('scaled');
  expect(argumentOf(after, 'max_connections')).toBe('430');
  expect(await perPod('scaled-00002')).toBe(5);
  expect(postgresOf(after)).toEqual({
    ...postgresOf(before),
    args: postgresOf(before)?.args?.map((argument) =>
      argument === 'max_connections=400' ? 'max_connections=430' : argument,
    ),
  });
  expect(after.metadata).toMatchObject({
    uid: before.metadata.uid,
    generation: before.metadata.generation! + 1,
  });
  expect((await pod('scaled')).metadata.uid).not.toBe(running.metadata.uid);
  // Fewer pods share the connections that the database accepts by now.
  await ask('scaled', { minScale: 3 }, 'scaled-00003');
  expect(await perPod('scaled-00003')).toBe((430 - 10) / 12);
  expect((await set('scaled')).metadata.generation).toBe(after.metadata.generation);
}, 180_000);

test('a number that the spec gives is taken up first, then shared out', async () => {
  await deployed('given', { dbMaxConnections: 200 });
  const running = await pod('given');
  expect(await perPod('given-00001')).toBe(44);
  await ask('given', { dbMaxConnections: 60 }, 'given-00002');
  expect([argumentOf(await set('given'), 'max_connections'), await perPod('given-00002')]).toEqual([
    '60',
    12,
  ]);
  expect((await pod('given')).metadata.uid).not.toBe(running.metadata.uid);
});

test('pods that need more are not made before the database has restarted', async () => {
  await deployed('held', { minScale: 0, queueMinScale: 1 });
  // The controller of sets seems to be away: the set has another number, but its pod is still the former one.
  const { metadata, spec } = await set('held');
  const held = { ...(spec as object), updateStrategy: { type: 'OnDelete' } };
  await kube.patchJson(kinds.statefulSet, { namespace, name: metadata.name }, [
    { op: 'replace', path: '/spec', value: held },
  ]);
  await kube.patchJson(kinds.deployment, { namespace, name: 'held' }, [
    { op: 'add', path: '/spec/template/resourceSpec', value: { minScale: 6, queueMinScale: 1 } },
  ]);
  await until(
    'the set has the number',
    async () => argumentOf(await set('held'), 'max_connections') === '80',
  );
  await until(
    'the revision says what it waits for',
    async () =>
      (await see.revision('held-00002')).status?.message?.includes(
        'restarts to take as many connections',
      ) === true,
  );
  expect(
    (await kube.listAll(kinds.workload, { namespace })).filter((one) =>
      one.metadata.name.startsWith('held-00002'),
    ),
  ).toEqual([]);
  await kube.delete(kinds.pod, { namespace, name: (await pod('held')).metadata.name });
  await see.untilPhase('held-00002', 'DEPLOYED', 60);
  expect(await perPod('held-00002')).toBe(5);
});
