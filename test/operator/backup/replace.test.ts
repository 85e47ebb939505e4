import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { DatabaseSpec } from '../../../src/schema/platform/spec/database-spec.ts';
import type { RestoreOrder } from '../../../src/schema/wire/restore-message.ts';
import { newDeployment } from '../../kit/objects.ts';
import type { look } from '../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, FOUND, SAVED, SOURCE, type JobPod } from './ended-job.ts';

/* Restores into deployments that live. */

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;
beforeAll(async () => {
  stage = await setStage('replaced', { settings: { backups: BACKUPS } });
  ({ kube, namespace, see } = stage);
});
afterAll(() => stage.stop());

async function deploy(
  name: string,
  database: DatabaseSpec = { backup: { target: 'main' } },
): Promise<void> {
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, spec: { database } }),
  );
  await see.untilReady(name);
}
const now = (): string => new Date(Date.now() + 2000).toISOString();
type Restore = NonNullable<DatabaseSpec['restore']>;
async function ask(name: string, restore: Restore, replaceRequestedAt = now()): Promise<string> {
  const value = { replaceRequestedAt, ...restore };
  await kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/database/restore', value },
  ]);
  return replaceRequestedAt;
}
const status = async (name: string) => (await see.deployment(name)).status ?? {};
const condition = async (name: string) =>
  (await status(name)).conditions?.find(({ type }) => type === 'Restored');
const untilReason = (name: string, reason: string): Promise<true> =>
  until(
    `Restored of ${name} is ${reason}`,
    async () => (await condition(name))?.reason === reason,
    40,
  );
const podsOf = (name: string, component: string): Promise<KubeObject[]> =>
  kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component in (${component})`,
  });
const agents = (name: string): Promise<KubeObject[]> => podsOf(name, 'api,queue');
const claims = async (name: string): Promise<string[]> =>
  (await kube.listAll(kinds.volumeClaim, { namespace }))
    .map(({ metadata }) => metadata.name)
    .filter((each) => each.endsWith(`-${name}-db-0`));
type Set = KubeObject & { spec: { volumeClaimTemplates: { metadata: { name: string } }[] } };
const volume = async (name: string): Promise<string | undefined> => {
  const set = (await kube.find(kinds.statefulSet, { namespace, name: `${name}-db` })) as
    | Set
    | undefined;
  return set && `${set.spec.volumeClaimTemplates[0]?.metadata.name}-${name}-db-0`;
};

const ends = (
  name: string,
  step: 'backup' | 'check' | 'restore',
  message: Parameters<typeof endJob>[2]['message'],
): Promise<JobPod> => endJob(stage, name, { step, message });

test('the agents stop, the data is backed up, the backup is restored into a new volume, and one field goes back', async () => {
  await deploy('chat');
  const [first] = await claims('chat');
  const served = (await agents('chat')).length;
  const requestedAt = await ask('chat', { deployment: SOURCE, target: 'main' });
  await ends('chat', 'check', FOUND);
  await until('its agents are gone', async () => (await agents('chat')).length === 0, 40);
  await ends('chat', 'backup', SAVED);
  const backups = await kube.listAll(kinds.backup, { namespace });
  expect(backups.map(({ spec }) => spec.requestedAt)).toEqual([requestedAt]);
  const pod = await ends('chat', 'restore', FOUND);
  // All is on another volume by now, and nothing serves.
  const second = await volume('chat');
  expect([await agents('chat'), second === first]).toEqual([[], false]);
  const order = JSON.parse(
    pod.spec.containers.flatMap(({ env }) => env).find(({ name }) => name === 'GX_RESTORE')
      ?.value ?? '',
  ) as RestoreOrder;
  expect(order).toMatchObject({ name: '20261125t020000z', owner: { id: SOURCE }, resume: true });
  await untilReason('chat', 'Restored');
  await see.untilReady('chat', 40);
  expect((await agents('chat')).length).toBe(served);
  const after = await status('chat');
  expect(after).toMatchObject({
    restoredBackup: FOUND.backup,
    databaseVolume: second,
    replacedAt: requestedAt,
    phase: 'READY',
  });
  expect(after.replacement).toBeUndefined();
  expect(after.formerVolumes?.map(({ claim }) => claim)).toEqual([first]);
  expect(Date.parse(after.formerVolumes?.[0]?.until ?? '') - Date.now()).toBeGreaterThan(
    6.9 * 86_400_000,
  );
  expect(await claims('chat')).toHaveLength(2);

  await ask('chat', { volume: first! });
  await until('it is back on its first volume', async () => (await volume('chat')) === first, 40);
  await until(
    'it serves',
    async () =>
      (await condition('chat'))?.message.includes(`back on volume claim ${first}`) === true,
    40,
  );
  await see.untilReady('chat', 40);
  expect((await status('chat')).formerVolumes?.map(({ claim }) => claim)).toEqual([second]);
  const noted = (await kube.listAll(kinds.volumeClaim, { namespace })).filter(
    ({ metadata }) => metadata.annotations?.['gx.dev/set-aside-until'],
  );
  expect(noted.map(({ metadata }) => metadata.name)).toEqual([second]);
  // Nobody backs up a volume that stays.
  expect(await kube.listAll(kinds.backup, { namespace })).toHaveLength(1);
});

test('a restore that fails leaves the deployment as it was', async () => {
  await deploy('unlucky');
  const before = await claims('unlucky');
  await ask('unlucky', { deployment: SOURCE, target: 'main' });
  await ends('unlucky', 'check', FOUND);
  await ends('unlucky', 'backup', SAVED);
  await ends('unlucky', 'restore', {
    reason: 'RestoreFailed',
    message: 'The database took nothing (status 3): ERROR: no room.',
  });
  await untilReason('unlucky', 'RestoreFailed');
  await see.untilReady('unlucky', 40);
  expect(await condition('unlucky')).toMatchObject({
    status: 'False',
    message: expect.stringContaining('ERROR: no room') as string,
  });
  expect([await volume('unlucky'), await claims('unlucky')]).toEqual([before[0], before]);
  expect((await status('unlucky')).formerVolumes).toBeUndefined();
});

test('a backup of the data that fails changes no volume', async () => {
  await deploy('unsaved');
  const before = await volume('unsaved');
  await ask('unsaved', { deployment: SOURCE, target: 'main' });
  await ends('unsaved', 'check', FOUND);
  await ends('unsaved', 'backup', { reason: 'NoRoom', message: 'The store is full.' });
  await untilReason('unsaved', 'BackupFailed');
  await see.untilReady('unsaved', 40);
  expect([
    (await condition('unsaved'))?.message.includes('The store is full.'),
    await volume('unsaved'),
  ]).toEqual([true, before]);
});

describe('nothing stops', () => {
  const untouched = async (name: string, act: () => Promise<unknown>): Promise<void> => {
    const before = (await agents(name)).map(({ metadata }) => metadata.uid);
    await act();
    expect((await agents(name)).map(({ metadata }) => metadata.uid)).toEqual(before);
  };

  test('for a backup that the catalogue refuses, an unknown one, an unknown volume, or an old request', async () => {
    await deploy('refused');
    await untouched('refused', async () => {
      await ask('refused', { deployment: SOURCE, target: 'main' });
      await ends('refused', 'check', {
        reason: 'KeysMissing',
        message: 'Backup x is encrypted with the key 0a1b2c3d.',
      });
      await untilReason('refused', 'KeysMissing');
      await ask('refused', { backup: 'nobody-20261126t020000z' });
      await untilReason('refused', 'BackupMissing');
      await ask('refused', { volume: 'data-other' });
      await untilReason('refused', 'VolumeMissing');
      await ask('refused', { deployment: SOURCE, target: 'none' });
      await untilReason('refused', 'TargetMissing');
    });
    expect((await condition('refused'))?.message).toContain('The deployment is as it was.');
    expect(await claims('refused')).toHaveLength(1);
  });

  test('where the data could not be backed up, unless that is the wish', async () => {
    await deploy('bare', {});
    await ask('bare', { deployment: SOURCE, target: 'main' });
    await untilReason('bare', 'TargetMissing');
    expect((await condition('bare'))?.message).toContain('withoutBackup');
    await ask('bare', { deployment: SOURCE, target: 'main', withoutBackup: true });
    await ends('bare', 'check', FOUND);
    await ends('bare', 'restore', FOUND);
    await untilReason('bare', 'Restored');
    expect(await claims('bare')).toHaveLength(2);
  });
});

test('the API server refuses another restore without a new request, and a former volume without one', async () => {
  await deploy('fixed');
  const at = await ask('fixed', { deployment: SOURCE, target: 'none' });
  await expect(ask('fixed', { deployment: SOURCE, target: 'main' }, at)).rejects.toThrow(
    "database.restore: can't be changed",
  );
  const restore = { volume: 'data-other' };
  const made = newDeployment(namespace, {
    metadata: { name: 'new' },
    spec: { database: { restore } },
  });
  await expect(kube.create(kinds.deployment, made)).rejects.toThrow(
    'database.restore.volume: only beside replaceRequestedAt',
  );
});

test('a deletion of the data deletes former volumes, too', async () => {
  await kube.patchJson(kinds.deployment, { namespace, name: 'bare' }, [
    { op: 'add', path: '/spec/deletionPolicy', value: 'Delete' },
  ]);
  await kube.delete(kinds.deployment, { namespace, name: 'bare' });
  await until('no claim is left', async () => (await claims('bare')).length === 0, 40);
  await expect.poll(() => kube.find(kinds.deployment, { namespace, name: 'bare' })).toBeUndefined();
});
