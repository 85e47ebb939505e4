import type { Client, Cron } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* Crons that fire. Most fire once a year, and a test says that the year is over. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
  });
  ({ client } = agent);
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const YEARLY = '0 0 1 1 *';
const EVERY_SECOND = '* * * * * *';

/** Makes crons due that many seconds ago, and tells the servers. */
async function becomeDue(crons: { cron_id: string }[], ago = 0): Promise<void> {
  await database.sql(
    `update gx.cron set next_run_date = now() - $2 * interval '1 second' where cron_id = any($1)`,
    [crons.map(({ cron_id }) => cron_id), ago],
  );
  await database.sql(`select pg_notify('gx_all', '{"about":"cron"}')`);
}

type Stored = {
  run_id: string;
  thread_id: string;
  status: string;
  metadata: Record<string, unknown>;
  kwargs: unknown;
};

/** The runs of a cron, the oldest first, with those whose thread is kept. */
const runsOf = ({ cron_id }: { cron_id: string }): Promise<Stored[]> =>
  database.sql<Stored>(
    `select * from gx.run where metadata->>'cron_id' = $1 order by created_at, run_id`,
    [cron_id],
  );

const stored = async ({ cron_id }: { cron_id: string }): Promise<Cron> =>
  (await fetch(`${agent.url}/runs/crons/${cron_id}`)).json() as Promise<Cron>;

const moved = (cron: Pick<Cron, 'cron_id'>): Promise<boolean> =>
  until('the cron has its next date', async () => {
    const { next_run_date: next } = await stored(cron);
    return next === null || Date.parse(next!) > Date.now();
  });

describe('a tick', () => {
  test('makes a run with the call and the labels of its cron, which the graph knows by its id', async () => {
    const cron = await client.crons.create('shows', {
      schedule: EVERY_SECOND,
      input: {},
      context: { model: 'small' },
      metadata: { team: 'a' },
      onRunCompleted: 'keep',
    });
    const [run] = await until('it fired twice', async () => {
      const runs = await runsOf(cron);
      return runs.length >= 2 && runs;
    });
    await client.crons.delete(cron.cron_id);
    const { seen } = (await client.runs.join(run!.thread_id, run!.run_id)) as {
      seen: Record<string, unknown>;
    };
    expect(seen).toMatchObject({
      configurable: { cron_id: cron.cron_id, model: 'small' },
      context: { model: 'small' },
      metadata: { team: 'a' },
    });
    const threads = await client.threads.search({ metadata: { cron_id: cron.cron_id } });
    expect(threads.map(({ thread_id }) => thread_id)).toContain(run!.thread_id);
    expect(new Set(threads.map(({ thread_id }) => thread_id)).size).toBe(threads.length);
  });

  test('removes the thread of its run afterwards, unless it is to be kept', async () => {
    const cron = await client.crons.create('shows', { schedule: YEARLY, input: {} });
    const threads = `select count(*)::int as count from gx.thread where metadata->>'cron_id' = '${cron.cron_id}'`;
    const seen = `create table seen_threads as select 1 as n where false;
      create function see_thread() returns trigger language plpgsql as $$ begin insert into seen_threads values (1); return null; end $$;
      create trigger see_thread after insert on gx.thread for each row when (new.metadata->>'cron_id' = '${cron.cron_id}') execute function see_thread()`;
    await database.sql(seen);
    await becomeDue([cron]);
    await expect.poll(() => database.sql('select * from seen_threads')).toHaveLength(1);
    await expect.poll(() => database.sql(threads)).toEqual([{ count: 0 }]);
  });

  test('stands for all that were missed', async () => {
    const cron = await client.crons.create('shows', {
      schedule: '0 * * * *',
      input: {},
      onRunCompleted: 'keep',
    });
    await becomeDue([cron], 86_400);
    await moved(cron);
    expect(await runsOf(cron)).toHaveLength(1);
  });

  test('does not come while the cron is disabled, nor what was missed meanwhile', async () => {
    const cron = await client.crons.create('shows', {
      schedule: YEARLY,
      input: {},
      onRunCompleted: 'keep',
      enabled: false,
    });
    const other = await client.crons.create('shows', { schedule: YEARLY, input: {} });
    await becomeDue([cron, other], 60);
    await moved(other);
    await client.crons.update(cron.cron_id, { enabled: true });
    await becomeDue([other]);
    await moved(other);
    expect(Date.parse((await stored(cron)).next_run_date!)).toBeGreaterThan(Date.now());
    expect(await runsOf(cron)).toEqual([]);
  });

  test('after the end does not come, and one before it is the last', async () => {
    const end = new Date(Date.now() + 3_600_000).toISOString();
    const cron = await client.crons.create('shows', {
      schedule: YEARLY,
      input: {},
      onRunCompleted: 'keep',
    });
    await database.sql('update gx.cron set end_time = $2 where cron_id = $1', [cron.cron_id, end]);
    await becomeDue([cron]);
    await until('there is no next date', async () => (await stored(cron)).next_run_date === null);
    expect(await runsOf(cron)).toHaveLength(1);
    await database.sql(
      `update gx.cron set end_time = now() - interval '1 hour' where cron_id = $1`,
      [cron.cron_id],
    );
    await becomeDue([cron], 7200);
    await until('there is no next date', async () => (await stored(cron)).next_run_date === null);
    expect(await runsOf(cron)).toHaveLength(1);
  });
});

describe('on a thread', () => {
  /** A thread is busy with a run that begins later, too. */
  const later = { input: {}, afterSeconds: 3600 };

  test('runs queue up, or are left out when the thread is busy', async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.create(thread_id, 'shows', later);
    const queued = await client.crons.createForThread(thread_id, 'shows', {
      schedule: YEARLY,
      input: {},
      metadata: { nth: 1 },
    });
    const second = await client.crons.createForThread(thread_id, 'shows', {
      schedule: YEARLY,
      input: {},
      metadata: { nth: 2 },
    });
    const rejected = await client.crons.createForThread(thread_id, 'shows', {
      schedule: YEARLY,
      input: {},
      multitaskStrategy: 'reject',
    });
    await becomeDue([queued, second, rejected]);
    for (const cron of [queued, second, rejected]) await moved(cron);
    expect([
      (await runsOf(queued)).length,
      (await runsOf(second)).length,
      (await runsOf(rejected)).length,
    ]).toEqual([1, 1, 0]);
    await expect
      .poll(() => agent.output())
      .toContain('a run of a cron could not be made; it is left out');
  });

  test('a run interrupts the one before it when the strategy says so', async () => {
    const { thread_id } = await client.threads.create();
    const busy = await client.runs.create(thread_id, 'shows', later);
    const cron = await client.crons.createForThread(thread_id, 'shows', {
      schedule: YEARLY,
      input: {},
      multitaskStrategy: 'interrupt',
    });
    await becomeDue([cron]);
    await expect
      .poll(async () => (await client.runs.get(thread_id, busy.run_id)).status)
      .toBe('interrupted');
    const [run] = await until('it fired', async () => {
      const runs = await runsOf(cron);
      return runs.length > 0 && runs;
    });
    await expect
      .poll(async () => (await client.runs.get(thread_id, run!.run_id)).status)
      .toBe('success');
  });

  test('a cron whose thread is gone goes, too', async () => {
    const { thread_id } = await client.threads.create();
    const cron = await client.crons.createForThread(thread_id, 'shows', {
      schedule: YEARLY,
      input: {},
    });
    await database.sql('delete from gx.thread where thread_id = $1', [thread_id]);
    await becomeDue([cron]);
    await expect
      .poll(async () => (await fetch(`${agent.url}/runs/crons/${cron.cron_id}`)).status)
      .toBe(404);
  });
});

test('a cron that can’t run is left out, and does not keep the others from firing', async () => {
  const { assistant_id } = await client.assistants.create({ graphId: 'shows' });
  const broken = await client.crons.create(assistant_id, { schedule: YEARLY, input: {} });
  const well = await client.crons.create('shows', {
    schedule: YEARLY,
    input: {},
    onRunCompleted: 'keep',
  });
  await database.sql(
    `update gx.assistant set config = '{"recursion_limit": 2000000}' where assistant_id = $1`,
    [assistant_id],
  );
  await becomeDue([broken, well]);
  await moved(broken);
  await moved(well);
  expect([(await runsOf(broken)).length, (await runsOf(well)).length]).toEqual([0, 1]);
});

test('many that are due at once all fire once', async () => {
  const crons = await Promise.all(
    Array.from({ length: 250 }, () =>
      client.crons.create('shows', { schedule: YEARLY, input: {}, onRunCompleted: 'keep' }),
    ),
  );
  await becomeDue(crons);
  for (const cron of crons) await moved(cron);
  const [counted] = await database.sql<{ runs: number; crons: number }>(
    `select count(*)::int as runs, count(distinct metadata->>'cron_id')::int as crons from gx.run where metadata->>'cron_id' = any($1)`,
    [crons.map(({ cron_id }) => cron_id)],
  );
  expect(counted).toEqual({ runs: 250, crons: 250 });
});
