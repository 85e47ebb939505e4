import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { DatabaseSpec } from '../../../src/schema/platform/spec/database-spec.ts';
import type { BackupResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import type { BackupOrder } from '../../../src/schema/wire/backup-message.ts';
import type { RestoreOrder } from '../../../src/schema/wire/restore-message.ts';
import { newDeployment } from '../../kit/objects.ts';
import type { look } from '../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, FOUND, SAVED, SOURCE, TARGET, type JobPod } from './ended-job.ts';

/* Backups with the log of a database, on a real API server. Nobody runs the pods. */

let stage: OperatedStage;
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;
beforeAll(async () => {
  const targets = {
    main: TARGET,
    plain: { ...TARGET, endpoint: 'http://s3.example.com' },
    disk: { claim: 'disk', prefix: '' },
  };
  stage = await setStage('continuous', { settings: { backups: { ...BACKUPS, targets } } });
  ({ kube, namespace, see } = stage);
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: TARGET.secretName, namespace },
    stringData: { accessKeyId: 'an-id', secretAccessKey: 'the-first-key' },
  });
});
afterAll(() => stage.stop());

const deploy = (name: string, database: DatabaseSpec): Promise<object> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, spec: { database } }),
  );
const setBackup = (name: string, value: DatabaseSpec['backup']): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/spec/database', value: { backup: value } },
  ]);
const files = async (name: string): Promise<Record<string, string>> => {
  const found = await kube.find(kinds.secret, { namespace, name: `${name}-db-archive` });
  return Object.fromEntries(
    Object.entries(found?.data ?? {}).map(([key, text]) => [
      key,
      Buffer.from(text, 'base64').toString(),
    ]),
  );
};
const condition = async (name: string, wanted = 'BackedUp') =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === wanted);
const untilReason = (name: string, reason: string, type = 'BackedUp'): Promise<true> =>
  until(
    `${type} of ${name} is ${reason}`,
    async () => (await condition(name, type))?.reason === reason,
    40,
  );
const backups = async (name: string): Promise<BackupResource[]> =>
  (await kube.listAll(kinds.backup, { namespace })).filter(({ spec }) => spec.deployment === name);
const set = (name: string): Promise<KubeObject | undefined> =>
  kube.find(kinds.statefulSet, { namespace, name: `${name}-db` });
const ordered = <T>(pod: JobPod, variable: string): T =>
  JSON.parse(
    pod.spec.containers.flatMap(({ env }) => env).find(({ name }) => name === variable)?.value ??
      '',
  ) as T;
const again = (name: string): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    {
      op: 'add',
      path: '/metadata/annotations',
      value: { 'gx.dev/reconcile-now': new Date().toISOString() },
    },
  ]);

test('copies are asked for without another pod: the first is made at once, and the log is taken from then on', async () => {
  await deploy('chat', {});
  await see.untilReady('chat');
  const before = await set('chat');
  expect(JSON.stringify(before?.spec)).toContain('"secretName":"chat-db-archive"');
  expect(await files('chat')).toEqual({});

  await setBackup('chat', { target: 'main', method: 'continuous' });
  await until('the log is taken', async () => (await files('chat')).push !== undefined, 40);
  const written = await files('chat');
  const { metadata } = await see.deployment('chat');
  expect(written['pgbackrest.conf']).toContain('repo1-s3-key-secret=the-first-key\n');
  expect(written['pgbackrest.conf']).toMatch(
    new RegExp(`repo1-path=/[^/]+/${metadata.uid}/archive\n`),
  );
  const pod = await endJob(stage, 'chat', { step: 'backup', message: SAVED });
  expect(ordered<BackupOrder>(pod, 'GX_BACKUP').files).toMatchObject({
    door: { host: expect.stringMatching(/^chat-db\./) as string, port: 8432 },
  });
  await untilReason('chat', 'BackedUp');
  expect((await condition('chat'))?.message).toContain(
    `Every second since ${SAVED.from.replace('.000', '')} can be restored.`,
  );
  expect((await backups('chat')).map(({ spec }) => spec.method)).toEqual(['continuous']);
  const policy = await kube.get(kinds.networkPolicy, { namespace, name: 'chat-db' });
  expect(JSON.stringify(policy.spec)).toContain('"port":8432');
  const after = await set('chat');
  expect([after?.metadata.uid, after?.metadata.generation]).toEqual([
    before?.metadata.uid,
    before?.metadata.generation,
  ]);
});

test('another credential of the target comes to the database, and another method takes the files away', async () => {
  await kube.patchJson(kinds.secret, { namespace, name: TARGET.secretName }, [
    {
      op: 'add',
      path: '/data/secretAccessKey',
      value: Buffer.from('the-second-key').toString('base64'),
    },
  ]);
  await again('chat');
  await until(
    'it has come',
    async () => (await files('chat'))['pgbackrest.conf']?.includes('the-second-key') === true,
    40,
  );
  await setBackup('chat', { target: 'main' });
  await until('they are gone', async () => Object.keys(await files('chat')).length === 0, 40);
  // A log with a gap is worth nothing before the next copy.
  await setBackup('chat', { target: 'main', method: 'continuous' });
  await endJob(stage, 'chat', { step: 'backup', message: SAVED });
  await until('there are two', async () => (await backups('chat')).length === 2, 40);
  expect((await files('chat')).push).toBeDefined();
});

test('a first copy that fails lets the log go again, so that the volume does not fill up', async () => {
  await deploy('unlucky', { backup: { target: 'main', method: 'continuous' } });
  await see.untilReady('unlucky');
  await endJob(stage, 'unlucky', {
    step: 'backup',
    message: { reason: 'CopyFailed', message: 'ERROR: [028]: no way.' },
  });
  await untilReason('unlucky', 'CopyFailed');
  await until('the log goes', async () => (await files('unlucky')).push === undefined, 40);
  expect(Object.keys(await files('unlucky'))).toEqual(['pgbackrest.conf']);
});

test.each([
  ['plain', 'needs a store with TLS'],
  ['disk', 'volume claim'],
])('target %s can take no log, and the reason is told', async (target, words) => {
  await deploy(`on-${target}`, { backup: { target, method: 'continuous' } });
  await untilReason(`on-${target}`, 'TargetUnfit');
  expect((await condition(`on-${target}`))?.message).toContain(words);
  expect([await files(`on-${target}`), await backups(`on-${target}`)]).toEqual([{}, []]);
});

test('a new deployment begins with a copy: its volume is filled before the database starts', async () => {
  const at = '2026-11-25T03:00:00Z';
  await deploy('copy', { restore: { deployment: SOURCE, target: 'main', at } });
  const look = await endJob(stage, 'copy', {
    step: 'check',
    message: { ...FOUND, copy: '20261125-020000F' },
  });
  expect(ordered<RestoreOrder>(look, 'GX_RESTORE')).toMatchObject({ owner: { id: SOURCE }, at });
  const pod = await endJob(stage, 'copy', {
    step: 'restore',
    message: { ...FOUND, from: '2026-11-25T02:59:59.500Z' },
  });
  // The files were there before the database.
  const written = await files('copy');
  expect(Object.keys(written).toSorted()).toEqual(['refill', 'refill.conf']);
  expect(written.refill).toContain(
    "'--set=20261125-020000F' '--type=time' '--target=2026-11-25 03:00:00.000+00'",
  );
  expect(written['refill.conf']).toContain(`/${SOURCE}/archive\n`);
  expect(ordered<RestoreOrder>(pod, 'GX_RESTORE')).toMatchObject({
    name: '20261125t020000z',
    filled: true,
    at,
  });
  await untilReason('copy', 'Restored', 'Restored');
  await see.untilReady('copy');
  expect((await see.deployment('copy')).status).toMatchObject({
    restoredBackup: FOUND.backup,
    restoredFrom: '2026-11-25T02:59:59Z',
  });
  await until('the files are gone', async () => Object.keys(await files('copy')).length === 0, 40);
  expect((await see.deployment('copy')).status?.chosenBackup).toBeUndefined();
});

test('the database is not made before the catalogue is read, and a dump is restored into it as ever', async () => {
  await deploy('by-dump', { restore: { deployment: SOURCE, target: 'main' } });
  await untilReason('by-dump', 'Restoring', 'Restored');
  expect(await set('by-dump')).toBeUndefined();
  await endJob(stage, 'by-dump', { step: 'check', message: FOUND });
  const pod = await endJob(stage, 'by-dump', { step: 'restore', message: FOUND });
  expect(ordered<RestoreOrder>(pod, 'GX_RESTORE').filled).toBeUndefined();
  expect(await files('by-dump')).toEqual({});
  await see.untilReady('by-dump');
});

test('a living deployment goes back to a second of its own log, on a new volume, and a copy is made of that', async () => {
  await deploy('living', { backup: { target: 'main', method: 'continuous' } });
  await see.untilReady('living');
  await endJob(stage, 'living', { step: 'backup', message: SAVED });
  await untilReason('living', 'BackedUp');
  const { uid = '' } = (await see.deployment('living')).metadata;
  const value = {
    deployment: uid,
    at: '2026-11-27T06:00:00Z',
    replaceRequestedAt: new Date(Date.now() + 2000).toISOString(),
  };
  await kube.patchJson(kinds.deployment, { namespace, name: 'living' }, [
    { op: 'add', path: '/spec/database/restore', value },
  ]);
  await endJob(stage, 'living', {
    step: 'check',
    message: { backup: `${uid}/20261127t050000z`, from: SAVED.from, copy: '20261127-050000F' },
  });
  await endJob(stage, 'living', { step: 'backup', message: SAVED });
  const pod = await endJob(stage, 'living', {
    step: 'restore',
    message: { backup: `${uid}/20261127t050000z`, from: value.at },
  });
  const written = await files('living');
  expect(Object.keys(written).toSorted()).toEqual([
    'pgbackrest.conf',
    'push',
    'refill',
    'refill.conf',
  ]);
  expect(ordered<RestoreOrder>(pod, 'GX_RESTORE')).toMatchObject({ filled: true, at: value.at });
  await untilReason('living', 'Restored', 'Restored');
  await endJob(stage, 'living', { step: 'backup', message: SAVED });
  await see.untilReady('living', 40);
  expect(Object.keys(await files('living')).toSorted()).toEqual(['pgbackrest.conf', 'push']);

  // The log of the former volume has a gap by now.
  const [former] = (await see.deployment('living')).status?.formerVolumes ?? [];
  const back = {
    volume: former?.claim ?? '',
    replaceRequestedAt: new Date(Date.now() + 4000).toISOString(),
  };
  await kube.patchJson(kinds.deployment, { namespace, name: 'living' }, [
    { op: 'add', path: '/spec/database/restore', value: back },
  ]);
  const count = (await backups('living')).length;
  await until(
    'it is back',
    async () => (await condition('living', 'Restored'))?.message.includes(back.volume) === true,
    40,
  );
  await endJob(stage, 'living', { step: 'backup', message: SAVED });
  await until(
    'the copy is noted',
    async () =>
      (await backups('living')).filter(({ status }) => status?.phase === 'Succeeded').length ===
      count + 1,
    40,
  );
});
