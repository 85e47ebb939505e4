import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* A client in a graph that names no address asks the server of its graph, without the network and without a key. */

const KEY = 'a key of sixteen characters and more';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/custom-routes/graphs/asking.json',
    env: { GX_AGENT_KEY: KEY },
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

test('a graph makes records and follows runs of its server', async () => {
  const headers = { 'content-type': 'application/json', 'x-api-key': KEY };
  const ask = (path: string, options: RequestInit = {}): Promise<Response> =>
    fetch(`${agent.url}/agents${path}`, { headers, ...options });
  const body = JSON.stringify({ assistant_id: 'asks', input: {} });
  const answer = await ask('/runs/wait', { method: 'POST', body });
  const { asked } = (await answer.json()) as {
    asked: { thread_id: string; seen: unknown[]; refused: string };
  };
  expect(asked.seen).toEqual([{ left: 3 }, { left: 2 }, { left: 1 }]);
  expect(asked.refused).toContain('422');
  expect(await (await ask(`/threads/${asked.thread_id}`)).json()).toMatchObject({
    metadata: { by: 'the graph' },
  });
  expect((await fetch(`${agent.url}/agents/threads/${asked.thread_id}`)).status).toBe(401);
});
