import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../../../../src/agent/db/migrate.ts';
import { openDatabase } from '../../../../../src/agent/db/pool.ts';
import { startPostgres, type EmbeddedPostgres } from '../../../../../src/agent/dev/embedded-postgres/start.ts';
import { openTickets } from '../../../../../src/agent/queue/tickets.ts';
import { separationSql } from '../../../../../src/operator/database/own/credentials/roles-sql.ts';
import { loginOf, retireSql, setSql } from '../../../../../src/operator/database/own/credentials/sql.ts';
import { scramVerifier } from '../../../../../src/operator/database/own/credentials/verifier.ts';
import { silentLog } from '../../../../kit/log.ts';
import { asAdmin, databaseUri } from '../../../../kit/postgres-template.ts';

/* These servers are made as databases were made before: the superuser is `gx`, the login of the agents. */
let folder: string;
let server: EmbeddedPostgres;
let first: string;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'gx-roles-'));
  server = await startPostgres({ folder, owner: 'a test of roles', durable: false });
  await asAdmin(server.uri, (client) => client.query('create database gx'));
  first = databaseUri(server.uri, 'gx');
});
afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const as = (user: string, password: string): string => Object.assign(new URL(first), { username: user, password }).href;
/** Replaces the variable in the text, as psql does. */
const tell = (uri: string, text: string, password = ''): Promise<unknown> =>
  asAdmin(uri, (client) => client.query(text.replace(":'verifier'", `'${scramVerifier(password, randomBytes(16))}'`)));
const ask = async (uri: string, text: string): Promise<unknown[]> => asAdmin(uri, async (client) => (await client.query(text)).rows);

/** Does what an agent server does when it starts. It does so twice, as after every restart. */
async function serve(uri: string): Promise<void> {
  const db = openDatabase({ uri, poolSize: 2, statementTimeoutSeconds: 60, name: 'test' }, silentLog());
  await migrate(db);
  await (await openTickets(db, { works: false }, silentLog())).close();
  await db.close();
}

const made = `create table kept (id serial primary key, at integer generated always as identity, word text);
  create view seen as select word from kept; create type mood as enum ('calm'); create domain small as integer check (value < 10);
  create function twice(x integer) returns integer language sql as 'select 2 * x'; create index on kept (word);
  create sequence own; create table parts (n integer) partition by range (n); create table part partition of parts for values from (0) to (9);
  create schema theirs; create table theirs.more (a integer); create statistics st on id, word from kept; select lo_create(4711);
  create type pair as (a integer, b integer); create type span as range (subtype = integer); create materialized view m as select 1 as n`;

const forbidden = async (uri: string): Promise<void> => {
  expect(
    await ask(uri, 'select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user'),
  ).toEqual([{ rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false }]);
  for (const text of [
    'select rolpassword from pg_authid',
    "copy (select 1) to program 'true'",
    "copy kept (word) from '/etc/hostname'",
    "select pg_read_file('/etc/hostname')",
    'create role another',
    'create database another',
    "alter system set work_mem = '1GB'",
    'set session authorization postgres',
    'set role gx_admin',
    'set role postgres',
  ])
    await expect(ask(uri, text)).rejects.toThrow(/permission denied|must be superuser/);
};

/** Statements with which an owner changes what was made before. */
const changes = [
  'alter table kept add column if not exists more mood',
  "alter type mood add value if not exists 'wild'",
  'alter view seen set (security_invoker)',
  'alter table theirs.more add column if not exists b small',
  'drop function if exists twice',
  'alter sequence own restart',
  'refresh materialized view m',
  'create schema if not exists new_one',
];
const leftToSuperuser = `select relname from pg_class where relowner = 10 and oid >= 16384 and relkind not in ('t', 'i')
  union all select nspname from pg_namespace where nspowner = 10 and oid >= 16384 and nspname !~ '^pg_'
  union all select proname from pg_proc where proowner = 10 and oid >= 16384
  union all select typname from pg_type where typowner = 10 and oid >= 16384`;

const asItWas = async (): Promise<void> => {
  await serve(first);
  await ask(first, made);
  await ask(first, "insert into kept (word) values ('here')");
  // The password was changed before. Agents connect by another login, which acts as the superuser.
  await tell(first, `create role gx_a; grant gx to gx_a; alter role gx_a set role = 'gx'; alter role gx_a login password :'verifier'`, 'a');
};

test.each(['gx', 'gx_a'])(
  'a superuser of old, met as %s, becomes an owner without other rights, by the passwords of old',
  async (login) => {
    await asItWas();
    const used = login === 'gx' ? first : as('gx_a', 'a');
    const open = new Client({ connectionString: used });
    open.on('error', () => undefined);
    await open.connect();
    const ended = new Promise<void>((resolve) => void open.once('end', resolve));
    await tell(used, separationSql(), 'admin');
    await ended;
    for (const uri of [first, as('gx_a', 'a')]) {
      await forbidden(uri);
      await serve(uri);
      expect(await ask(uri, 'select word from seen')).toEqual([{ word: 'here' }]);
      for (const text of changes) await ask(uri, text);
    }
    expect(await ask(first, leftToSuperuser)).toEqual([]);
    expect(await ask(first, "select rolname, rolsuper from pg_roles where rolname = 'gx_mover' or rolsuper")).toEqual([
      { rolname: 'postgres', rolsuper: true },
    ]);
    await expect(ask(as('postgres', ''), 'select 1')).rejects.toThrow();
    await expect(tell(first, separationSql(), 'again')).rejects.toThrow(/permission denied/);
  },
);

test('the admin changes passwords by turns, ends sessions, and reads nothing', async () => {
  await asItWas();
  await tell(first, separationSql(), 'admin');
  const admin = as('gx_admin', 'admin');
  const beyond = ['select * from gx.kept', 'select rolpassword from pg_authid', "copy (select 1) to program 'true'", 'set role gx'];
  for (const text of [...beyond, 'alter role gx superuser']) await expect(ask(admin, text)).rejects.toThrow(/permission denied/);
  for (const number of [2, 3]) {
    const [former, next] = [loginOf(number - 1), loginOf(number)];
    await tell(admin, setSql(next), `p${number}`);
    await forbidden(as(next, `p${number}`));
    await tell(admin, retireSql(former));
    await expect(ask(as(former, number === 2 ? 'a' : 'p2'), 'select 1')).rejects.toThrow(/not permitted|authentication failed/);
  }
  expect(await ask(as('gx_a', 'p3'), 'select session_user as login, current_user as owner')).toEqual([{ login: 'gx_a', owner: 'gx' }]);
});
