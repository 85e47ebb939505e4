import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { api as startApi, Fleet, say } from './fleet.ts';

/* Two servers fire crons, and are killed with SIGKILL while they do. Does each tick make exactly one run? */

const KILLS = Number(process.env.GX_CRASH_KILLS ?? 100);
const CRONS = 10;
/** Milliseconds after which no more servers are killed: a busy machine takes long to start one. */
const ENOUGH = 900_000;
/** Milliseconds within which a kill comes after the others are ready: a second, in which each cron fires once. */
const WITHIN = 1000;

let database: TestDatabase;
let api: AgentProcess;
let fleet: Fleet;

/** Makes the database record each tick that was taken and each run that a cron made, with their transaction. */
const WITNESS = `
  create table taken (cron_id uuid, tick timestamptz, next timestamptz, tx xid8, at timestamptz default clock_timestamp());
  create table made (cron_id uuid, run_id uuid, tx xid8);
  create function witness_tick() returns trigger language plpgsql as $$
    begin insert into taken values (new.cron_id, old.next_run_date, new.next_run_date, pg_current_xact_id()); return null; end $$;
  create function witness_run() returns trigger language plpgsql as $$
    begin insert into made values ((new.metadata->>'cron_id')::uuid, new.run_id, pg_current_xact_id()); return null; end $$;
  create trigger witness_tick after update of next_run_date on gx.cron for each row
    when (old.next_run_date is distinct from new.next_run_date) execute function witness_tick();
  create trigger witness_run after insert on gx.run for each row when (new.metadata ? 'cron_id') execute function witness_run();`;

beforeAll(async () => {
  database = await freshDatabase();
  await database.sql(WITNESS);
  const options = { database: database.uri };
  api = await startApi(options);
  fleet = new Fleet(options);
  await fleet.start(2);
});

afterAll(async () => {
  await fleet.stop();
  await api.kill();
  await database.drop();
});

const countOf = async (table: string): Promise<number> =>
  (await database.sql<{ count: number }>(`select count(*)::int as count from ${table}`))[0]!.count;

test(`two servers are killed up to ${KILLS} times while ${CRONS} crons fire each second`, async () => {
  const made = Array.from({ length: CRONS }, () =>
    api.client.crons.create('counted', {
      schedule: '* * * * * *',
      input: { left: 1, journal: '/dev/null' },
    }),
  );
  const crons = await Promise.all(made);
  const last = performance.now() + ENOUGH;
  for (let kill = 0; kill < KILLS && performance.now() < last; kill += 1) {
    await fleet.complete(0);
    const before = await countOf('taken');
    await until('crons fire', async () => (await countOf('taken')) > before);
    await wait(Math.random() * WITHIN);
    await fleet.kill(fleet.pids[Math.floor(Math.random() * 2)]!);
  }
  await fleet.complete();
  for (const { cron_id } of crons) await api.client.crons.delete(cron_id);
  say(
    `${fleet.killed.size} servers killed; ${await countOf('taken')} ticks, ${await countOf('made')} runs`,
  );
  expect(fleet.killed.size).toBeGreaterThanOrEqual(Math.min(KILLS, 20));
}, 1_800_000);

test('each tick was taken once, and made one run in the same transaction', async () => {
  const twice = await database.sql(
    'select cron_id, tick from taken group by 1, 2 having count(*) > 1',
  );
  expect(twice).toEqual([]);
  const without = await database.sql(
    `select t.cron_id, t.tick, count(m.run_id)::int as runs from taken t left join made m using (cron_id, tx) group by 1, 2 having count(m.run_id) <> 1`,
  );
  expect(without).toEqual([]);
  expect(await countOf('made')).toBe(await countOf('taken'));
});

test('no tick was left out while a server was there: each follows the one before, or is later because none was', async () => {
  const [gaps] = await database.sql<{ broken: number; missed: number; late: number }>(
    `select count(*) filter (where before <> tick)::int as broken, count(*) filter (where next > tick + interval '1 second')::int as missed,
        count(*) filter (where next > tick + interval '1 second' and at < tick + interval '1 second')::int as late
      from (select *, lag(next) over (partition by cron_id order by tick) as before from taken) t`,
  );
  say(`ticks that stand for more than one second: ${gaps!.missed}`);
  expect(gaps).toMatchObject({ broken: 0, late: 0 });
});
