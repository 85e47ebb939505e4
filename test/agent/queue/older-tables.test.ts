import { getRollbackPlans } from 'pg-boss';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* A deployment that comes from a server with an older pg-boss brings the tables that pg-boss made then. */

/** The version of the tables that pg-boss 12.35 makes. */
const OLDER = 43;

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

const version = async (): Promise<number> =>
  (await database.sql<{ version: number }>('select version from pgboss.version'))[0]!.version;

test("the queue's tables are brought up to date, and the runs that waited in them are executed", async () => {
  const today = await version();
  const api = await startAgent({ database: database.uri, env: { N_JOBS_PER_WORKER: '0' } });
  const { thread_id } = await api.client.threads.create();
  const { run_id } = await api.client.runs.create(thread_id, 'steps', { input: { left: 1 } });
  await api.kill();
  for (let at = today; at > OLDER; at -= 1) await database.sql(getRollbackPlans('pgboss', at));
  expect(await version()).toBe(OLDER);
  // The process that is gone has just looked for such work. The next one would wait a minute for its turn.
  await database.sql('update pgboss.version set bam_on = null');
  expect(await database.sql('select 1 from pgboss.job')).toHaveLength(1);

  const server = await startAgent({ database: database.uri });

  expect(await version()).toBe(today);
  expect(await server.client.runs.join(thread_id, run_id)).toMatchObject({ done: 1 });
  await until('indexes are built in the background', async () => {
    const left = await database.sql<{ status: string }>(
      "select status, error from pgboss.bam where status <> 'completed'",
    );
    expect(left.filter(({ status }) => status === 'failed')).toEqual([]);
    return left.length === 0;
  });
  expect(server.output()).not.toContain('queue maintenance failed');
  await server.kill();
});
