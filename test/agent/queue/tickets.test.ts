import { randomUUID } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { StartError } from '../../../src/errors.ts';
import type { Database } from '../../../src/agent/db/base/pool.ts';
import { openTickets, type Tickets } from '../../../src/agent/queue/tickets.ts';
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
  const { sql, values } = tickets.buildInsert([{ ...later, after_seconds: 60 }]);
  await on.db.query({ text: sql(1), values });
  await tickets.send(on.db, continued, { continued: true });
  expect((await take(tickets, 1)).threads).toEqual([continued.thread_id]);
  expect((await take(tickets, 10)).threads).toEqual([first.thread_id]);
  await tickets.close();
});

test('tickets are there only if the statement that makes their runs is', async () => {
  const tickets = await open();
  const inserted = on.db.transaction(async (tx) => {
    const { sql, values } = tickets.buildInsert([run(), run()]);
    await tx.query({ text: sql(1), values });
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

/** Opens pg-boss itself on the same tables. */
async function openBoss(): Promise<PgBoss> {
  const executeSql = async (text: string, values: unknown[] = []) => {
    const result = (await on.db.pool.query(text, values)) as unknown as
      | { rows: object[] }
      | { rows: object[] }[];
    return Array.isArray(result) ? { rows: result.flatMap(({ rows }) => rows) } : result;
  };
  const boss = new PgBoss({
    db: { executeSql },
    schema: 'pgboss',
    schedule: false,
    supervise: false,
    registerInstance: false,
  });
  await boss.start();
  return boss;
}

/** Returns the only job, with its times as seconds from now, and without its id. */
async function readJob(): Promise<Record<string, unknown>> {
  const [row, ...others] = await on.database.sql<{ job: Record<string, unknown> }>(
    'select to_jsonb(j) as job from pgboss.job j',
  );
  expect(others).toEqual([]);
  const { id: _id, ...job } = row!.job;
  return Object.fromEntries(
    Object.entries(job).map(([name, value]) => [
      name,
      typeof value === 'string' && /_(on|after|until)$/.test(name)
        ? Math.round((Date.parse(value) - Date.now()) / 10_000)
        : value,
    ]),
  );
}

test.each([0, 600])(
  'tickets are the jobs that pg-boss itself would write and take, %i seconds from now',
  async (after_seconds) => {
    const tickets = await open();
    const { run_id, thread_id } = run();
    const boss = await openBoss();
    const { sql, values } = tickets.buildInsert([{ run_id, thread_id, after_seconds }]);
    await on.db.query({ text: sql(1), values });
    const written = await readJob();
    const due = "update pgboss.job set start_after = now() - interval '1 second'";
    await on.database.sql(due);
    const { tickets: taken } = await take(tickets, 10);
    const claimed = await readJob();
    await on.database.sql('truncate pgboss.job_common');

    const startAfter = `${after_seconds} seconds`;
    await boss.insert('runs', [
      { data: { run_id, thread_id }, ...(after_seconds > 0 && { startAfter }) },
    ]);
    expect(written).toEqual(await readJob());
    await on.database.sql(due);
    const [job] = await boss.fetch('runs', { batchSize: 10 });
    expect(claimed).toEqual(await readJob());
    expect([taken.length, job!.data]).toEqual([1, { run_id, thread_id }]);
    await boss.stop({ graceful: false, close: false });
    await tickets.close();
  },
);

/** Looks after tickets at once, as workers do once a minute. */
async function lookAfterTickets(): Promise<void> {
  await on.database.sql(
    'update pgboss.queue set monitor_on = null, monitor_claim_on = null, maintain_on = null',
  );
  const boss = await openBoss();
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
