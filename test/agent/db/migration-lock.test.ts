import { Client } from 'pg';
import { expect, test } from 'vitest';
import { applyMigrations } from '../../../src/agent/db/migrate.ts';
import { openDatabase } from '../../../src/agent/db/base/pool.ts';
import { EXIT, StartError } from '../../../src/errors.ts';
import { silentLog } from '../../kit/log.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* Pods of a deployment start at once, and each brings the database up to date. */

test('one process migrates at a time: the others wait for it, and say so when it takes too long', async () => {
  const server = await freshDatabase({ migrated: false, superuser: true });
  const db = openDatabase(
    { uri: server.uri, poolSize: 4, statementTimeoutSeconds: 60, name: 'migration-test' },
    silentLog(),
  );
  await server.sql(`create table public.patience (told text);
    create function public.note() returns event_trigger language plpgsql as
      $$ begin insert into public.patience values (current_setting('lock_timeout')); end $$;
    create event trigger note on ddl_command_end execute function public.note()`);
  const applied = () => server.sql('select number from gx.migration order by number');
  await Promise.all([applyMigrations(db), applyMigrations(db), applyMigrations(db)]);
  const all = await applied();
  expect(all).not.toEqual([]);
  expect(await server.sql('select distinct told from public.patience')).toEqual([{ told: '1min' }]);

  // Another process: it holds the lock for as long as its connection is open.
  const other = new Client({ connectionString: server.uri });
  await other.connect();
  await other.query('select pg_advisory_lock(7233412)');
  const refused: unknown = await applyMigrations(db, { patience: 1 }).catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(StartError);
  expect(refused).toMatchObject({
    exitCode: EXIT.migration,
    message: 'Another process has been migrating this database for more than 1 seconds.',
  });
  const waiting = applyMigrations(db);
  const waits = `select 1 from pg_stat_activity where application_name = 'migration-test' and wait_event = 'advisory'`;
  await until('it waits', async () => (await server.sql(waits)).length > 0);
  await other.end();
  await waiting;
  expect(await applied()).toEqual(all);
  await db.close();
  await server.drop();
});
