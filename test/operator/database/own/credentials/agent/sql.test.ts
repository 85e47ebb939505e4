import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  getLogin,
  buildRetireSql,
  setSql,
} from '../../../../../../src/operator/database/own/credentials/sql.ts';
import { buildScramVerifier } from '../../../../../../src/operator/database/own/credentials/secret.ts';
import { freshDatabase, type TestDatabase } from '../../../../../kit/postgres.ts';

/* Roles belong to the whole server, so this file has an owner of its own. */
const owner = `owner_${randomBytes(4).toString('hex')}`;
let database: TestDatabase;

beforeAll(async () => {
  database = await freshDatabase({ migrated: false, superuser: true });
  await database.sql(`create role ${owner} superuser login password 'p0'`);
});
afterAll(async () => {
  const logins = [1, 2].map((number) => getLogin(number, owner));
  await database.sql(
    `reassign owned by ${owner} to current_user; drop owned by ${owner}; drop role if exists ${logins.join(', ')}`,
  );
  await database.sql(`drop role ${owner}`);
  await database.drop();
});

const connected = async (user: string, password: string): Promise<Client> => {
  const url = new URL(database.uri);
  Object.assign(url, { username: user, password });
  const client = new Client({ connectionString: url.href });
  client.on('error', () => undefined);
  await client.connect();
  return client;
};
const whoIs = async (user: string, password: string): Promise<unknown> => {
  const client = await connected(user, password);
  try {
    return (await client.query('select session_user as login, current_user as owner')).rows[0];
  } finally {
    await client.end();
  }
};
/** Replaces the variable in the text, as psql does. */
const told = async (
  as: { user: string; password: string },
  text: string,
  password = '',
): Promise<void> => {
  const client = await connected(as.user, as.password);
  await client.query(
    text.replace(":'verifier'", `'${buildScramVerifier(password, randomBytes(16))}'`),
  );
  await client.end();
};

test('two logins take turns: both work in between, and the former one is refused afterwards', async () => {
  const logins = [0, 1, 2, 3].map((number) => ({
    user: getLogin(number, owner),
    password: `p${number}`,
  }));
  expect(logins.map(({ user }) => user)).toEqual([owner, `${owner}_a`, `${owner}_b`, `${owner}_a`]);
  const [first, second, third, fourth] = logins as [
    (typeof logins)[0],
    (typeof logins)[0],
    (typeof logins)[0],
    (typeof logins)[0],
  ];
  for (const [from, to] of [
    [first, second],
    [second, third],
    [third, fourth],
  ] as const) {
    await told(from, setSql(to.user, owner), to.password);
    await told(from, setSql(to.user, owner), to.password);
    expect(await whoIs(from.user, from.password)).toMatchObject({ owner });
    expect(await whoIs(to.user, to.password)).toEqual({ login: to.user, owner });
    const open = await connected(from.user, from.password);
    const ended = new Promise<void>((resolve) => void open.once('end', resolve));
    await told(to, buildRetireSql(from.user));
    await told(to, buildRetireSql(from.user));
    await ended;
    await expect(whoIs(from.user, from.password)).rejects.toThrow(
      /not permitted to log in|authentication failed/,
    );
    expect(await whoIs(to.user, to.password)).toMatchObject({ owner });
  }
});

test('what one login makes belongs to the owner, and the other one changes it', async () => {
  const [a, b] = [
    { user: getLogin(1, owner), password: 'a' },
    { user: getLogin(2, owner), password: 'b' },
  ];
  for (const { user, password } of [a, b]) {
    const text = setSql(user, owner).replace(
      ":'verifier'",
      `'${buildScramVerifier(password, randomBytes(16))}'`,
    );
    await database.sql(text);
  }
  const [one, other] = [await connected(a.user, a.password), await connected(b.user, b.password)];
  await one.query('create table made (id integer)');
  await other.query('alter table made add column more text');
  const { rows } = await other.query("select tableowner from pg_tables where tablename = 'made'");
  expect(rows).toEqual([{ tableowner: owner }]);
  await Promise.all([one.end(), other.end()]);
});
