import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { BackupSpec } from '../../../src/schema/platform/backup/backup-spec.ts';
import type { BackupResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import type { BackupDone, BackupFailure } from '../../../src/schema/wire/backup-message.ts';
import { newDeployment } from '../../kit/objects.ts';
import type { look } from '../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';

/* Deletions that delete data, and wait for a backup. Nobody runs the pods: a test reports of them. */
const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'b',
  region: 'eu-1',
  prefix: '',
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

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;
beforeAll(async () => {
  stage = await setStage('before-deletion', { settings: { backups: BACKUPS } });
  ({ kube, namespace, see } = stage);
});
afterAll(() => stage.stop());

const deploy = async (name: string, backup: Partial<BackupSpec> = {}): Promise<true> => {
  const database = { backup: { target: 'main', beforeDeletion: true, ...backup } };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, spec: { database, deletionPolicy: 'Delete' } }),
  );
  return see.untilReady(name);
};
const remove = (name: string): Promise<unknown> =>
  kube.delete(kinds.deployment, { namespace, name });
const isGone = async (name: string): Promise<boolean> =>
  (await kube.find(kinds.deployment, { namespace, name })) === undefined;
const claims = async (name: string): Promise<KubeObject[]> =>
  (await kube.listAll(kinds.volumeClaim, { namespace })).filter(({ metadata }) =>
    metadata.name.endsWith(`-${name}-db-0`),
  );
const podsOf = (name: string, component: string): Promise<KubeObject[]> =>
  kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component in (${component})`,
  });
const backups = async (name: string): Promise<BackupResource[]> =>
  (await kube.listAll(kinds.backup, { namespace })).filter(({ spec }) => spec.deployment === name);
const condition = async (name: string) =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'BackedUp');

const DONE: BackupDone = {
  from: '2026-11-27T05:00:01.000Z',
  until: '2026-11-27T05:00:09.000Z',
  bytes: 1000,
  migration: 1,
  keys: [],
};
async function ends(name: string, message: BackupDone | BackupFailure): Promise<void> {
  let pod: KubeObject | undefined;
  await until(`${name} has a pod that makes a backup`, async () => {
    pod = (await podsOf(name, 'backup')).find(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
    return pod !== undefined;
  });
  const exitCode = 'reason' in message ? 1 : 0;
  const terminated = {
    exitCode,
    reason: 'Ended',
    message: JSON.stringify(message),
    startedAt: null,
    finishedAt: null,
  };
  const containerStatuses = [
    { name: 'send', image: 'x', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pod!.metadata.name },
    { phase, containerStatuses },
  );
}

test('a deletion makes a backup of what the agents have left, and then deletes the data', async () => {
  await deploy('last');
  await remove('last');
  await until('it is being made', async () => (await podsOf('last', 'backup')).length === 1);
  expect(await podsOf('last', 'api, queue')).toEqual([]);
  // No run is there that it could slow down.
  expect(JSON.stringify(await podsOf('last', 'backup'))).toContain(
    '"limits":{"cpu":"500m","memory":"512Mi"}',
  );
  expect(await claims('last')).toHaveLength(1);
  const { status, metadata } = await see.deployment('last');
  expect(status).toMatchObject({
    phase: 'AWAITING_DELETE',
    message: expect.stringContaining('beforeDeletion to false') as string,
  });
  expect((await backups('last')).map(({ spec }) => spec.requestedAt)).toEqual([
    metadata.deletionTimestamp,
  ]);
  await ends('last', DONE);
  await until('it is gone', () => isGone('last'));
  expect([await claims('last'), await backups('last')]).toEqual([[], []]);
});

test('a backup that fails holds the data, and one field lets the deletion go on', async () => {
  await deploy('held');
  await remove('held');
  await ends('held', { reason: 'TargetUnreachable', message: 'No answer within 30 s.' });
  await until(
    'the failure is told',
    async () => (await condition('held'))?.reason === 'TargetUnreachable',
  );
  expect((await condition('held'))?.message).toContain('No answer within 30 s.');
  expect(await claims('held')).toHaveLength(1);
  const events = (await kube.listAll(kinds.event, { namespace })) as (KubeObject & {
    reason?: string;
    note?: string;
  })[];
  expect(events.map(({ reason }) => reason)).toEqual(
    expect.arrayContaining(['AwaitingBackup', 'TargetUnreachable']),
  );
  const path = '/spec/database/backup/beforeDeletion';
  await kube.patchJson(kinds.deployment, { namespace, name: 'held' }, [
    { op: 'replace', path, value: false },
  ]);
  await until('it is gone', () => isGone('held'));
  expect(await claims('held')).toEqual([]);
});

test('a database that hibernates is started for it', async () => {
  await deploy('resting');
  await kube.patchJson(kinds.deployment, { namespace, name: 'resting' }, [
    { op: 'add', path: '/spec/hibernate', value: true },
  ]);
  await until('it rests', async () => (await podsOf('resting', 'database')).length === 0);
  await remove('resting');
  await ends('resting', DONE);
  await until('it is gone', () => isGone('resting'));
  expect(await claims('resting')).toEqual([]);
});

test('a volume that is lost holds nothing', async () => {
  await deploy('lost');
  const [claim] = await claims('lost');
  await kube.patchStatus(
    kinds.volumeClaim,
    { namespace, name: claim!.metadata.name },
    { phase: 'Lost' },
  );
  await remove('lost');
  await until('it is gone', () => isGone('lost'));
  expect(await podsOf('lost', 'backup')).toEqual([]);
});
