import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* A server with the variables that other tools write into an image, instead of a gx.json. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  const env = {
    LANGSERVE_GRAPHS: JSON.stringify({ steps: './test/agent/wire/graphs/steps.js:graph' }),
    LANGGRAPH_HTTP: '{"disable_store":true,"cors":null}',
    LANGGRAPH_CHECKPOINTER: '{"backend":"default"}',
    POSTGRES_URI_CUSTOM: database.uri,
    FF_RICH_THREADS: 'false',
    FF_USE_CORE_API: 'true',
    GX_CONTROL_PLANE_API_KEY: 'k',
    GX_SERVER_HOST: '::',
  };
  agent = await startAgent({
    database: 'postgresql://nobody@127.0.0.1:9/none',
    config: resolve('none/gx.json'),
    env,
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

test('sections of the file are taken from their variables, and the custom database is used', async () => {
  expect(await agent.client.runs.wait(null, 'steps', { input: { left: 1 } })).toMatchObject({
    left: 0,
  });
  expect(
    (await fetch(`${agent.url}/store/namespaces`, { method: 'POST', body: '{}' })).status,
  ).toBe(404);
});

test('a run links a thread to its graph, and changes no more of its record', async () => {
  const { threads, runs, assistants } = agent.client;
  const { thread_id, updated_at } = await threads.create({ metadata: { a: 1 } });
  const later = { afterSeconds: 3600, input: { left: 1 } };
  await runs.create(thread_id, 'steps', later);
  const linked = await threads.get(thread_id);
  expect(linked).toMatchObject({ updated_at, metadata: { a: 1, graph_id: 'steps' } });
  const { assistant_id } = await assistants.create({ graphId: 'steps' });
  await runs.create(thread_id, assistant_id, later);
  expect(await threads.get(thread_id)).toMatchObject({ updated_at, metadata: linked.metadata! });
  expect(await runs.list(thread_id)).toHaveLength(2);
});

test('a server on :: is reached over both families', async () => {
  const { port } = new URL(agent.url);
  const reached = await Promise.all(
    ['127.0.0.1', '[::1]'].map(
      async (address) => (await fetch(`http://${address}:${port}/ok`)).status,
    ),
  );
  expect(reached).toEqual([200, 200]);
});

test('the version is told as releases are named', async () => {
  expect(await (await fetch(`${agent.url}/info`)).json()).toMatchObject({
    version: expect.stringMatching(/^v\d+\.\d+\.\d+$/) as string,
  });
  await expect.poll(() => agent.output()).toMatch(/"server_version":"v\d+\.\d+\.\d+"/);
});
