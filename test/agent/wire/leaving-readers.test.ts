import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* A reader of a run may ask that the run stops when it leaves. Handlers decide over that as over the run's cancel. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/auth/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const clientOf = (token: string): Client =>
  new Client({
    apiUrl: agent.url,
    apiKey: null,
    defaultHeaders: { authorization: `Bearer ${token}` },
    callerOptions: { maxRetries: 0 },
  });

describe('a reader that would stop a run by leaving', () => {
  const running = async (): Promise<{ thread_id: string; run_id: string }> => {
    const { runs, threads } = clientOf('ann');
    const { thread_id } = await threads.create();
    return runs.create(thread_id, 'steps', { input: { left: 15, pause: 200 } });
  };
  /** Leaves a stream as soon as it is answered. */
  const leave = async (token: string, path: string): Promise<number> => {
    const gone = new AbortController();
    const answer = await fetch(agent.url + path, {
      headers: { authorization: `Bearer ${token}` },
      signal: gone.signal,
    });
    gone.abort();
    return answer.status;
  };
  const end = async ({
    thread_id,
    run_id,
  }: {
    thread_id: string;
    run_id: string;
  }): Promise<string> => {
    await clientOf('ann').runs.join(thread_id, run_id);
    return (await clientOf('ann').runs.get(thread_id, run_id)).status;
  };

  test('needs the right to change the thread', async () => {
    const run = await running();
    const paths = [
      `/threads/${run.thread_id}/runs/${run.run_id}/stream`,
      `/runs/${run.run_id}/stream`,
    ];
    for (const path of paths) {
      expect(await leave('ann!threads:update', `${path}?cancel_on_disconnect=true`)).toBe(403);
      expect(await leave('ann!threads:update', path)).toBe(200);
      expect(await leave('bob', `${path}?cancel_on_disconnect=true`)).toBe(404);
    }
    expect(await end(run)).toBe('success');
  });

  test('stops it with that right', async () => {
    const run = await running();
    expect(await leave('ann', `/runs/${run.run_id}/stream?cancel_on_disconnect=true`)).toBe(200);
    expect(await end(run)).toBe('interrupted');
  });
});
