import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { applyMigrations } from '../../../../../../src/agent/db/migrate.ts';
import { openDatabase } from '../../../../../../src/agent/db/base/pool.ts';
import {
  startPostgres,
  type EmbeddedPostgres,
} from '../../../../../../src/agent/dev/embedded-postgres/start.ts';
import { openTickets } from '../../../../../../src/agent/queue/tickets.ts';
import {
  adoptSql,
  getLogin,
  buildRetireSql,
  setSql,
} from '../../../../../../src/operator/database/own/credentials/sql.ts';
import { OWNER } from '../../../../../../src/schema/wire/database-session.ts';
import { buildScramVerifier } from '../../../../../../src/operator/database/own/credentials/secret.ts';
import { silentLog } from '../../../../../kit/log.ts';
import { asAdmin, databaseUri } from '../../../../../kit/postgres-template.ts';

/* Roles belong to the whole server, so each test has one of its own, with the roles of the database's image. */
let folder: string;
let server: EmbeddedPostgres;
let first: string;

/** The owner has another name here, because the superuser of a test's server is `gx`. */
const owner = 'agents';

/** Returns the statements by which the image's script makes its roles and its database. */
function statementsOfImage(): string[] {
  const script = readFileSync('dev/images/postgres/gx-postgres', 'utf8');
  const [, text = ''] = /<<SQL\n(.*?)\nSQL\n/s.exec(script) ?? [];
  const values: Record<string, string> = {
    '$(name "$user")': owner,
    '$(name "$database")': OWNER,
    '$(text "$POSTGRES_PASSWORD")': "'p0'",
    '$(text "$POSTGRES_ADMIN_PASSWORD")': "'admin'",
  };
  return Object.entries(values)
    .reduce((filled, [variable, value]) => filled.replaceAll(variable, value), text)
    .split('\n');
}

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'gx-roles-'));
  server = await startPostgres({ folder, owner: 'a test of roles', durable: false });
  for (const statement of statementsOfImage())
    await asAdmin(server.uri, (client) => client.query(statement));
  first = as(owner, 'p0');
});
afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const as = (user: string, password: string): string =>
  Object.assign(new URL(databaseUri(server.uri, OWNER)), { username: user, password }).href;
/** Replaces the variable in the text, as psql does. */
const send = (uri: string, text: string, password = ''): Promise<unknown> =>
  asAdmin(uri, (client) =>
    client.query(text.replace(":'verifier'", `'${buildScramVerifier(password, randomBytes(16))}'`)),
  );
const ask = async (uri: string, text: string): Promise<unknown[]> =>
  asAdmin(uri, async (client) => (await client.query(text)).rows);

/** Does what an agent server does when it starts. */
async function serve(uri: string): Promise<void> {
  const db = openDatabase(
    { uri, poolSize: 2, statementTimeoutSeconds: 60, name: 'test' },
    silentLog(),
  );
  await applyMigrations(db);
  await (await openTickets(db, { works: false }, silentLog())).close();
  await db.close();
}

const forbidden = async (uri: string): Promise<void> => {
  expect(
    await ask(
      uri,
      'select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls from pg_roles where rolname = current_user',
    ),
  ).toEqual([
    {
      rolsuper: false,
      rolcreatedb: false,
      rolcreaterole: false,
      rolreplication: false,
      rolbypassrls: false,
    },
  ]);
  for (const text of [
    'select rolpassword from pg_authid',
    "copy (select 1) to program 'true'",
    "copy kept (word) from '/etc/hostname'",
    "select pg_read_file('/etc/hostname')",
    'create role another',
    'create database another',
    "alter system set work_mem = '1GB'",
    'set session authorization gx',
    'set role gx_admin',
    'set role gx',
  ])
    await expect(ask(uri, text)).rejects.toThrow(/permission denied|must be superuser/);
};

test('every login of the agents runs a server on what the others have made, and has no right beyond that', async () => {
  await serve(first);
  await ask(first, "create table kept (word text); insert into kept values ('here')");
  await send(as('gx_admin', 'admin'), setSql(getLogin(1, owner), owner), 'p1');
  for (const uri of [first, as(getLogin(1, owner), 'p1')]) {
    await forbidden(uri);
    await serve(uri);
    expect(await ask(uri, 'select word from kept')).toEqual([{ word: 'here' }]);
    await ask(uri, 'alter table kept add column if not exists more text');
  }
});

test('the admin changes passwords by turns, ends sessions, and reads nothing', async () => {
  await serve(first);
  await ask(first, 'create table kept (word text)');
  const admin = as('gx_admin', 'admin');
  const beyond = [
    'select * from kept',
    'select rolpassword from pg_authid',
    "copy (select 1) to program 'true'",
    `set role ${owner}`,
  ];
  for (const text of [...beyond, `alter role ${owner} superuser`])
    await expect(ask(admin, text)).rejects.toThrow(/permission denied/);
  for (const number of [1, 2, 3]) {
    const [former, next] = [getLogin(number - 1, owner), getLogin(number, owner)];
    await send(admin, setSql(next, owner), `p${number}`);
    await forbidden(as(next, `p${number}`));
    await send(admin, buildRetireSql(former));
    await expect(ask(as(former, `p${number - 1}`), 'select 1')).rejects.toThrow(
      /not permitted|authentication failed/,
    );
  }
  const third = getLogin(3, owner);
  expect(await ask(as(third, 'p3'), 'select session_user as login, current_user as owner')).toEqual(
    [{ login: third, owner }],
  );
});

test('a database on another volume gets the password of today, and no former one opens it', async () => {
  // A new volume knows the first login alone, and one that was in use before knows another.
  for (const [number, formers] of [
    [1, [first]],
    [2, [first, as(getLogin(1, owner), 'p1')]],
  ] as const) {
    const login = getLogin(number, owner);
    for (const _twice of [1, 2])
      await send(as('gx_admin', 'admin'), adoptSql(login, owner), `p${number}`);
    expect(await ask(as(login, `p${number}`), 'select current_user as role')).toEqual([
      { role: owner },
    ]);
    for (const former of formers)
      await expect(ask(former, 'select 1')).rejects.toThrow(/not permitted|authentication failed/);
    await serve(as(login, `p${number}`));
  }
});
