import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT } from '../../../src/errors.ts';
import { failedStart } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Versions before the first release had other steps, so that what they made can't be brought up to date. */

let database: TestDatabase;

beforeAll(async () => {
  database = await freshDatabase({ migrated: false });
  await database.sql(`create schema gx;
    create table gx.migration (
      number integer primary key, name text not null, major integer not null, applied_at timestamptz not null default now());
    insert into gx.migration (number, name, major) values
      (1, '0001-records.sql', 1), (2, '0002-checkpoints.sql', 1), (28, '0028-idempotency-keys.sql', 1);
    create table gx.thread (thread_id uuid primary key, "values" jsonb);
    insert into gx.thread values ('11111111-1111-4111-8111-111111111111', '{"left": 1}')`);
});
afterAll(() => database.drop());

const tables = (): Promise<unknown[]> =>
  database.sql(
    `select table_name from information_schema.tables where table_schema = 'gx' order by 1`,
  );

test('a database of a version before the first release is refused with its version and a way out, and stays as it is', async () => {
  const { code, output } = await failedStart({ database: database.uri });
  expect(code).toBe(EXIT.migration);
  expect(output).toContain(
    'The database has schema 28 (0028-idempotency-keys.sql) of a version before the first release.',
  );
  expect(output).toContain(
    'start with an empty database. To keep threads, read them by the API of that version.',
  );
  expect(await tables()).toEqual([{ table_name: 'migration' }, { table_name: 'thread' }]);
  expect(await database.sql('select "values" from gx.thread')).toEqual([{ values: { left: 1 } }]);
  expect(await database.sql('select max(number) as newest from gx.migration')).toEqual([
    { newest: 28 },
  ]);
});
