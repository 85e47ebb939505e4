import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* The statements that make a copy quiet, on a real Postgres with the agents' schema. */
const [QUIET, UNPIN] = ['quiet', 'unpin'].map((name) =>
  readFileSync(`src/backup/${name}.sql`, 'utf8'),
);
const [THREAD, OTHER, TEMPORARY] = [1, 2, 3].map(
  (digit) => `0000000${digit}-0000-4000-8000-000000000000`,
);
const ASSISTANT = '00000009-0000-4000-8000-000000000000';
let database: TestDatabase;

beforeAll(async () => {
  database = await freshDatabase();
  const { sql } = database;
  await sql(
    `insert into gx.assistant (assistant_id, graph_id, name) values ('${ASSISTANT}', 'chat', 'chat')`,
  );
  await sql(`insert into gx.thread (thread_id, status, interrupts, held_until, holder) values
    ('${THREAD}', 'interrupted', '{"a": 1}', now() + interval '1 hour', gen_random_uuid()), ('${OTHER}', 'idle', '{}', null, null)`);
  await sql(
    `insert into gx.thread (thread_id, temporary, remove_after) values ('${TEMPORARY}', true, now() + interval '1 day')`,
  );
  const run = (status: string, thread: string | undefined, more = 'null'): Promise<unknown> =>
    sql(`insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy, worker, lease_until, webhook)
      values (gen_random_uuid(), '${thread}', '${ASSISTANT}', 'chat', '${status}', '{}', 'enqueue', ${status === 'running' ? 'gen_random_uuid(), now()' : 'null, null'}, ${more})`);
  await run('success', THREAD, `'{"push": {"one": {"host": "example.com"}}}'`);
  await run('running', THREAD, `'{"url": "https://example.com", "host": "example.com"}'`);
  await run('pending', THREAD);
  await run('pending', OTHER);
  await run('pending', TEMPORARY);
  await sql(
    `insert into gx.webhook (run_id, url, host, message) values (gen_random_uuid(), '"https://example.com"', 'example.com', '{}')`,
  );
  await sql(`insert into gx.cron (cron_id, assistant_id, schedule, next_run_date, payload)
    values (gen_random_uuid(), '${ASSISTANT}', '* * * * *', now() - interval '1 minute', '{}')`);
  await sql(`insert into pgboss.job (name, data) select name, '{}' from pgboss.queue limit 1`);
  await sql(`insert into gx.worker (worker, lock) values (gen_random_uuid(), 1)`);
  await sql(`update gx.run set revision = 'chat-00007' where status <> 'success'`);
  await sql(`update gx.thread set revision = 'chat-00007', kept = true`);
  await sql(
    `insert into gx.rollout (current, living, made_at) values ('chat-00007', '{chat-00007}', now())`,
  );
  await sql(`begin; ${QUIET} ${UNPIN} commit;`);
});
afterAll(() => database.drop());

const one = async (query: string): Promise<Record<string, unknown>> =>
  (await database.sql(query))[0]!;

test('no run is under way or waits, and each that was has ended as interrupted', async () => {
  expect(
    await database.sql(
      'select status, count(*)::int as runs, count(ended_at)::int as ended from gx.run group by status order by status',
    ),
  ).toEqual([
    { status: 'interrupted', runs: 4, ended: 4 },
    { status: 'success', runs: 1, ended: 0 },
  ]);
  expect(
    await one(
      'select count(*)::int as held from gx.run where worker is not null or lease_until is not null',
    ),
  ).toEqual({ held: 0 });
  expect(
    await one(
      'select (select count(*)::int from pgboss.job) as tickets, (select count(*)::int from gx.worker) as workers',
    ),
  ).toEqual({
    tickets: 0,
    workers: 0,
  });
});

test('a thread that waited for an answer still does, and those of single runs are to go', async () => {
  const { rows, removable } = await one(`select
    (select json_agg(json_build_array(status, interrupts, held_until) order by thread_id) from gx.thread where not temporary) as rows,
    (select count(*)::int from gx.thread where remove_after <= now()) as removable`);
  expect(rows).toEqual([
    ['interrupted', { a: 1 }, null],
    ['idle', {}, null],
  ]);
  expect(removable).toBe(1);
});

test('no cron fires, and nobody is told of anything', async () => {
  expect(await database.sql('select enabled from gx.cron')).toEqual([{ enabled: false }]);
  expect(
    await one(
      'select (select count(*)::int from gx.webhook) as messages, (select count(webhook)::int from gx.run) as told',
    ),
  ).toEqual({
    messages: 0,
    told: 0,
  });
});

test('no run or thread belongs to a revision of the original, and the statements run on a schema without revisions', async () => {
  expect(
    await one(`select (select count(revision)::int from gx.run) as runs, (select count(*)::int from gx.rollout) as plans,
      (select count(*)::int from gx.thread where revision is not null or kept is not null) as threads`),
  ).toEqual({ runs: 0, plans: 0, threads: 0 });
  // the views of reports came later than revisions: a schema without these has none
  await database.sql(
    'drop schema gx_report cascade; alter table gx.run drop column revision; drop table gx.rollout',
  );
  await database.sql(UNPIN!);
});
