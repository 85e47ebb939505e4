import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* /ok says that a process can't do its work for as long as it can't. */

let database: TestDatabase;
let agent: AgentProcess;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gx-health-'));
  database = await freshDatabase();
  const env = { BROKEN_WHILE_THERE: join(folder, 'broken'), GX_LOG_LEVEL: 'warn' };
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/health/graphs/gx.json',
    env,
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const ok = async (): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${agent.url}/ok`);
  return { status: response.status, body: await response.json() };
};
const WELL = {
  status: 200,
  body: { ok: true, services: { database: 'healthy', queue: 'healthy' } },
};
const turns = (what: string, status: number): Promise<unknown> =>
  until(what, async () => {
    const answer = await ok();
    return answer.status === status && answer;
  });

test('workers that can not be brought up again turn it red, and green once they are back; the run they died with goes on', async () => {
  expect(await ok()).toEqual(WELL);
  const { thread_id } = await agent.client.threads.create();
  const run = await agent.client.runs.create(thread_id, 'fragile', { input: {} });
  expect(await turns('it is red', 503)).toMatchObject({
    body: { ok: false, services: { database: 'healthy', queue: 'unhealthy' } },
  });
  // This process does not start the run meanwhile, because another process may take it.
  await until(
    'the run waits',
    async () => (await agent.client.runs.get(thread_id, run.run_id)).status === 'pending',
  );
  // A probe that only asks whether the process lives is told that it does.
  expect((await fetch(`${agent.url}/ok?check_db=0`)).status).toBe(200);
  rmSync(join(folder, 'broken'));
  expect(await turns('it is green', 200)).toEqual(WELL);
  expect(await agent.client.runs.join(thread_id, run.run_id)).toMatchObject({ ended: true });
  expect(await database.sql('select lost from gx.run')).toEqual([{ lost: 0 }]);
});

test('a queue that can not be reached turns it red, and green once it can', async () => {
  await database.sql('alter table pgboss.queue rename to away');
  expect(await ok()).toEqual({
    status: 503,
    body: { ok: false, services: { database: 'unhealthy', queue: 'unhealthy' } },
  });
  await database.sql('alter table pgboss.away rename to queue');
  expect(await ok()).toEqual(WELL);
});
