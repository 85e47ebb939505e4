import { resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/*
 * Runners, and the servers that store for them, are killed while they are at work. Another runner goes on with each
 * run, and the former one writes nothing more of it. GX_TEST_KILLS sets how many are killed.
 */

const KILLS = Number(process.env['GX_TEST_KILLS'] ?? 6);
/** Every third kill is that of a server, whose runner is left alone. */
const SERVER_EVERY = 3;
const RUNS = 4;

let database: TestDatabase;
let api: AgentProcess;
let worker: AgentProcess;

const start = (slots: number): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    config: 'test/agent/runner/gx.json',
    env: {
      GX_RUNNER: `python3 ${resolve('test/agent/runner/runner.py')}`,
      N_JOBS_PER_WORKER: String(slots),
    },
  });

beforeAll(async () => {
  database = await freshDatabase({ superuser: true });
  // Notes each checkpoint as it is stored, with the attempt that the run is in at that moment.
  await database.sql(
    `create table noted (n bigserial, run_id text, step int, attempt int, running int, pid int)`,
  );
  await database.sql(`create function note() returns trigger language plpgsql as $$ begin
      insert into noted (run_id, step, attempt, running, pid) values (new.metadata->>'run_id', (new.metadata->>'step')::int,
        (new.metadata->>'run_attempt')::int, (select r.attempt from gx.run r where r.run_id::text = new.metadata->>'run_id'),
        (new.metadata->>'pid')::int);
      return new;
    end $$`);
  await database.sql(
    'create trigger note before insert on gx.checkpoints for each row execute function note()',
  );
  [api, worker] = await Promise.all([start(0), start(10)]);
});

afterAll(async () => {
  await Promise.all([api.kill('SIGKILL'), worker.kill('SIGKILL')]);
  await database.drop();
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

type Noted = { run_id: string; step: number; attempt: number; running: number; pid: number };
const notedOf = (runs: string[]): Promise<Noted[]> =>
  database.sql<Noted>('select * from noted where run_id = any($1) order by n', [runs]);

/** Starts runs, and returns their ids once each has stored a few steps, with the runner's process. */
async function begin(): Promise<{ runs: string[]; pid: number }> {
  const input = { to: 12, pause: 0.05 };
  const create = async (durability: 'sync' | 'async'): Promise<string> => {
    const { thread_id } = await api.client.threads.create();
    const run = await api.client.runs.create(thread_id, 'count', {
      input,
      durability,
      config: { recursion_limit: 1000 },
    });
    return run.run_id;
  };
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, at) => create(at % 2 === 0 ? 'sync' : 'async')),
  );
  const pid = await until('all are at work', async () => {
    const noted = await notedOf(runs);
    return (
      runs.every((id) => noted.some(({ run_id, step }) => run_id === id && step >= 2)) &&
      noted.at(-1)!.pid
    );
  });
  return { runs, pid };
}

async function kill(count: number): Promise<{ runs: string[]; milliseconds: number }> {
  const { runs, pid } = await begin();
  const at = performance.now();
  if (count % SERVER_EVERY === 0) {
    await worker.kill('SIGKILL');
    await until('the runner of a dead server ends', () => !isAlive(pid), 5);
    worker = await start(10);
  } else process.kill(pid, 'SIGKILL');
  await until('all have ended', async () => {
    const open = await database.sql(
      `select 1 from gx.run where run_id::text = any($1) and status in ('pending', 'running')`,
      [runs],
    );
    return open.length === 0;
  });
  return { runs, milliseconds: performance.now() - at };
}

test(
  `of ${KILLS} kills, none leaves a writer behind, and each run ends with all of its steps`,
  async () => {
    for (let count = 1; count <= KILLS; count += 1) {
      const { runs } = await kill(count);
      const rows = await database.sql<{ status: string; attempt: number }>(
        'select status, attempt from gx.run where run_id::text = any($1)',
        [runs],
      );
      expect(rows.map(({ status }) => status)).toEqual(runs.map(() => 'success'));
      expect(Math.max(...rows.map(({ attempt }) => attempt))).toBeGreaterThan(1);
      const noted = await notedOf(runs);
      expect(noted.filter(({ attempt, running }) => attempt !== running)).toEqual([]);
      for (const id of runs) {
        const steps = noted.filter(({ run_id }) => run_id === id).map(({ step }) => step);
        // The input and twelve steps, each stored once, in their order.
        expect(steps).toEqual(Array.from({ length: 13 }, (_, step) => step));
      }
    }
  },
  60_000 + KILLS * 20_000,
);
