import { randomBytes } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyFiles } from '../../src/backup/copy.ts';
import { takeFilled } from '../../src/backup/filled.ts';
import { giveUp } from '../../src/backup/pipe.ts';
import { checkBackup } from '../../src/backup/restore.ts';
import { verifyBackup } from '../../src/backup/verify.ts';
import { deriveAesKeyId } from '../../src/schema/agent/aes-key-id.ts';
import { COUNTS, FACTS, MIGRATION } from '../../src/operator/backup/dump-script.ts';
import { STATE } from '../../src/operator/backup/restore-job.ts';
import { RUN_SCRIPTS } from '../../src/operator/backup/run-script.ts';
import {
  createAuthority,
  createCertificate,
} from '../../src/operator/database/own/tls/certificate.ts';
import type { BackupDone } from '../../src/schema/wire/backup-message.ts';
import {
  buildArchiveFiles,
  buildArchivePath,
  buildRefillFiles,
  type ArchivePlace,
} from '../../src/schema/wire/pgbackrest.ts';
import { freePort } from '../kit/agent-server.ts';
import { databaseContainer, type DatabaseContainer } from '../kit/database-image.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { plant, trapsSprung } from './planted.ts';

/*
 * The programs of the Jobs that copy a database's files, verify a copy and make a filled database a deployment's own,
 * without pods: with the image's programs, a real S3 server with TLS, and pgBackRest.
 */

const OWNER = {
  tenant: '00000000-0000-4000-8000-000000000000',
  id: '00000000-0000-4000-8000-00000000000a',
  uid: 'the-uid',
};
const DATA = '/var/lib/postgresql/data/pgdata';
const AT = '/etc/gx-archive';
const KEY = Buffer.alloc(32, 7).toString('base64');
const { signal } = new AbortController();

let store: S3Server;
let original: DatabaseContainer;
let place: ArchivePlace;
let door: NonNullable<ArchivePlace['door']>;
const made: DatabaseContainer[] = [];

async function container(): Promise<DatabaseContainer> {
  const one = await databaseContainer();
  made.push(one);
  return one;
}
let jobs = 0;
/** Runs a Job: its scripts in two containers, and its program here. */
async function job<T>(
  where: DatabaseContainer,
  work: (folders: { pipe: string; copier: string }) => Promise<T>,
): Promise<T> {
  jobs += 1;
  const own = join(where.pipe, String(jobs));
  const [pipe, copier, credential] = [
    join(own, 'pipe'),
    join(own, 'copier'),
    join(own, 'credential'),
  ];
  for (const folder of [
    own,
    credential,
    ...[pipe, copier].flatMap((each) => [each, join(each, 'orders'), join(each, 'answers')]),
  ]) {
    await mkdir(folder);
    await chmod(folder, 0o2775);
  }
  for (const [name, value] of Object.entries(S3_KEYS))
    await writeFile(join(credential, name), `${value}\n`);
  await writeFile(join(own, 'address'), 'host=/var/run/postgresql user=gx dbname=gx');
  const serve = (variables: Record<string, string>): void =>
    where.serve([
      'env',
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      'sh',
      '-c',
      RUN_SCRIPTS,
    ]);
  serve({
    PIPE: pipe,
    FACTS,
    MIGRATION,
    COUNTS,
    STATE,
    SQL: '/none',
    ADDRESS_FILE: join(own, 'address'),
  });
  serve({ PIPE: copier, CREDENTIAL: credential });
  return work({ pipe, copier }).finally(() => Promise.all([giveUp(pipe), giveUp(copier)]));
}
const common = (folders: { pipe: string; copier: string }) => ({
  ...folders,
  keys: S3_KEYS,
  mount: '/none',
  terminationLog: '/dev/null',
  pauses: [500],
});
const copy = (name: string, keep: { count: number } = { count: 2 }): Promise<BackupDone> =>
  job(original, (folders) => {
    const files = {
      door: { ...door, host: 'localhost' },
      data: DATA,
      socket: '/var/run/postgresql',
    };
    const order = {
      name,
      target: place.target,
      owner: OWNER,
      keep,
      holds: { deployment: 'x' },
      files,
    };
    return copyFiles({ ...common(folders), order, files }, signal);
  });
const verify = (name: string): Promise<object> =>
  job(original, (folders) => {
    const scratch = join(dirname(folders.pipe), 'scratch');
    return verifyBackup(
      { ...common(folders), order: { target: place.target, owner: OWNER, name, scratch } },
      signal,
    );
  });

beforeAll(async () => {
  const making = { now: new Date(), random: randomBytes };
  const authority = createAuthority('authority of the store', making);
  store = await startS3Server({ tls: createCertificate(authority, ['localhost'], making) });
  const { port } = new URL(store.target.endpoint);
  const target = {
    ...store.target,
    endpoint: `https://localhost:${port}`,
    ca: authority.certificate,
  };
  place = {
    target,
    keys: S3_KEYS,
    folder: buildArchivePath(target, OWNER),
    data: DATA,
    socket: '/var/run/postgresql',
  };
  const own = createAuthority('chat-db authority', making);
  const pair = createCertificate(own, ['chat-db', 'localhost'], making);
  const tls = {
    certificate: `${AT}/tls.crt`,
    key: `${AT}/tls.key`,
    authority: `${AT}/own.crt`,
    name: 'chat-db',
  };
  door = { port: await freePort(), tls };
  original = await container();
  await original.start();
  await original.sql(`set role gx; create schema gx; create table gx.migration (number int primary key, major int);
    create table gx.encryption_key (key_id text primary key); create table gx.thread (id int primary key);
    create table gx.cron (enabled boolean, updated_at timestamptz);
    insert into gx.migration values (7, 1); insert into gx.encryption_key values ('${deriveAesKeyId(Buffer.from(KEY, 'base64'))}'); insert into gx.thread values (1), (2)`);
  await plant(original);
  original.putArchive({
    ...buildArchiveFiles({ ...place, door }),
    'tls.crt': pair.certificate,
    'tls.key': pair.key,
    'own.crt': own.certificate,
  });
  // A node starts the guard again whenever it ends.
  const guard = `while :; do CERTIFICATE=${AT}/tls.crt gx-postgres-guard /tmp/message 1; done`;
  original.serve(['sh', '-c', guard]);
}, 300_000);
afterAll(async () => {
  for (const one of made) await one.remove();
  await store.stop();
});

test('the guard has segments closed in time, and leaves a transaction on an idle database', async () => {
  await expect.poll(() => original.sql('show archive_timeout'), { timeout: 30_000 }).toBe('30s');
  const before = await original.sql('select pg_snapshot_xmax(pg_current_snapshot())');
  await original.run(['rm', '-f', '/var/run/postgresql/mark']);
  await expect
    .poll(() => original.sql('select pg_snapshot_xmax(pg_current_snapshot())'), { timeout: 30_000 })
    .not.toBe(before);
});

test('a copy stands in the catalogue with its facts, in the folder of its deployment', async () => {
  const done = await copy('20261128t020000z');
  expect(done).toMatchObject({ migration: 7, keys: [deriveAesKeyId(Buffer.from(KEY, 'base64'))] });
  expect(done).not.toHaveProperty('trouble');
  const keys = await store.keys();
  const folder = `gx/${OWNER.tenant}/${OWNER.id}/`;
  expect(keys.filter((key) => !key.startsWith(`${folder}archive/`))).toEqual([
    `${folder}copies/20261128t020000z.json`,
    `${folder}owner.json`,
  ]);
  const entry = JSON.parse(
    (await store.content(`${folder}copies/20261128t020000z.json`)).toString(),
  ) as object;
  expect(entry).toMatchObject({
    method: 'continuous',
    schema: 1,
    holds: { deployment: 'x' },
    counts: { 'gx.thread': expect.any(String) as string },
  });
});

test('a verification fills a scratch database with it, and counts the same rows', async () => {
  expect(await verify('20261128t020000z')).toEqual({ verified: '20261128t020000z' });
  // The tenant's functions in the copy were called by the tenant's own role alone.
  expect(await trapsSprung(original)).toEqual([]);
});

test('so many copies are kept as the deployment asks for, with those that they need', async () => {
  await original.sql('insert into gx.thread values (3)');
  await copy('20261128t030000z', { count: 1 });
  const names = async () =>
    (await store.keys()).filter((key) => key.includes('/copies/')).map((key) => key.slice(-21, -5));
  // The second holds the changes since the first.
  expect(await names()).toEqual(['20261128t020000z', '20261128t030000z']);
});

test('a database on an empty volume is filled up to a moment, and becomes the own one of its deployment, once', async () => {
  const at = new Date(
    await original.sql(
      'select to_char(clock_timestamp() at time zone \'utc\', \'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\')',
    ),
  ).toISOString();
  await wait(1200);
  await original.sql('insert into gx.thread values (4)');
  await original.sql('select pg_switch_wal()');
  await expect
    .poll(
      () =>
        original.sql("select last_archived_time > now() - interval '5 s' from pg_stat_archiver"),
      { timeout: 30_000 },
    )
    .toBe('t');
  const order = { target: place.target, owner: OWNER, into: 'the-new-one', resume: true };
  const copied = await container();
  await mkdir(join(copied.pipe, 'answers'));
  await writeFile(join(copied.pipe, 'answers', 'found'), '17.6\nempty\n');
  const found = await checkBackup(
    {
      ...common({ pipe: copied.pipe, copier: '/none' }),
      encryptionKeys: [KEY],
      order: { ...order, at },
    },
    signal,
  );
  expect(found).toMatchObject({
    backup: `${OWNER.id}/20261128t030000z`,
    copy: expect.stringMatching(/^\d{8}-\d{6}F_\d{8}-\d{6}D$/) as string,
  });
  copied.putArchive(buildRefillFiles(place, { copy: found.copy ?? '', to: { at } }));
  await copied.start();
  expect(await copied.sql("select string_agg(id::text, ',' order by id) from gx.thread")).toBe(
    '1,2,3',
  );
  const take = (keys: string[]) =>
    job(copied, (folders) =>
      takeFilled(
        {
          ...common(folders),
          encryptionKeys: keys,
          order: { ...order, name: '20261128t030000z', filled: true },
        },
        signal,
      ),
    );
  await expect(take([])).rejects.toThrow(deriveAesKeyId(Buffer.from(KEY, 'base64')));
  const done = await take([KEY]);
  expect(done.backup).toBe(`${OWNER.id}/20261128t030000z`);
  expect(Date.parse(done.from)).toBeLessThanOrEqual(Date.parse(at));
  expect(await take([KEY])).toEqual(done);
});
