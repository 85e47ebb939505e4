import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/agent/db/base/pool.ts';
import { applyMigrations } from '../../src/agent/db/migrate.ts';
import { queueWork } from '../../src/agent/db/runs/work.ts';
import {
  createAuthority,
  createCertificate,
} from '../../src/operator/database/own/tls/certificate.ts';
import {
  buildArchiveFiles,
  parseArchiveInfo,
  buildArchiveCommands,
  decideRetention,
  buildRefillFiles,
  buildRemoteFiles,
  type ArchivePlace,
  type BaseCopy,
  type Refill,
} from '../../src/schema/wire/pgbackrest.ts';
import { freePort } from '../kit/agent-server.ts';
import { databaseContainer, type DatabaseContainer } from '../kit/database-image.ts';
import { silentLog } from '../kit/log.ts';
import { POLICY_TENANT, POLICY_USER, policyOfPage } from '../kit/page-policy.ts';
import { startS3Server, type S3Server } from '../kit/s3-server.ts';
import { until } from '../kit/until.ts';

/*
 * The programs and scripts of the database's image without pods, a real S3 server with TLS, and pgBackRest between
 * them. The commands are those of pods.
 */

const FOLDER = `gx/${POLICY_TENANT}/an-id/archive`;
const AT = '/etc/gx-archive';
const DATA = '/var/lib/postgresql/data/pgdata';

let store: S3Server;
let original: DatabaseContainer;
let job: DatabaseContainer;
const COMMANDS = buildArchiveCommands();
let place: ArchivePlace;
let files: Record<string, string>;
/** The files of a pod with neither Postgres nor data, which reaches the database's by the door. */
let filesOfJob: Record<string, string>;
const made: DatabaseContainer[] = [];

async function container(): Promise<DatabaseContainer> {
  const one = await databaseContainer();
  made.push(one);
  return one;
}

beforeAll(async () => {
  const making = { now: new Date(), random: randomBytes };
  const authority = createAuthority('authority of the store', making);
  // The credential may do no more than the page on backups says.
  const limited = { user: POLICY_USER, policy: policyOfPage('backups') };
  store = await startS3Server({
    tls: createCertificate(authority, ['localhost'], making),
    ...limited,
  });
  const { port } = new URL(store.target.endpoint);
  const target = {
    ...store.target,
    endpoint: `https://localhost:${port}`,
    ca: authority.certificate,
  };
  place = { target, keys: POLICY_USER, folder: FOLDER, data: DATA, socket: '/var/run/postgresql' };
  const own = createAuthority('chat-db authority', making);
  const pair = createCertificate(own, ['chat-db', 'localhost'], making);
  const tls = {
    certificate: `${AT}/tls.crt`,
    key: `${AT}/tls.key`,
    authority: `${AT}/own.crt`,
    name: 'chat-db',
  };
  const ofTls = { 'tls.crt': pair.certificate, 'tls.key': pair.key, 'own.crt': own.certificate };
  const door = { port: await freePort(), tls };
  files = { ...buildArchiveFiles({ ...place, door }), ...ofTls };
  filesOfJob = {
    ...buildRemoteFiles({ ...place, door: { ...door, host: 'localhost' } }),
    ...ofTls,
  };
  original = await container();
  await original.start();
}, 600_000);
afterAll(async () => {
  for (const one of made) await one.remove();
  await store.stop();
});

const archived = async (): Promise<string> =>
  original.sql("select archived_count || ' ' || failed_count from pg_stat_archiver");
const copies = async (): Promise<BaseCopy[]> => {
  const found = parseArchiveInfo(await job.run(COMMANDS.ask));
  return 'copies' in found ? found.copies : [];
};
/** Returns the newest copy once it is the past: its moments begin with a whole second. */
async function waitForNewestCopy(): Promise<BaseCopy> {
  const copy = (await copies()).at(-1)!;
  await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(copy.from));
  return copy;
}
/** Writes a row, and returns a moment after it. */
async function write(row: number): Promise<Date> {
  await original.sql(`insert into written values (${row})`);
  await wait(50);
  const at = new Date(
    await original.sql(
      'select to_char(clock_timestamp() at time zone \'utc\', \'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\')',
    ),
  );
  await wait(50);
  return at;
}
/** Starts a database on an empty volume, which fills it, and returns the rows. */
async function restored(to: Refill['to'] = 'end of log', of?: BaseCopy): Promise<string> {
  const copy = await container();
  const chosen =
    of ?? (await copies()).findLast(({ from }) => typeof to === 'string' || from <= to.at);
  copy.putArchive(buildRefillFiles(place, { copy: chosen?.label ?? 'none', to }));
  await copy.start();
  const rows = await copy.sql("select string_agg(row::text, ',' order by row) from written");
  await copy.end();
  return rows;
}

describe('the log of a database', () => {
  test('is let go where nobody asks for it', async () => {
    await original.sql('create table written (row integer)');
    await original.sql('insert into written values (0)');
    await original.sql('select pg_switch_wal()');
    await expect.poll(archived).toBe('1 0');
    expect(await store.keys()).toEqual([]);
  });

  test('goes to the store once there are files that say so, without a restart', async () => {
    const started = await original.sql('select pg_postmaster_start_time()');
    original.putArchive(files);
    original.serve(COMMANDS.serve);
    job = await container();
    job.putArchive(filesOfJob);
    await until('the door is open', () => job.run(COMMANDS.prepare).then(() => true));
    // As often as one likes.
    await job.run(COMMANDS.prepare);
    expect(await copies()).toEqual([]);
    await job.run(COMMANDS.copy('full'));
    expect(await copies()).toEqual([expect.objectContaining({ type: 'full' })]);
    expect((await store.keys()).filter((key) => !key.startsWith(`${FOLDER}/`))).toEqual([]);
    expect(await original.sql('select pg_postmaster_start_time()')).toBe(started);
  });

  test('and the files are for nobody without a certificate of the same authority and its name', async () => {
    const making = { now: new Date(), random: randomBytes };
    const stranger = await container();
    const { certificate, key } = createCertificate(
      createAuthority('another', making),
      ['chat-db', 'localhost'],
      making,
    );
    stranger.putArchive({ ...filesOfJob, 'tls.crt': certificate, 'tls.key': key });
    await expect(stranger.run(COMMANDS.copy('full'))).rejects.toThrow('unknown ca');
  });

  test('brings back the second between two writes, and all that was archived', async () => {
    await waitForNewestCopy();
    const first = await write(1);
    await write(2);
    await write(3);
    await original.sql('select pg_switch_wal()');
    await job.run(COMMANDS.copy('diff'));
    const both = await copies();
    expect(both.map(({ type }) => type)).toEqual(['full', 'diff']);
    await write(4);
    const before = await archived();
    await original.sql('select pg_switch_wal()');
    await expect.poll(archived).not.toBe(before);
    expect(await restored({ at: first.toISOString() })).toBe('0,1');
    expect(await restored()).toBe('0,1,2,3,4');
  });

  test('is kept by the database while the store is away, which agents report, and comes after it', async () => {
    const db = openDatabase(
      { uri: original.uri, poolSize: 1, statementTimeoutSeconds: 60, name: 'test' },
      silentLog(),
    );
    await applyMigrations(db);
    const lag = async (): Promise<number | undefined> =>
      (await queueWork(db, { crons: true })).archive_lag;
    // Nobody has segments closed in time.
    expect(await lag()).toBeUndefined();
    await original.sql("alter system set archive_timeout = '1h'");
    await original.sql('select pg_reload_conf()');
    await store.kill();
    const at = await write(5);
    const before = await archived();
    // Postgres goes to a moment only if a later transaction is in the log; one that changes nothing is enough.
    await original.sql('select pg_current_xact_id()');
    await original.sql('select pg_switch_wal()');
    await wait(6000);
    expect(await archived()).toBe(before);
    expect(await lag()).toBeGreaterThanOrEqual(6);
    await store.start();
    await expect
      .poll(async () => (await archived()).split(' ')[0], { timeout: 90_000 })
      .not.toBe(before.split(' ')[0]);
    expect(await lag()).toBeLessThan(6);
    await db.close();
    expect(await restored({ at: at.toISOString() })).toBe('0,1,2,3,4,5');
  });

  test('is removed with the oldest copies', async () => {
    const [oldest] = await copies();
    await job.run(COMMANDS.copy('full'));
    await job.run(COMMANDS.copy('full'));
    await job.run(COMMANDS.expire(decideRetention(await copies(), { count: 2 })));
    const kept = await copies();
    expect(kept.map(({ type }) => type)).toEqual(['full', 'full']);
    expect(kept.map(({ label }) => label)).not.toContain(oldest?.label);
  });

  test('does not keep a database from its end while the store is away', async () => {
    await store.kill();
    await original.sql('select pg_current_xact_id()');
    await original.sql('select pg_switch_wal()');
    const begun = Date.now();
    await original.end();
    expect(Date.now() - begun).toBeLessThan(100_000);
    await store.start();
    await original.start();
  });

  test('loses no more than the seconds within which a segment is closed, if the database is killed and its volume lost', async () => {
    const seconds = 5;
    await original.sql(`alter system set archive_timeout = '${seconds}s'`);
    await original.sql('select pg_reload_conf()');
    let row = 100;
    const begun = Date.now();
    const times = new Map<number, number>();
    while (Date.now() - begun < 4 * seconds * 1000) {
      row += 1;
      await original.sql(`insert into written values (${row})`);
      times.set(row, Date.now());
    }
    await original.kill();
    const killed = Date.now();
    const last = Number((await restored()).split(',').at(-1));
    const lost = (killed - (times.get(last) ?? 0)) / 1000;
    process.stdout.write(`the last ${lost.toFixed(1)} s were lost\n`);
    expect(lost).toBeLessThan(3 * seconds);
  });

  test('branches where data was replaced, and each branch of it is restored', async () => {
    await original.start();
    await job.run(COMMANDS.copy('full'));
    const copy = await waitForNewestCopy();
    const first = await write(1001);
    const second = await write(1002);
    await write(1003);
    await original.end();

    const replaced = await container();
    replaced.putArchive({
      ...buildRefillFiles(place, { copy: copy.label, to: { at: first.toISOString() } }),
      ...files,
    });
    await replaced.start();
    const rows = (of: DatabaseContainer): Promise<string> =>
      of.sql("select string_agg(row::text, ',' order by row) from written where row > 1000");
    expect(await rows(replaced)).toBe('1001');
    await replaced.sql('insert into written values (1004)');
    await replaced.run(COMMANDS.copy('diff'));
    await replaced.sql('insert into written values (1005)');
    await replaced.end();
    const later = async (to: Refill['to'], of?: BaseCopy): Promise<string> =>
      (await restored(to, of)).replace(/^.*?(?=1001)/, '');
    expect(await later('end of log')).toBe('1001,1004,1005');
    // A moment of before it, with the copy of before it.
    expect(await later({ at: second.toISOString() }, copy)).toBe('1001,1002');

    // The former volume comes back, and its log goes on.
    await original.start();
    await job.run(COMMANDS.copy('diff'));
    // A moment before it would be one of the other branch.
    await waitForNewestCopy();
    const third = await write(1006);
    await write(1007);
    await original.end();
    expect(await later({ at: third.toISOString() })).toBe('1001,1002,1003,1006');
    expect(await later('end of log')).toBe('1001,1002,1003,1006,1007');
  });

  test('of another database is refused, until the folder is told of it', async () => {
    const before = await copies();
    const another = await container();
    another.putArchive(files);
    await another.start();
    const count = (column: string): Promise<number> =>
      another.sql(`select ${column} from pg_stat_archiver`).then(Number);
    await another.sql('select pg_current_xact_id()');
    await another.sql('select pg_switch_wal()');
    await expect.poll(() => count('failed_count')).toBeGreaterThan(0);
    expect(await count('archived_count')).toBe(0);
    await another.run(COMMANDS.renew);
    await expect.poll(() => count('archived_count'), { timeout: 90_000 }).toBeGreaterThan(0);
    await another.run(COMMANDS.copy('full'));
    const after = await copies();
    expect(after.slice(0, -1)).toEqual(before);
    expect(after.length).toBe(before.length + 1);
    await another.end();
  });
});
