import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkBackup, restoreBackup } from '../../../src/backup/restore.ts';
import { createBackup } from '../../../src/backup/run.ts';
import { BackupFailed } from '../../../src/backup/s3/failure.ts';
import { backupJobConfig } from '../../../src/config/jobs/backup-job.ts';
import { restoreJobConfig } from '../../../src/config/jobs/restore-job.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import {
  createAuthority,
  createCertificate,
} from '../../../src/operator/database/own/tls/certificate.ts';
import type { DatabaseSpec } from '../../../src/schema/platform/spec/database-spec.ts';
import type { RestoreFailure } from '../../../src/schema/wire/restore-message.ts';
import { dumpInto, newPipe, takeDump } from '../../backup/dump-double.ts';
import { startApiServer, type ApiServer } from '../../kit/api-server.ts';
import { newDeployment } from '../../kit/objects.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../../kit/s3-server.ts';
import { openStage, setStage, type OperatedStage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, type JobPod } from './ended-job.ts';

/*
 * Two API servers with an operator each, and one real S3 server with TLS, which is all that they have in common. Nobody
 * runs the pods of Jobs: the programs of the platform's image run here, with the settings that the pods have, and
 * stand-ins for the containers with pg_dump and pg_restore.
 */

const BYTES = randomBytes(3 * 1_048_576);
let store: S3Server;
let source: OperatedStage;
let other: ApiServer;
let target: OperatedStage;
let id: string;

beforeAll(async () => {
  const making = { now: new Date(), random: randomBytes };
  const authority = createAuthority('authority of the store', making);
  [store, other] = await Promise.all([
    startS3Server({ tls: createCertificate(authority, ['localhost'], making) }),
    startApiServer(),
  ]);
  const endpoint = `https://localhost:${new URL(store.target.endpoint).port}`;
  const main = { ...store.target, endpoint, ca: authority.certificate, secretName: 'store' };
  const settings = { backups: { ...BACKUPS, targets: { main } } };
  source = await setStage('first-cluster', { settings });
  const stage = await openStage('second-cluster', other.kubeconfig);
  target = {
    ...stage,
    kubelet: stage.startKubelet(),
    operator: await stage.startOperator({ settings }),
  };
});
afterAll(async () => {
  await source.stop();
  await target.stop();
  await other.stop();
  await store.stop();
});

/** Returns the settings of the container that speaks to the store, with a folder of its own. */
async function settingsOf(pod: JobPod): Promise<Record<string, string>> {
  const { env = [] } = pod.spec.containers.find(({ name }) => name === 'send') ?? {};
  const given = Object.fromEntries(
    env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
  const pipe = await newPipe();
  for (const [key, value] of Object.entries(S3_KEYS)) await writeFile(join(pipe, key), value);
  return {
    ...given,
    GX_BACKUP_CREDENTIAL: pipe,
    GX_BACKUP_PIPE: pipe,
    GX_TERMINATION_LOG: '/dev/null',
  };
}
const { signal } = new AbortController();

/** Does what both containers do that make a backup. */
async function backsUp(pod: JobPod) {
  const config = backupJobConfig(await settingsOf(pod));
  const [done] = await Promise.all([
    createBackup(config, signal),
    dumpInto(config.pipe, BYTES, { keys: '' }),
  ]);
  await rm(config.pipe, { recursive: true });
  return done;
}
const failureIn = (error: unknown): RestoreFailure => {
  if (error instanceof BackupFailed)
    return { reason: error.reason, message: error.message } as RestoreFailure;
  throw error;
};
/** Does what both containers do that look at the catalogue. */
async function looks(pod: JobPod) {
  const config = restoreJobConfig(await settingsOf(pod));
  await writeFile(join(config.pipe, 'answers', 'found'), '17.6 (Debian)\nempty\n');
  const found = await checkBackup(config, signal).catch(failureIn);
  await rm(config.pipe, { recursive: true });
  return found;
}
let restored: Buffer | undefined;
/** Does what both containers do that restore. */
async function restores(pod: JobPod) {
  const config = restoreJobConfig(await settingsOf(pod));
  execFileSync('mkfifo', [join(config.pipe, 'answers', 'dump')]);
  await writeFile(join(config.pipe, 'answers', 'found'), '17.6 (Debian)\nempty\n');
  const [done, bytes] = await Promise.all([restoreBackup(config, signal), takeDump(config.pipe)]);
  restored = bytes;
  await rm(config.pipe, { recursive: true });
  return done;
}

const deploy = ({ kube, namespace }: OperatedStage, name: string, database: DatabaseSpec) =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name }, spec: { database } }),
  );
const conditionOf = async ({ see }: OperatedStage, name: string, wanted: string) =>
  (await see.deployment(name)).status?.conditions?.find(({ type }) => type === wanted);

test('a backup is made in one cluster, which then goes', async () => {
  id =
    (await deploy(source, 'chat', { backup: { target: 'main', schedule: '0 2 * * *' } })).metadata
      .uid ?? '';
  await endJob(source, 'chat', { step: 'backup', message: backsUp });
  await until(
    'it is noted',
    async () => (await conditionOf(source, 'chat', 'BackedUp'))?.reason === 'BackedUp',
    40,
  );
  await source.stop();
  const kept = (await store.keys()).map((key) => key.replace(/\d{8}t\d{6}z/, 'TIME'));
  expect(kept).toEqual(
    ['catalogue/TIME.json', 'dumps/TIME', 'owner.json'].map(
      (file) => expect.stringMatching(`${id}/${file}$`) as string,
    ),
  );
});

test('the other one has nothing but the target, and a deployment begins with the backup', async () => {
  const before = await store.keys();
  expect(await target.kube.listAll(kinds.backup)).toEqual([]);
  await deploy(target, 'again', { restore: { deployment: id, target: 'main' } });
  await endJob(target, 'again', { step: 'check', message: looks });
  await endJob(target, 'again', { step: 'restore', message: restores });
  await target.see.untilReady('again');
  const { status } = await target.see.deployment('again');
  const [made = ''] = before.filter((key) => key.includes('/catalogue/'));
  expect(status?.restoredBackup).toBe(`${id}/${/\d{8}t\d{6}z/.exec(made)?.[0]}`);
  expect(restored?.equals(BYTES)).toBe(true);
  expect(await store.keys()).toEqual(before);
});

test('whatever only the catalogue can tell is told by the condition, and nothing starts', async () => {
  const asked: [string, DatabaseSpec['restore'], string][] = [
    ['early', { deployment: id, target: 'main', at: '2026-11-01T00:00:00Z' }, 'TimeNotKept'],
    [
      'unknown',
      { deployment: '44444444-4444-4444-8444-444444444444', target: 'main' },
      'BackupMissing',
    ],
  ];
  for (const [name, restore, reason] of asked) {
    await deploy(target, name, { ...(restore && { restore }) });
    await endJob(target, name, { step: 'check', message: looks });
    await until(
      `${name} is refused`,
      async () => (await conditionOf(target, name, 'Restored'))?.reason === reason,
      40,
    );
  }
  const isOfThem = 'gx.dev/deployment in (early,unknown),gx.dev/component in (api,queue,database)';
  expect(
    await target.kube.listAll(kinds.pod, { namespace: target.namespace, labelSelector: isOfThem }),
  ).toEqual([]);
});
