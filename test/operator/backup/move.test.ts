import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { RestoreOrder } from '../../../src/schema/wire/restore-message.ts';
import { newDeployment } from '../../kit/objects.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, FOUND, SAVED } from './ended-job.ts';

/* The data of a deployment moves to a new volume, as to one of another major version of Postgres. */

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
beforeAll(async () => {
  stage = await setStage('moved', { settings: { backups: BACKUPS } });
  ({ kube, namespace } = stage);
});
afterAll(() => stage.stop());

const deploy = async (name: string): Promise<void> => {
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      spec: { database: { backup: { target: 'main' } } },
    }),
  );
  await stage.see.untilReady(name);
};
const ask = async (name: string, more: object = {}): Promise<string> => {
  const replaceRequestedAt = new Date(Date.now() + 2000).toISOString();
  const value = { replaceRequestedAt, ...more };
  await kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/database/restore', value },
  ]);
  return replaceRequestedAt;
};
const status = async (name: string) => (await stage.see.deployment(name)).status ?? {};
const condition = async (name: string) =>
  (await status(name)).conditions?.find(({ type }) => type === 'Restored');
type Set = KubeObject & {
  spec: {
    volumeClaimTemplates: { metadata: { name: string } }[];
    template: { spec: { containers: { name: string; image: string }[] } };
  };
};
/** Returns the claim and the image of a database. */
const database = async (name: string): Promise<{ claim: string; image: string | undefined }> => {
  const { spec } = (await kube.get(kinds.statefulSet, { namespace, name: `${name}-db` })) as Set;
  const image = spec.template.spec.containers.find(
    (container) => container.name === 'postgres',
  )?.image;
  return { claim: `${spec.volumeClaimTemplates[0]?.metadata.name}-${name}-db-0`, image };
};

const imagesOf = ({ spec }: { spec: { containers: { name: string }[] } }): unknown[] =>
  spec.containers.map((container) => ('image' in container ? container.image : undefined));

test('the agents stop, the data is backed up, and that backup is restored into a new volume by the newer image', async () => {
  await deploy('chat');
  const before = await database('chat');
  await stage.operator.stop();
  const settings = { backups: BACKUPS, databaseImage: 'gx-postgres:18' };
  stage.operator = await stage.startOperator({ settings, identity: 'newer' });
  await stage.see.untilReady('chat');
  expect(await database('chat')).toEqual(before);

  const requestedAt = await ask('chat');
  // A dump by programs of another version may hold what only one of them knows.
  const dump = await endJob(stage, 'chat', { step: 'backup', message: SAVED });
  expect(imagesOf(dump)).toEqual([before.image, 'silent-platform']);
  const [saved, ...others] = await kube.listAll(kinds.backup, { namespace });
  expect([saved?.spec.requestedAt, others]).toEqual([requestedAt, []]);
  const pod = await endJob(stage, 'chat', { step: 'restore', message: FOUND });
  expect(imagesOf(pod)).toEqual(['gx-postgres:18', 'silent-platform']);
  const order =
    pod.spec.containers.flatMap(({ env }) => env).find(({ name }) => name === 'GX_RESTORE')
      ?.value ?? '';
  const { metadata } = await stage.see.deployment('chat');
  expect(JSON.parse(order) as RestoreOrder).toMatchObject({
    name: saved?.spec.backup,
    owner: { id: metadata.uid },
    resume: true,
  });
  await until('it is over', async () => (await condition('chat'))?.reason === 'Restored', 40);
  await stage.see.untilReady('chat', 40);
  const after = await database('chat');
  expect([after.image, after.claim === before.claim]).toEqual(['gx-postgres:18', false]);
  expect((await status('chat')).formerVolumes?.map(({ claim }) => claim)).toEqual([before.claim]);
});

test('a restore that fails goes back to the former volume with the image that the data has', async () => {
  await stage.operator.stop();
  stage.operator = await stage.startOperator({
    settings: { backups: BACKUPS },
    identity: 'former',
  });
  await deploy('unlucky');
  const before = await database('unlucky');
  await stage.operator.stop();
  stage.operator = await stage.startOperator({
    settings: { backups: BACKUPS, databaseImage: 'gx-postgres:18' },
    identity: 'later',
  });
  await ask('unlucky');
  await endJob(stage, 'unlucky', { step: 'backup', message: SAVED });
  await endJob(stage, 'unlucky', {
    step: 'restore',
    message: { reason: 'RestoreFailed', message: 'unrecognized parameter' },
  });
  await until(
    'it is told',
    async () => (await condition('unlucky'))?.reason === 'RestoreFailed',
    40,
  );
  await stage.see.untilReady('unlucky', 40);
  expect(await database('unlucky')).toEqual(before);
});

test('data that could not be backed up stays where it is, and the agents serve again', async () => {
  await deploy('unsaved');
  const before = await database('unsaved');
  await ask('unsaved');
  await endJob(stage, 'unsaved', {
    step: 'backup',
    message: { reason: 'DumpFailed', message: 'server version mismatch' },
  });
  await until(
    'it is told',
    async () => (await condition('unsaved'))?.reason === 'BackupFailed',
    40,
  );
  await stage.see.untilReady('unsaved', 40);
  expect((await database('unsaved')).claim).toBe(before.claim);
  expect((await condition('unsaved'))?.message).toContain('server version mismatch');
});

test('it goes by a backup: without a target, or without one by wish, nothing stops', async () => {
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'bare' } }));
  await stage.see.untilReady('bare');
  const value = { restore: { replaceRequestedAt: new Date(Date.now() + 2000).toISOString() } };
  await kube.patchJson(kinds.deployment, { namespace, name: 'bare' }, [
    { op: 'add', path: '/spec/database', value },
  ]);
  await until('it is told', async () => (await condition('bare'))?.reason === 'TargetMissing', 40);
  await expect(ask('bare', { withoutBackup: true })).rejects.toThrow(
    'database.restore.withoutBackup: not without backup',
  );
  expect((await status('bare')).phase).toBe('READY');
});
