import { ALL_BACK } from '../../src/agent/db/base/worker-locks.ts';
import type { TestDatabase } from './postgres.ts';
import { until } from './until.ts';

/** Waits until Postgres has run for so long that a worker without a lock counts as dead. */
export async function untilLocksCount(database: TestDatabase): Promise<void> {
  await until('Postgres has run for a while', async () => {
    const [age] = await database.sql<{ seconds: number }>(
      'select extract(epoch from now() - pg_postmaster_start_time())::int as seconds',
    );
    return age!.seconds > ALL_BACK;
  });
}
