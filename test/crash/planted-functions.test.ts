import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { giveUp } from '../../src/backup/pipe.ts';
import { createBackup } from '../../src/backup/run.ts';
import { verifyBackup } from '../../src/backup/verify.ts';
import { COUNTS, DUMP, FACTS, MIGRATION } from '../../src/operator/backup/dump-script.ts';
import { VERIFY } from '../../src/operator/backup/verify-job.ts';
import {
  buildPasswordJob,
  type PasswordTask,
} from '../../src/operator/database/own/credentials/job.ts';
import { buildScramVerifier } from '../../src/operator/database/own/credentials/secret.ts';
import { databaseContainer, type DatabaseContainer } from '../kit/database-image.ts';
import { deployment, settings } from '../kit/objects.ts';
import { plant, trapsSprung } from './planted.ts';

/*
 * The agents' role owns their database: it plants functions there that do harm if somebody with more rights calls them.
 * The Jobs' own scripts work on such a database, with the programs of its image.
 */

const OWNER = {
  tenant: '00000000-0000-4000-8000-000000000000',
  id: '00000000-0000-4000-8000-00000000000a',
  uid: 'the-uid',
};
const NAME = '20261128t020000z';
const { signal } = new AbortController();

let database: DatabaseContainer;
let store: string;
let jobs = 0;

beforeAll(async () => {
  database = await databaseContainer();
  await database.start();
  await database.sql(`set role gx; create schema gx; create table gx.migration (number int primary key, major int);
    create table gx.encryption_key (key_id text primary key); create table gx.thread (id int primary key);
    insert into gx.migration values (7, 1); insert into gx.thread values (1), (2)`);
  await plant(database);
  store = await folder('store');
}, 300_000);
afterAll(() => database.remove());

/** Makes a folder that both containers see. */
async function folder(...names: string[]): Promise<string> {
  let path = database.pipe;
  for (const name of names) {
    path = join(path, name);
    if (existsSync(path)) continue;
    await mkdir(path);
    await chmod(path, 0o2775);
  }
  return path;
}

/** Runs a script of a Job in the container, with its folders. */
async function job<T>(
  script: string,
  variables: Record<string, string>,
  work: (pipe: string) => Promise<T>,
): Promise<T> {
  jobs += 1;
  const pipe = await folder(String(jobs), 'pipe');
  for (const way of ['orders', 'answers']) await folder(String(jobs), 'pipe', way);
  const address = join(pipe, 'address');
  await writeFile(address, 'host=/var/run/postgresql user=gx dbname=gx');
  const all = {
    PIPE: pipe,
    ADDRESS_FILE: address,
    FACTS,
    MIGRATION,
    COUNTS,
    SCRATCH: await folder(String(jobs), 'scratch'),
    ...variables,
  };
  database.serve([
    'env',
    ...Object.entries(all).map(([name, value]) => `${name}=${value}`),
    'sh',
    '-c',
    script,
  ]);
  return work(pipe).finally(() => giveUp(pipe));
}
const common = (pipe: string) => ({
  pipe,
  copier: '/none',
  keys: { accessKeyId: '', secretAccessKey: '' },
  mount: store,
  terminationLog: '/dev/null',
});
const target = { claim: 'disk', prefix: '' };

test('a dump is made, restored and verified, and no function of its tenant is called by a superuser', async () => {
  const order = { name: NAME, target, owner: OWNER, keep: { count: 2 }, holds: {} };
  const made = await job(DUMP, {}, (pipe) => createBackup({ ...common(pipe), order }, signal));
  expect(made).toMatchObject({ migration: 7 });
  const verified = await job(VERIFY, {}, (pipe) =>
    verifyBackup({ ...common(pipe), order: { target, owner: OWNER, name: NAME } }, signal),
  );
  expect(verified).toEqual({ verified: NAME });
  expect(await trapsSprung(database)).toEqual([]);
});

type Container = { command: string[]; env: { name: string; value: string }[] };

/** Does a task of a password's Job, with the credentials in files as in its pod. */
async function doTask(task: PasswordTask['task'], number: number): Promise<void> {
  const credential = { secret: `chat-db-${number}`, number };
  const made = buildPasswordJob(
    deployment(),
    { task, from: { secret: 'chat-db', number: 0 }, to: credential },
    settings(),
  );
  const { template } = made.spec as { template: { spec: { containers: Container[] } } };
  const { command, env } = template.spec.containers[0]!;
  const at = await folder('secrets');
  for (const name of ['admin', 'next']) await folder('secrets', name);
  const uriOf = (user: string): string =>
    `postgresql://${user}:unused@%2Fvar%2Frun%2Fpostgresql/gx`;
  await writeFile(join(at, 'admin', 'uri'), uriOf('gx_admin'));
  await writeFile(join(at, 'next', 'uri'), uriOf(number % 2 === 1 ? 'gx_a' : 'gx_b'));
  await writeFile(join(at, 'next', 'verifier'), buildScramVerifier('unused', randomBytes(16)));
  const script = (command[2] ?? '').replaceAll('/gx/', `${at}/`);
  await database.run([
    'env',
    ...env.map(({ name, value }) => `${name}=${value}`),
    'sh',
    '-c',
    script,
  ]);
}
const logins = (): Promise<string> =>
  database.sql(
    "select string_agg(rolname, ',' order by rolname) from pg_catalog.pg_roles where rolcanlogin and rolname like 'gx%'",
  );

test('a password is set, retired and adopted by the admin, and no function of the tenant is called by it', async () => {
  await doTask('set', 1);
  expect(await logins()).toBe('gx,gx_a,gx_admin');
  await doTask('retire', 1);
  expect(await logins()).toBe('gx_a,gx_admin');
  await doTask('adopt', 2);
  expect(await logins()).toBe('gx_admin,gx_b');
  expect(await trapsSprung(database)).toEqual([]);
});

test('the functions do harm where somebody with more rights calls them, so that these tests prove something', async () => {
  await database.sql(
    'select max(number) from gx.migration; set session authorization gx_admin; select count(*) from pg_roles',
  );
  expect(await trapsSprung(database)).toEqual(['as gx_admin', 'as postgres']);
  await rm(join(database.pipe, 'mark'));
  await database.sql('drop role planted');
  expect(readFileSync('dev/images/postgres/gx-postgres', 'utf8')).not.toMatch(
    /psql(?!.* -d postgres)/,
  );
});
