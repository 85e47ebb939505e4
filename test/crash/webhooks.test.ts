import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { untilLocksCount } from '../kit/locks-count.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../kit/webhook-receiver.ts';
import { api as startApi, Fleet, say } from './fleet.ts';
import { openJournal } from './journal.ts';

/* Workers are killed with SIGKILL between the end of a run and its webhook. Who hears of the end, and how often? */

const KILLS = Number(process.env.GX_CRASH_KILLS ?? 50);
const RUNS_PER_KILL = 6;
const WORKERS = 3;

/** Every claim, and every result, of a webhook takes this long, so that a kill meets it. */
const SLOW = `
  create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.15); return null; end $$;
  create trigger slow before update on gx.webhook for each statement execute function slow();`;

/** Workers that have ended a run whose webhook nobody sends yet, and those that are sending one. */
const ENDED = `select distinct r.worker from gx.webhook w join gx.run r using (run_id) where w.worker is null and w.attempts = 0 and r.worker is not null`;
const SENDING = 'select distinct worker from gx.webhook where worker is not null';

let database: TestDatabase;
let api: AgentProcess;
let fleet: Fleet;
let receiver: WebhookReceiver;
const journal = openJournal();

beforeAll(async () => {
  database = await freshDatabase();
  await database.sql(SLOW);
  receiver = await startReceiver({ '/slow': (response) => setTimeout(() => response.end(), 200) });
  api = await startApi({ database: database.uri });
  fleet = new Fleet({ database: database.uri });
  await fleet.start(WORKERS);
  await fleet.complete();
  await untilLocksCount(database);
});

afterAll(async () => {
  await fleet.stop();
  await api.kill();
  await receiver.stop();
  await database.drop();
});

async function create(): Promise<string> {
  const { thread_id } = await api.client.threads.create();
  const input = { left: 1, pause: 50, journal: journal.file };
  return (
    await api.client.runs.create(thread_id, 'counted', { input, webhook: `${receiver.url}/slow` })
  ).run_id;
}

/** Makes runs until one of the workers that the query names is there to be killed. */
async function victim(query: string, made: Set<string>): Promise<number> {
  for (;;) {
    for (const id of await Promise.all(Array.from({ length: RUNS_PER_KILL }, create))) made.add(id);
    for (let look = 0; look < 200; look += 1) {
      const workers = await database.sql<{ worker: string }>(query);
      const pid = workers
        .map(({ worker }) => fleet.pidNamed(worker))
        .find((one) => one !== undefined);
      if (pid !== undefined) return pid;
    }
  }
}

test(`no end goes untold while ${KILLS} workers are killed between ends and their webhooks`, async () => {
  const made = new Set<string>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await fleet.kill(await victim(kill % 2 === 0 ? ENDED : SENDING, made));
    await fleet.complete();
  }
  await until('nothing is left to tell', async () => {
    const left = await database.sql(
      `select 1 from gx.run where status in ('pending', 'running') union all select 1 from gx.webhook`,
    );
    return left.length === 0;
  });
  const told = Map.groupBy(receiver.received, ({ headers }) => String(headers['webhook-id']));
  const again = [...told.values()].filter(({ length }) => length > 1).length;
  say(
    `${made.size} runs, ${fleet.killed.size} workers killed: ${told.size} ends were told, ${again} of them more than once`,
  );
  expect(new Set(told.keys())).toEqual(made);
  for (const [id, messages] of told) for (const { body } of messages) expect(body.run_id).toBe(id);
  const states = await database.sql(
    `select distinct webhook_status->>'state' as state from gx.run`,
  );
  expect(states).toEqual([{ state: 'sent' }]);
}, 1_200_000);
