import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { until } from '../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { say, worker as startWorker } from './fleet.ts';

/* A worker's look at the queue never ends: its database answers, and yet it takes no run. */

let database: TestDatabase;
let worker: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  worker = await startWorker({ database: database.uri });
});

afterAll(async () => {
  await worker.kill();
  await database.drop();
});

const turns = (status: number): Promise<true> =>
  until(
    `it answers ${status}`,
    async () => (await fetch(`${worker.url}/ok`)).status === status,
    90,
  );

test('a worker that hangs at the queue turns /ok red within 40 seconds, and green once it goes on', async () => {
  const holder = new Client({ connectionString: database.uri });
  await holder.connect();
  await holder.query('begin; lock table pgboss.job_common in access exclusive mode');
  const held = Date.now();
  await turns(503);
  const red = Date.now() - held;
  await holder.query('rollback');
  const released = Date.now();
  await turns(200);
  say(
    `red after ${(red / 1000).toFixed(1)} s, green after ${((Date.now() - released) / 1000).toFixed(1)} s`,
  );
  await holder.end();
  // The worker looks every 1.5 s. It is unhealthy after thirty seconds without a look.
  expect(red).toBeLessThan(40_000);
});
