import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../../../../src/kube/kube.ts';
import { until } from '../../../../../kit/until.ts';
import { newDeployment } from '../../../../../kit/objects.ts';
import { look, type RunningOperator } from '../../../../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../../../../kit/stage.ts';

/* The doubles of the kubelet let the Jobs succeed. Other tests prove on a real Postgres what the Jobs do. */
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('password');
  ({ kube, namespace, operator, see } = stage);
});
afterAll(() => stage.stop());

type Secret = KubeObject & { data: Record<string, string> };
/** Returns the Secrets of the agents' logins. The admin's Secret exists as long as they do. */
const credentials = async (name: string): Promise<Secret[]> => {
  const found = (await kube.listAll(kinds.secret, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component=database`,
  })) as Secret[];
  const admins = found.filter((secret) => userOf(secret) === 'gx_admin');
  expect(admins).toHaveLength(found.length === 0 ? 0 : 1);
  return found
    .filter((secret) => !admins.includes(secret))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
};
const userOf = ({ data }: Secret): string => Buffer.from(data.user ?? '', 'base64').toString();
const jobs = (name: string): Promise<KubeObject[]> =>
  kube.listAll(kinds.job, { namespace, labelSelector: `gx.dev/deployment=${name}` });
const deploy = (name: string, spec: object = {}): Promise<object> =>
  kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name }, spec }));
const ask = (name: string, passwordRequestedAt: string): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/database', value: { passwordRequestedAt } },
  ]);
const [MONDAY, TUESDAY] = ['2026-01-05T00:00:00Z', '2026-01-06T00:00:00Z'];
const untilFulfilled = (name: string, request: string): Promise<true> =>
  until(
    `the password of ${name} is changed`,
    async () => (await see.deployment(name)).status?.passwordRequestedAt === request,
    40,
  );
const rotation = async (name: string) =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'PasswordRotated');
const readFrom = async (name: string): Promise<string[]> => {
  const pods = await kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component in (api,queue)`,
  });
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((pod) => JSON.stringify(pod.spec));
};

test('a password that is asked for is made, told to the database, given to pods in turn; then the former one goes', async () => {
  await deploy('turns');
  await see.untilReady('turns');
  const [before] = await credentials('turns');
  const set = await kube.get(kinds.statefulSet, { namespace, name: 'turns-db' });
  await ask('turns', MONDAY);
  await untilFulfilled('turns', MONDAY);
  await see.untilReady('turns');
  const [after, ...others] = await credentials('turns');
  expect(others).toEqual([]);
  expect([before, after].map((secret) => secret && userOf(secret))).toEqual(['gx', 'gx_a']);
  expect(after?.data.password).not.toBe(before?.data.password);
  expect(await jobs('turns')).toEqual([]);
  expect(await rotation('turns')).toBeUndefined();
  for (const pod of await readFrom('turns'))
    expect(pod).toContain(`"name":"${after?.metadata.name}"`);
  expect((await see.deployment('turns')).status).toMatchObject({
    latestRevision: 'turns-00001',
    databaseSecret: after?.metadata.name,
  });
  expect(
    (await kube.get(kinds.statefulSet, { namespace, name: 'turns-db' })).metadata.generation,
  ).toBe(set.metadata.generation);
  await ask('turns', TUESDAY);
  await untilFulfilled('turns', TUESDAY);
  expect((await credentials('turns')).map(userOf)).toEqual(['gx_b']);
});

test('an operator that dies at any point of it, and a status that is lost, find the way', async () => {
  await deploy('dies');
  await see.untilReady('dies');
  await operator.stop();
  await ask('dies', MONDAY);
  const seen = new Set<string>();
  for (
    let life = 0;
    (await see.deployment('dies')).status?.passwordRequestedAt !== MONDAY;
    life += 1
  ) {
    expect(life).toBeLessThan(40);
    operator = await stage.startOperator({ identity: `life-${life}` });
    const known = (await rotation('dies'))?.reason;
    await until('one more step is told', async () => {
      const { status } = await see.deployment('dies');
      return status?.passwordRequestedAt === MONDAY || (await rotation('dies'))?.reason !== known;
    });
    await operator.stop();
    seen.add((await rotation('dies'))?.reason ?? 'done');
    if (life === 1)
      await kube.patchStatus(
        kinds.deployment,
        { namespace, name: 'dies' },
        { databaseSecret: null, conditions: null },
      );
  }
  // Which steps are seen depends on how quick the pods were. There is more than one.
  expect(seen.size).toBeGreaterThan(1);
  operator = await stage.startOperator({ identity: 'last' });
  await see.untilReady('dies');
  expect((await credentials('dies')).map(userOf)).toEqual(['gx_a']);
  expect(await jobs('dies')).toEqual([]);
});

test('a deployment made with a request has its first password by it, and one deleted meanwhile leaves nothing behind', async () => {
  await deploy('new', { database: { passwordRequestedAt: MONDAY }, deletionPolicy: 'Delete' });
  await see.untilReady('new');
  expect((await credentials('new')).map(userOf)).toEqual(['gx']);
  await ask('new', TUESDAY);
  await until(
    'it has begun',
    async () => (await rotation('new')) !== undefined || (await credentials('new')).length > 1,
  );
  await kube.delete(kinds.deployment, { namespace, name: 'new' });
  await until('the deployment is gone', async () =>
    (await kube.listAll(kinds.deployment, { namespace })).every(
      ({ metadata }) => metadata.name !== 'new',
    ),
  );
  expect(await credentials('new')).toEqual([]);
  expect(await jobs('new')).toEqual([]);
});

test('with Retain, a deployment that takes the data over finds the password it has by now', async () => {
  await deploy('heir', { deletionPolicy: 'Retain' });
  await see.untilReady('heir');
  const owner = (await see.deployment('heir')).metadata.uid ?? '';
  await ask('heir', MONDAY);
  await untilFulfilled('heir', MONDAY);
  const [kept] = await credentials('heir');
  await kube.delete(kinds.deployment, { namespace, name: 'heir' });
  await until('the deployment is gone', async () =>
    (await kube.listAll(kinds.deployment, { namespace })).every(
      ({ metadata }) => metadata.name !== 'heir',
    ),
  );
  const annotations = { 'gx.dev/database-of': owner };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'heir', annotations } }),
  );
  await see.untilReady('heir');
  expect((await credentials('heir')).map(({ metadata }) => metadata.uid)).toEqual([
    kept?.metadata.uid,
  ]);
  expect((await see.deployment('heir')).status?.databaseSecret).toBe(kept?.metadata.name);
});

/** Reports a pod that comes back, for example after its node, as a kubelet does. */
async function lacksItsSecret(name: string): Promise<void> {
  const labelSelector = `gx.dev/deployment=${name},gx.dev/component=queue`;
  const [pod] = await kube.listAll(kinds.pod, { namespace, labelSelector });
  const { containerStatuses = [], ...status } = (pod?.status ?? {}) as {
    containerStatuses?: object[];
  };
  const state = { waiting: { reason: 'CreateContainerConfigError', message: 'secret not found' } };
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pod?.metadata.name ?? '' },
    {
      ...status,
      containerStatuses: containerStatuses.map((known) => ({ ...known, ready: false, state })),
    },
  );
}

test('a password whose Secret somebody deletes is followed by another one, and what serves is not disturbed', async () => {
  await deploy('lost');
  await see.untilReady('lost');
  const [before] = await credentials('lost');
  const told: string[] = [];
  const isOver = async (): Promise<boolean> => {
    const said = await rotation('lost');
    if (said !== undefined) told.push(said.message);
    return said === undefined;
  };
  await kube.delete(kinds.secret, { namespace, name: before?.metadata.name ?? '' });
  await lacksItsSecret('lost');
  await until('pods have another one', async () => {
    await isOver();
    expect((await see.deployment('lost')).status?.phase).toBe('READY');
    return (await see.deployment('lost')).status?.databaseSecret !== before?.metadata.name;
  });
  await until('it is over', isOver);
  expect(told.join(' ')).toContain(
    `The Secret ${before?.metadata.name} with the former one was deleted.`,
  );
  const [after, ...others] = await credentials('lost');
  expect([others, after && userOf(after)]).toEqual([[], 'gx_a']);
  await see.untilReady('lost');
  for (const pod of await readFrom('lost'))
    expect(pod).toContain(`"name":"${after?.metadata.name}"`);
  expect(await jobs('lost')).toEqual([]);
});

test('with the Secret of the admin gone as well, it is said what is lost, and the admin of a person is enough to go on', async () => {
  await deploy('bare');
  await see.untilReady('bare');
  const { databaseSecret = '', databaseAdminSecret: admin = '' } =
    (await see.deployment('bare')).status ?? {};
  const pods = await readFrom('bare');
  for (const name of [databaseSecret, admin]) await kube.delete(kinds.secret, { namespace, name });
  const path = '/metadata/annotations';
  const look = (value: string): Promise<object> =>
    kube.patchJson(kinds.deployment, { namespace, name: 'bare' }, [
      { op: 'add', path, value: { 'gx.dev/reconcile-requested-at': value } },
    ]);
  await look('1');
  await until('it is told', async () => (await rotation('bare'))?.reason === 'CredentialLost');
  expect((await rotation('bare'))?.message).toContain(
    `the Secrets ${databaseSecret} and ${admin} are gone; running pods continue.`,
  );
  const { status } = await see.deployment('bare');
  expect(status).toMatchObject({ phase: 'READY', databaseSecret });
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Ready', status: 'False', reason: 'CredentialLost' }),
  );
  expect(await readFrom('bare')).toEqual(pods);
  const uri = 'postgresql://gx_admin:by-hand@bare-db/gx';
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: admin, namespace },
    stringData: { uri },
  });
  await look('2');
  await see.untilReady('bare');
  const [found] = (await kube.listAll(kinds.secret, {
    namespace,
    labelSelector: 'gx.dev/deployment=bare,gx.dev/component=database',
  })) as Secret[];
  expect(found && userOf(found)).toBe('gx_a');
});
