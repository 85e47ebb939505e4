import { randomUUID } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { StartError } from '../../../src/errors.ts';
import type { Database } from '../../../src/agent/db/base/pool.ts';
import { openTickets, type Tickets, checkParts } from '../../../src/agent/queue/tickets.ts';
import { startAgent } from '../../kit/agent-server.ts';
import { silentLog } from '../../kit/log.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';
import { until } from '../../kit/until.ts';

/* Tickets are written and taken by pg-boss, in statements of ours. */

let on: OpenDatabase;
beforeAll(async () => {
  on = await freshOpenDatabase(4);
});
afterAll(() => on.drop());
beforeEach(() => on.database.sql('truncate pgboss.job_common'));

const open = (revision?: string, db: Database = on.db): Promise<Tickets> =>
  openTickets(db, { works: false, ...(revision && { revision }) }, silentLog());
type Waiting = { run_id: string; thread_id: string; revision: string | null };
const run = (revision: string | null = null): Waiting => ({
  run_id: randomUUID(),
  thread_id: randomUUID(),
  revision,
});

/** Takes tickets, without any run. */
const take = (tickets: Tickets, limit: number): Promise<{ tickets: string[]; threads: string[] }> =>
  tickets.take(limit, async ({ sql, values }) => {
    const rows = await on.db.query<{ id: string; data: { thread_id: string } }>({
      text: `with t as (${sql(1)}) select * from t`,
      values,
    });
    return { tickets: rows.map(({ id }) => id), threads: rows.map(({ data }) => data.thread_id) };
  });

const states = async (): Promise<string[]> =>
  (await on.database.sql<{ state: string }>('select state from pgboss.job')).map(
    ({ state }) => state,
  );

test('a revision has tickets of its own, and none is sent for a run of another', async () => {
  const [blue, green] = await Promise.all([open('blue'), open('green')]);
  const waiting = run('blue');
  await blue.send(on.db, waiting);
  await blue.send(on.db, run('green'));
  expect((await take(green, 10)).threads).toEqual([]);
  expect((await take(blue, 10)).threads).toEqual([waiting.thread_id]);
  await blue.close();
  await green.close();
});

test('a run that was under way goes first, and one for later is not taken yet', async () => {
  const tickets = await open();
  const [first, later, continued] = [run(), run(), run()];
  await tickets.send(on.db, first);
  await tickets.insert([{ ...later, after_seconds: 60 }], ({ sql, values }) =>
    on.db.query({ text: sql(1), values }),
  );
  await tickets.send(on.db, continued, { continued: true });
  expect((await take(tickets, 1)).threads).toEqual([continued.thread_id]);
  expect((await take(tickets, 10)).threads).toEqual([first.thread_id]);
  await tickets.close();
});

test('tickets are there only if the statement that makes their runs is', async () => {
  const tickets = await open();
  const inserted = on.db.transaction(async (tx) => {
    await tickets.insert([run(), run()], ({ sql, values }) => tx.query({ text: sql(1), values }));
    throw new StartError('the run could not be stored');
  });
  await expect(inserted).rejects.toThrow('the run could not be stored');
  expect(await states()).toEqual([]);
  await tickets.close();
});

test('tickets stay where they are if the statement that claims their runs fails', async () => {
  const tickets = await open();
  await tickets.send(on.db, run());
  const failed = tickets.take(
    10,
    ({ sql, values }) =>
      on.db.query({ text: `with t as (${sql(1)}) select 1 / 0 from t`, values }) as never,
  );
  await expect(failed).rejects.toThrow('division by zero');
  expect(await states()).toEqual(['created']);
  await tickets.close();
});

test('a unique index that refuses a claim is not taken for an empty queue', async () => {
  const tickets = await open();
  const refused = Object.assign(new Error('refused'), { code: '23505' });
  await expect(tickets.take(10, () => Promise.reject(refused))).rejects.toThrow('refused');
  await tickets.close();
});

test('tickets that were taken are deleted, though nobody waits for it', async () => {
  const tickets = await open();
  await tickets.send(on.db, run());
  await take(tickets, 10);
  expect(await states()).toEqual(['active']);
  await until('it is deleted', async () => (await states()).length === 0, 5);
  await tickets.send(on.db, run());
  await take(tickets, 10);
  await tickets.close();
  expect(await states()).toEqual([]);
});

/** A pg-boss that sends other texts. Its calls are all that the check looks at. */
const other = ({
  insert = 'insert into job values ($1)',
  fetch = 'with n as (select 1) update job returning id, name, data',
}) => {
  const sends =
    (text: string) =>
    async (
      _: string,
      __: unknown,
      options: { db: { executeSql(text: string): Promise<unknown> } },
    ) =>
      options.db.executeSql(text);
  return {
    insert: sends(insert),
    fetch: (name: string, options: Parameters<ReturnType<typeof sends>>[2]) =>
      sends(fetch)(name, undefined, options),
  } as unknown as PgBoss;
};

test('a pg-boss whose statements can be no parts of ours is refused at the start', async () => {
  await checkParts(other({}), 'runs');
  const reads = 'This version of pg-boss takes jobs in a way this server does not know.';
  await expect(checkParts(other({ insert: 'select insert_jobs($1)' }), 'runs')).rejects.toThrow(
    'This version of pg-boss writes jobs',
  );
  await expect(
    checkParts(other({ insert: 'insert into job values ($1, $2)' }), 'runs'),
  ).rejects.toThrow(StartError);
  await expect(checkParts(other({ fetch: 'select * from fetch_jobs(2)' }), 'runs')).rejects.toThrow(
    reads,
  );
  await expect(
    checkParts(
      other({ fetch: 'with n as (select $1) update job returning id, name, data' }),
      'runs',
    ),
  ).rejects.toThrow(reads);
  await expect(
    checkParts(other({ fetch: 'with n as (select 1) update job returning id' }), 'runs'),
  ).rejects.toThrow(reads);
});

/** Looks after tickets at once, as workers do once a minute. */
async function lookAfterTickets(): Promise<void> {
  const executeSql = async (text: string, values: unknown[] = []) => {
    const result = (await on.db.pool.query(text, values)) as unknown as
      | { rows: object[] }
      | { rows: object[] }[];
    return Array.isArray(result) ? { rows: result.flatMap(({ rows }) => rows) } : result;
  };
  await on.database.sql(
    'update pgboss.queue set monitor_on = null, monitor_claim_on = null, maintain_on = null',
  );
  const boss = new PgBoss({
    db: { executeSql },
    schema: 'pgboss',
    schedule: false,
    supervise: false,
    registerInstance: false,
  });
  await boss.start();
  await boss.supervise('runs');
  await boss.stop({ graceful: false, close: false });
}

test('tickets of a process that died are not delivered again, and are gone after a minute', async () => {
  const tickets = await open(undefined, {
    ...on.db,
    query: (statement) =>
      statement.name?.startsWith('ticket_delete') === true
        ? Promise.reject(new Error('dead'))
        : on.db.query(statement),
  });
  await tickets.send(on.db, run());
  await take(tickets, 10);
  await tickets.close();
  expect(await states()).toEqual(['active']);

  await on.database.sql(`update pgboss.job set started_on = now() - interval '31 seconds'`);
  await lookAfterTickets();
  expect(await states()).toEqual(['failed']);
  const another = await open();
  expect((await take(another, 10)).threads).toEqual([]);
  await another.close();

  await on.database.sql(`update pgboss.job set completed_on = now() - interval '31 seconds'`);
  await lookAfterTickets();
  expect(await states()).toEqual([]);
});

test('a run whose ticket was taken by a process that died before it claimed the run is executed soon', async () => {
  const [api, worker] = await Promise.all([
    startAgent({ database: on.database.uri, env: { N_JOBS_PER_WORKER: '0' } }),
    startAgent({ database: on.database.uri }),
  ]);
  const { thread_id } = await api.client.threads.create();
  const ticket = `create function taken() returns trigger language plpgsql as $$ begin new.state = 'active'; new.started_on = now(); return new; end $$;
    create trigger taken before insert on pgboss.job_common for each row execute function taken()`;
  await on.database.sql(ticket);
  const { run_id } = await api.client.runs.create(thread_id, 'steps', { input: { left: 1 } });
  expect(await states()).toEqual(['active']);

  expect(await api.client.runs.join(thread_id, run_id)).toMatchObject({ done: 1 });

  const [row] = await on.database.sql<{ waited: number; attempt: number }>(
    'select extract(epoch from started_at - created_at)::float8 as waited, attempt from gx.run where run_id = $1',
    [run_id],
  );
  expect(row!.attempt).toBe(1);
  expect(row!.waited).toBeLessThan(10);
  await on.database.sql('drop trigger taken on pgboss.job_common');
  await Promise.all([api.kill(), worker.kill()]);
});
