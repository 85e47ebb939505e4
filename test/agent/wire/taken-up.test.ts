import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/*
 * A worker dies after a run's last checkpoint, before the run's end is written. What does the next attempt make of it?
 */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, env: { GX_JOB_LEASE_SECS: '2' } });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

/**
 * Puts an ended run into the state in which a dead worker leaves it. Waits until it was taken up and has ended again.
 */
async function takenUp(runId: string): Promise<void> {
  await database.sql(
    `update gx.run set status = 'running', worker = gen_random_uuid(), lease_until = now() - interval '1 minute', ended_at = null where run_id = $1`,
    [runId],
  );
  await until(
    'it ended again',
    async () => {
      const [run] = await database.sql<{ status: string; attempt: number }>(
        'select status, attempt from gx.run where run_id = $1',
        [runId],
      );
      return run!.attempt >= 2 && run!.status === 'success';
    },
    60,
  );
}

async function ended(thread_id: string, body: object): Promise<string> {
  const { run_id } = await agent.client.runs.create(thread_id, 'steps', body);
  await agent.client.runs.join(thread_id, run_id);
  return run_id;
}

test.each([
  ['before a node', { interruptBefore: ['step'] }],
  ['before every node', { interruptBefore: '*' as const }],
  ['after a node', { interruptAfter: ['step'] }],
  ['after every node', { interruptAfter: '*' as const }],
])('a run that had stopped %s does not run over its stop', async (_, where) => {
  const { thread_id } = await agent.client.threads.create();
  const run_id = await ended(thread_id, { input: { left: 3 }, ...where });
  const [state, thread] = [
    await agent.client.threads.getState(thread_id),
    await agent.client.threads.get(thread_id),
  ];
  await takenUp(run_id);
  expect(await agent.client.threads.getState(thread_id)).toEqual(state);
  const { status, values, interrupts } = await agent.client.threads.get(thread_id);
  expect({ status, values, interrupts }).toEqual({
    status: thread.status,
    values: thread.values,
    interrupts: thread.interrupts,
  });
  // Going on from there is up to the next run.
  expect(await agent.client.runs.wait(thread_id, 'steps', { input: null })).toMatchObject({
    done: 3,
    left: 0,
  });
});

test('a run that began from an earlier checkpoint goes on from its own last one', async () => {
  const { thread_id } = await agent.client.threads.create();
  await ended(thread_id, { input: { left: 2 } });
  const history = await agent.client.threads.getHistory(thread_id, { limit: 10 });
  const run_id = await ended(thread_id, {
    input: { left: 1 },
    checkpointId: history[1]!.checkpoint.checkpoint_id,
  });
  const state = await agent.client.threads.getState(thread_id);
  await takenUp(run_id);
  expect(await agent.client.threads.getState(thread_id)).toEqual(state);
});
