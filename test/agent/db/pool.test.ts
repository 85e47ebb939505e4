import { afterAll, beforeAll, expect, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import { openDatabase, type Database, type Db } from '../../../src/agent/db/base/pool.ts';
import { Conflict, Unavailable } from '../../../src/errors.ts';
import { until } from '../../kit/until.ts';
import { silentLog } from '../../kit/log.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

let server: TestDatabase;
let db: Database;

beforeAll(async () => {
  server = await freshDatabase({ migrated: false });
  await server.sql('create table kept (number int)');
  db = openDatabase(
    { uri: server.uri, poolSize: 2, statementTimeoutSeconds: 60, name: 'pool-test' },
    silentLog(),
  );
});

afterAll(async () => {
  await db.close();
  await server.drop();
});

/** Ends the connection from the other side, as a dying server does, and waits until the client has noticed. */
async function cut(tx: Db): Promise<void> {
  const [own] = await tx.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' });
  await server.sql('select pg_terminate_backend($1)', [own!.pid]);
  await wait(50);
}

test.each([
  [
    'between two statements',
    (tx: Db) => cut(tx).then(() => tx.query({ text: 'insert into kept values (2)' })),
  ],
  ['before its commit', (tx: Db) => cut(tx)],
])(
  'a connection that is lost in a transaction %s fails it alone, with a sentence, and ends no process',
  async (_when, rest) => {
    const transaction = db.transaction(async (tx) => {
      await tx.query({ text: 'insert into kept values (1)' });
      await rest(tx);
    });
    const failure: unknown = await transaction.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Unavailable);
    expect((failure as Error).message).toBe('The database does not answer.');
    expect(await db.query({ text: 'select * from kept' })).toEqual([]);
  },
);

test('so does one that is lost while a statement is under way', async () => {
  const sleeping = db.transaction((tx) => tx.query({ text: 'select pg_sleep(30)' }));
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pool-test' and query like '%sleep%'`;
  const ended = until('it sleeps', async () => (await server.sql(end)).length > 0);
  await expect(sleeping).rejects.toThrow(Unavailable);
  await ended;
  expect(await db.query({ text: 'select 1 as one' })).toEqual([{ one: 1 }]);
});

test('of two transactions that wait for each other one gets a conflict that says so', async () => {
  await server.sql('insert into kept values (101), (102)');
  const both = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
  const change = (own: number, other: number, at: number): Promise<unknown> =>
    db.transaction(async (tx) => {
      await tx.query({ text: 'update kept set number = number where number = $1', values: [own] });
      both[at]!.resolve();
      await Promise.all(both.map(({ promise }) => promise));
      await tx.query({
        text: 'update kept set number = number where number = $1',
        values: [other],
      });
    });
  const ends = await Promise.allSettled([change(101, 102, 0), change(102, 101, 1)]);
  const refused = ends.flatMap((end) =>
    end.status === 'rejected' ? [end.reason as Conflict] : [],
  );
  expect(refused).toHaveLength(1);
  expect(refused[0]).toBeInstanceOf(Conflict);
  expect(refused[0]).toMatchObject({ status: 409, message: expect.stringContaining('deadlock') });
});

test('Postgres ends a statement that takes longer than it may, by the limit that the connection asks for', async () => {
  const shown = async (seconds: number, ask = 'show statement_timeout'): Promise<unknown> => {
    const bounded = openDatabase(
      { uri: server.uri, poolSize: 1, statementTimeoutSeconds: seconds, name: 'pool-test' },
      silentLog(),
    );
    return bounded.query({ text: ask }).finally(() => bounded.close());
  };
  expect(await shown(900)).toEqual([{ statement_timeout: '15min' }]);
  await expect(shown(1, 'select pg_sleep(30)')).rejects.toThrow(
    'canceling statement due to statement timeout',
  );
});

test.each(['25006', '53100'])(
  'a database that has no room for a write (%s) says so, and that it can be read',
  async (code) => {
    const refused = db.query({
      text: `do $$ begin raise exception 'no' using errcode = '${code}'; end $$`,
    });
    await expect(refused).rejects.toThrow(Unavailable);
    await expect(refused).rejects.toThrow(
      /accepts no writes, because its volume is full .* reads still work/,
    );
  },
);

test('one that insists writes to a database that was made read-only', async () => {
  const given = { uri: server.uri, poolSize: 1, statementTimeoutSeconds: 60, name: 'pool-test' };
  const [name] = await server.sql<{ name: string }>('select current_database() as name');
  await server.sql(`alter database ${name!.name} set default_transaction_read_only = on`);
  const [refused, insisting] = [
    openDatabase(given, silentLog()),
    openDatabase({ ...given, insists: true }, silentLog()),
  ];
  const write = { text: 'insert into kept values (5)' };
  await expect(refused.query(write)).rejects.toThrow(Unavailable);
  expect(await insisting.query({ ...write, text: `${write.text} returning number` })).toEqual([
    { number: 5 },
  ]);
  await insisting.close();
  await Promise.all([refused.close(), insisting.close()]);
  await server.sql(`alter database ${name!.name} reset default_transaction_read_only`);
});
