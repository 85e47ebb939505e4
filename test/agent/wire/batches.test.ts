import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/*
 * Several runs in one request: all of them are made, or none. A server learns a moment later that runs wait no longer,
 * so some tests ask until there is room.
 */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    env: { N_JOBS_PER_WORKER: '2', GX_MAX_QUEUED_RUNS: '3' },
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

beforeEach(() => database.sql('delete from gx.thread'));

type Run = { run_id: string; thread_id: string; status: string; metadata: { at?: number } };

async function batch(
  runs: object[],
): Promise<{ status: number; body: Run[] & { detail?: string } }> {
  const body = JSON.stringify(
    runs.map((run, at) => ({
      assistant_id: 'steps',
      input: { left: 1 },
      metadata: { at },
      ...run,
    })),
  );
  const answer = await fetch(`${agent.url}/runs/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as Run[] };
}

const LATER = { after_seconds: 3600 };

/** Counts what a run leaves in the database. */
async function stored(): Promise<Record<string, number>> {
  const counts = ['gx.run', 'gx.thread', 'gx.feedback'].map(
    (table) => `(select count(*)::int from ${table}) as "${table}"`,
  );
  const [row] = await database.sql(`select ${counts.join(', ')}`);
  return row as Record<string, number>;
}

test('are made together, answered in their order, and all of them run', async () => {
  const { status, body } = await batch([
    { on_completion: 'keep' },
    { on_completion: 'keep' },
    { on_completion: 'keep', feedback_keys: ['liked'] },
  ]);
  expect([status, body.map((run) => [run.status, run.metadata.at])]).toEqual([
    200,
    [
      ['pending', 0],
      ['pending', 1],
      ['pending', 2],
    ],
  ]);
  const results = await Promise.all(
    body.map(({ thread_id, run_id }) => agent.client.runs.join(thread_id, run_id)),
  );
  expect(results).toEqual([
    { left: 0, done: 1 },
    { left: 0, done: 1 },
    { left: 0, done: 1, __feedback__: { liked: expect.any(String) as string } },
  ]);
});

test('are refused together when there is no room for all of them to wait', async () => {
  await expect.poll(async () => (await batch([LATER, LATER])).status).toBe(200);
  const before = await stored();
  const { status, body } = await batch([LATER, LATER]);
  expect([status, body.detail]).toEqual([
    429,
    expect.stringContaining('3 runs are waiting, which is the most that this deployment accepts'),
  ]);
  expect(await stored()).toEqual(before);
  expect((await batch([LATER])).status).toBe(200);
});

test('can not be more than may ever wait', async () => {
  const { status, body } = await batch([{}, {}, {}, {}]);
  expect([status, body.detail]).toEqual([
    400,
    expect.stringContaining('At most 3 runs of this deployment may wait'),
  ]);
});

test('are not there when the database fails at one of them', async () => {
  await database.sql(`create function gx.fail() returns trigger language plpgsql as
    $$ begin if new.metadata->>'at' = '2' then raise exception 'no room' using errcode = '53100'; end if; return new; end $$`);
  await database.sql(
    'create trigger fail before insert on gx.run for each row execute function gx.fail()',
  );
  const before = await stored();
  try {
    await expect
      .poll(async () => (await batch([{}, { feedback_keys: ['liked'] }, {}])).status)
      .toBe(503);
    expect(await stored()).toEqual(before);
  } finally {
    await database.sql('drop trigger fail on gx.run');
  }
  expect((await batch([{}, {}, {}])).status).toBe(200);
});
