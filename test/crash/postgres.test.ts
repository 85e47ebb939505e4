import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';
import { api as startApi, say, worker as startWorker } from './fleet.ts';
import { byRun, openJournal, seconds } from './journal.ts';
import { mortalPostgres, type MortalPostgres } from './postgres.ts';

/* Postgres dies with SIGKILL under load, twice, and comes back on the same data. */

const STEPS = 10;
const PAUSE = 500;

let postgres: MortalPostgres;
let api: AgentProcess;
let workers: AgentProcess[];
const journal = openJournal();

beforeAll(async () => {
  postgres = await mortalPostgres();
  const options = { database: postgres.uri };
  api = await startApi(options);
  workers = [await startWorker(options), await startWorker(options)];
});

afterAll(async () => {
  await Promise.all([api, ...workers].map((one) => one.kill('SIGKILL')));
  await postgres.stop();
});

type Answer = { status: number; body: { run_id?: string; thread_id?: string; detail?: string } };

async function create(): Promise<Answer> {
  const body = {
    assistant_id: 'counted',
    input: { left: STEPS, pause: PAUSE, journal: journal.file },
    on_completion: 'keep',
  };
  const response = await fetch(`${api.url}/runs`, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const health = async ({ url }: AgentProcess): Promise<number> => (await fetch(`${url}/ok`)).status;

test('all that was answered is there after the restarts, and every run comes to its end', async () => {
  const created: Answer[] = [];
  const back: number[] = [];
  for (let death = 0; death < 2; death += 1) {
    created.push(...(await Promise.all(Array.from({ length: 10 }, create))));
    await until('they run', () => journal.lines().length >= created.length);
    await wait(2 * PAUSE);
    const storm = Promise.all(
      Array.from({ length: 20 }, async (_, at) => wait(at * 10).then(create)),
    );
    await wait(100);
    await postgres.kill();
    created.push(...(await storm));
    expect(await Promise.all([api, ...workers].map(health))).toEqual([503, 503, 503]);
    await wait(3000);
    await postgres.restart();
    const restarted = Date.now();
    await until(
      'all are well again',
      async () =>
        (await Promise.all([api, ...workers].map(health))).every((status) => status === 200),
      30,
    );
    back.push(Date.now() - restarted);
  }
  const refused = created.filter(({ status }) => status !== 200);
  expect(refused.map(({ status, body }) => `${status} ${body.detail}`)).toEqual(
    refused.map(() => '503 The database does not answer.'),
  );
  const runs = created
    .filter(({ status }) => status === 200)
    .map(({ body }) => body as { run_id: string; thread_id: string });
  const ended = await Promise.all(
    runs.map(({ thread_id, run_id }) =>
      until('the run is over', async () => {
        const run = await api.client.runs.get(thread_id, run_id);
        return run.status !== 'pending' && run.status !== 'running' && run;
      }),
    ),
  );
  expect(Object.groupBy(ended, ({ status }) => status).success).toHaveLength(runs.length);
  // Every session ended with Postgres, and every lock was free. No worker was taken for dead because of that.
  for (const worker of workers) expect(worker.output()).not.toContain('worker of a run died');
  const steps = byRun(journal.lines());
  const whole = new Set(Array.from({ length: STEPS }, (_, at) => at + 1));
  for (const { run_id } of runs)
    expect(new Set(steps.get(run_id)?.map(({ left }) => left))).toEqual(whole);
  say(
    `${runs.length} runs answered with 200, ${refused.length} refused with 503 while Postgres was away; all ${ended.length} succeeded`,
  );
  const gaps = runs.flatMap(({ run_id }) =>
    (steps.get(run_id) ?? []).slice(1).map((line, at) => line.at - steps.get(run_id)![at]!.at),
  );
  say(
    `servers well again after the restart of Postgres: ${seconds(back)}; longest pause of a run between two steps: ${seconds(gaps)}`,
  );
}, 240_000);
