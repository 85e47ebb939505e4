import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { BackupSpec } from '../../../src/schema/platform/backup/backup-spec.ts';
import type { BackupResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { AWAITED_BACKUP } from '../../../src/schema/platform/objects/labels.ts';
import type {
  BackupDone,
  BackupFailure,
  BackupOrder,
} from '../../../src/schema/wire/backup-message.ts';
import { newDeployment } from '../../kit/objects.ts';
import { metricOf, type look, type RunningOperator } from '../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';

/* Nobody runs the pods: a test reports of them what their containers would. Others prove what the program sends. */
const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'our-backups',
  region: 'eu-1',
  prefix: 'gx',
  pathStyle: true,
  secretName: 'store',
};
const BACKUPS = {
  targets: { main: TARGET },
  atOnce: 2,
  deadlineMinutes: 60,
  verifyDays: 0,
  image: 'silent-platform',
};
const DAILY = { target: 'main', schedule: '0 2 * * *', timeZone: 'Europe/Berlin' };

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;
beforeAll(async () => {
  stage = await setStage('backups', { settings: { backups: BACKUPS } });
  ({ kube, namespace, operator, see } = stage);
});
afterAll(() => stage.stop());

const deploy = (name: string, backup: BackupSpec): Promise<object> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, spec: { database: { backup } } }),
  );
const backups = async (name: string): Promise<BackupResource[]> =>
  (await kube.listAll(kinds.backup, { namespace }))
    .filter(({ spec }) => spec.deployment === name)
    .toSorted((a, b) => (a.spec.backup < b.spec.backup ? -1 : 1));
const condition = async (name: string) =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'BackedUp');
const jobs = (name: string): Promise<KubeObject[]> =>
  kube.listAll(kinds.job, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component=backup`,
  });
const request = (name: string, requestedAt: string): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/database/backup/requestedAt', value: requestedAt },
  ]);

type Container = {
  name: string;
  env: { name: string; value?: string }[];
  resources: Record<'requests' | 'limits', { cpu: string }>;
};
type Pod = KubeObject & { spec: { containers: Container[] } };
async function podOf(name: string): Promise<Pod> {
  let found: Pod | undefined;
  await until(`${name} has a pod that makes a backup`, async () => {
    const pods = (await kube.listAll(kinds.pod, {
      namespace,
      labelSelector: `gx.dev/deployment=${name},gx.dev/component=backup`,
    })) as Pod[];
    found = pods.find(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        (status as { phase?: string }).phase === 'Pending',
    );
    return found !== undefined;
  });
  return found!;
}

const DONE: BackupDone = {
  from: '2026-11-26T02:00:01.000Z',
  until: '2026-11-26T02:00:09.000Z',
  bytes: 123_456_789,
  migration: 1,
  keys: ['0a1b2c3d'],
};
/** Reports the end of the container that sends the backup. */
async function ends(name: string, message: BackupDone | BackupFailure): Promise<Pod> {
  const pod = await podOf(name);
  const exitCode = 'reason' in message ? 1 : 0;
  const state = {
    terminated: {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      message: JSON.stringify(message),
      startedAt: null,
      finishedAt: null,
    },
  };
  const containerStatuses = [
    { name: 'send', image: 'x', imageID: '', ready: false, restartCount: 0, state },
  ];
  const ref = { namespace, name: pod.metadata.name };
  await kube.patchStatus(kinds.pod, ref, {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses,
  });
  return pod;
}

const untilReason = (name: string, reason: string): Promise<true> =>
  until(
    `BackedUp of ${name} is ${reason}`,
    async () => (await condition(name))?.reason === reason,
    40,
  );

test('the first backup is made at once, and its pod knows the target, the folder and what the backup is to hold', async () => {
  const spoken = '$(GX_BACKUP_SECRET_ACCESS_KEY)';
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name: 'first' },
      spec: {
        database: { backup: { ...DAILY, keep: { days: 30 } } },
        sourceConfig: { customUrl: `https://${spoken}` },
      },
    }),
  );
  const pod = await ends('first', DONE);
  const env = pod.spec.containers.find(({ name }) => name === 'send')?.env ?? [];
  const order = JSON.parse(
    env.find(({ name }) => name === 'GX_BACKUP')?.value ?? '',
  ) as BackupOrder;
  const { metadata } = await see.deployment('first');
  expect(order).toMatchObject({
    target: { endpoint: TARGET.endpoint, bucket: TARGET.bucket, prefix: 'gx' },
    owner: { id: metadata.uid, uid: metadata.uid },
    keep: { days: 30 },
    holds: { deployment: { name: 'first', spec: { database: { backup: { target: 'main' } } } } },
  });
  // Kubernetes would put the credential in its place.
  expect(order.holds).toMatchObject({
    deployment: { spec: { sourceConfig: { customUrl: `https://${spoken}` } } },
  });
  expect(env.find(({ name }) => name === 'GX_BACKUP')?.value).not.toContain('$');
  expect(JSON.stringify(pod.spec)).toContain('"secretName":"store"');
  await untilReason('first', 'BackedUp');
  const [backup, ...others] = await backups('first');
  expect(others).toEqual([]);
  expect(backup?.status).toMatchObject({
    phase: 'Succeeded',
    size: '123.5 MB',
    keys: ['0a1b2c3d'],
    from: '2026-11-26T02:00:01Z',
    expires: '2026-12-26T02:00:09Z',
  });
  expect(await condition('first')).toMatchObject({
    status: 'True',
    message: expect.stringContaining('The next is due at') as string,
  });
  await until('the Job is gone', async () => (await jobs('first')).length === 0);
  expect(
    await metricOf(operator, 'gx_backup_last_success_timestamp_seconds', 'deployment="first"'),
  ).toBe(Date.parse(DONE.from) / 1000);
  expect(await metricOf(operator, 'gx_backup_size_bytes', 'deployment="first"')).toBe(DONE.bytes);
});

test('a backup is made on request, once for each, and a failed one is told with the words of the store', async () => {
  await deploy('asked', { target: 'main' });
  await untilReason('asked', 'NoBackupYet');
  expect(await backups('asked')).toEqual([]);
  await request('asked', '2026-11-26T10:00:00Z');
  await ends('asked', {
    reason: 'TargetRefused',
    message: 'The store answers 403 (AccessDenied: not you).',
  });
  await untilReason('asked', 'TargetRefused');
  expect(await condition('asked')).toMatchObject({
    status: 'False',
    message: expect.stringContaining('AccessDenied: not you') as string,
  });
  expect(
    await metricOf(operator, 'gx_backup_last_failure_timestamp_seconds', 'deployment="asked"'),
  ).toBeGreaterThan(0);
  await request('asked', '2026-11-26T11:00:00Z');
  await ends('asked', DONE);
  await untilReason('asked', 'BackedUp');
  const made = await backups('asked');
  expect(made.map(({ spec, status }) => [spec.requestedAt, status?.phase])).toEqual([
    ['2026-11-26T10:00:00Z', 'Failed'],
    ['2026-11-26T11:00:00Z', 'Succeeded'],
  ]);
});

test('a backup leaves the processor time of its database to runs, but for one that a clone waits for', async () => {
  const template = { resourceSpec: { dbCpu: 0.4, dbCpuLimit: 1.2 } };
  const spec = { database: { backup: { target: 'main' } } };
  const later = '2026-11-26T09:30:00Z';
  const metadata = { name: 'paced', annotations: { [AWAITED_BACKUP]: later } };
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata, spec, template }));
  const cores = (pod: Pod): string[][] =>
    pod.spec.containers.map(({ resources: { requests, limits } }) => [requests.cpu, limits.cpu]);
  await request('paced', '2026-11-26T09:00:00Z');
  expect(cores(await ends('paced', DONE))).toEqual([
    ['10m', '300m'],
    ['10m', '500m'],
  ]);
  await until('it is complete', async () =>
    (await backups('paced')).every(({ status }) => status?.phase === 'Succeeded'),
  );
  await request('paced', later);
  expect(cores(await podOf('paced'))).toEqual([
    ['50m', '500m'],
    ['50m', '500m'],
  ]);
});

test('a backup under way ends under another operator, and nothing is made twice', async () => {
  await deploy('handed', DAILY);
  await podOf('handed');
  await operator.stop();
  await ends('handed', DONE);
  operator = await stage.startOperator({ identity: 'two', settings: { backups: BACKUPS } });
  await untilReason('handed', 'BackedUp');
  expect(await backups('handed')).toHaveLength(1);
  expect(
    await metricOf(operator, 'gx_backup_last_success_timestamp_seconds', 'deployment="handed"'),
  ).toBe(Date.parse(DONE.from) / 1000);
});

test('no more backups are made at once than the installation allows', async () => {
  for (const name of ['turn-a', 'turn-b', 'turn-c']) await deploy(name, DAILY);
  const open = async (): Promise<string[]> =>
    (await kube.listAll(kinds.backup, { namespace }))
      .filter(({ status }) => status?.phase === 'Running')
      .map(({ spec }) => spec.deployment);
  await until('two are being made', async () => (await open()).length === 2);
  for (const name of ['turn-a', 'turn-b', 'turn-c']) await see.untilReady(name);
  const [one, two, ...more] = await open();
  expect(more).toEqual([]);
  await ends(one!, DONE);
  await ends(two!, DONE);
  const third = ['turn-a', 'turn-b', 'turn-c'].find((name) => name !== one && name !== two)!;
  await ends(third, DONE);
  await untilReason(third, 'BackedUp');
});

test('a target that is not there is told with those that are, and a schedule that is none with the reason', async () => {
  await deploy('nowhere', { ...DAILY, target: 'other' });
  await untilReason('nowhere', 'TargetMissing');
  expect((await condition('nowhere'))?.message).toContain('The installation has: main');
  await deploy('never', { target: 'main', schedule: '0 2 31 2 *' });
  await untilReason('never', 'ScheduleInvalid');
  await deploy('no-zone', { ...DAILY, timeZone: 'Europe/Atlantis' });
  await untilReason('no-zone', 'ScheduleInvalid');
  for (const name of ['nowhere', 'never', 'no-zone']) expect(await backups(name)).toEqual([]);
});

test('a Secret that is not there fails the backup, and the condition names it', async () => {
  await deploy('keyless', DAILY);
  const pod = await podOf('keyless');
  const state = {
    waiting: { reason: 'CreateContainerConfigError', message: 'secret "store" not found' },
  };
  const containerStatuses = [
    { name: 'send', image: 'x', imageID: '', ready: false, restartCount: 0, state },
  ];
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pod.metadata.name },
    { phase: 'Pending', containerStatuses },
  );
  await untilReason('keyless', 'TargetMissing');
  expect((await condition('keyless'))?.message).toContain('secret "store" not found');
  await until('the Job is gone', async () => (await jobs('keyless')).length === 0);
});

test('a deployment that is deleted takes the objects of its backups along', async () => {
  await kube.delete(kinds.deployment, { namespace, name: 'first' });
  await expect.poll(() => backups('first')).toEqual([]);
});

describe('the API server refuses, with the field and the reason', () => {
  const create = (database: object): Promise<object> =>
    kube.create(
      kinds.deployment,
      newDeployment(namespace, { metadata: { name: 'refused' }, spec: { database } }),
    );

  test.each([
    ['a method that is none', { target: 'main', method: 'often' }, 'method'],
    [
      'a schedule with too few fields',
      { target: 'main', schedule: '@daily' },
      'database.backup.schedule: five fields',
    ],
    [
      'a time zone alone',
      { target: 'main', timeZone: 'UTC' },
      'database.backup.timeZone: only beside a schedule',
    ],
    [
      'a count and days',
      { target: 'main', keep: { count: 1, days: 1 } },
      'database.backup.keep: either count or days',
    ],
    ['a count of none', { target: 'main', keep: { count: 0 } }, 'keep.count'],
    ['no target', { schedule: '0 2 * * *' }, 'target'],
  ])('%s', async (_what, backup, words) => {
    await expect(create({ backup })).rejects.toThrow(words);
  });

  test('backups of an external database', async () => {
    const database = { external: { secretName: 'mine' }, backup: { target: 'main' } };
    await expect(create(database)).rejects.toThrow('database.backup: only for a managed database');
  });
});
