import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* What the filters of handlers let through, as the database applies them. */

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

test('$contains looks into lists, and compares values with their type', async () => {
  const made = async (teams: unknown): Promise<string> =>
    (await clientOf('tina').threads.create({ metadata: { teams } })).thread_id;
  const [both, red, five] = [
    await made(['red', 5]),
    await made(['red', 'blue', '5']),
    await made([5]),
  ];
  for (const noList of ['red', 5, { red: true }]) await made(noList);
  const seen = async (teams: unknown): Promise<string[]> => {
    const found = await clientOf(`in teams ${JSON.stringify(teams)}`).threads.search({
      limit: 100,
    });
    return found.map(({ thread_id }) => thread_id).toSorted();
  };
  expect(await seen('red')).toEqual([both, red].toSorted());
  expect(await seen(['blue', 'red'])).toEqual([red]);
  expect(await seen(5)).toEqual([both, five].toSorted());
  expect(await seen('5')).toEqual([red]);
  expect(await seen(['red', 'green'])).toEqual([]);
});
type Asked = { method: string; path: string; body?: unknown };

const ask = (token: string, { method, path, body }: Asked): Promise<Response> =>
  fetch(agent.url + path, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

test('nobody changes when a thread expires who may not change the thread', async () => {
  const client = clientOf('ann');
  const { thread_id } = await client.threads.create({ ttl: { ttl: 600, strategy: 'delete' } });
  const shown = { method: 'GET', path: `/threads/${thread_id}?include=ttl` };
  const ttl = async (): Promise<unknown> =>
    ((await (await ask('ann', shown)).json()) as { ttl: unknown }).ttl;
  const before = await ttl();
  expect(before).toMatchObject({ ttl_minutes: 600 });
  const change = {
    method: 'PATCH',
    path: `/threads/${thread_id}`,
    body: { ttl: { ttl: 1, strategy: 'keep_latest' } },
  };
  expect([
    (await ask('carl', change)).status,
    (await ask('ann!threads:update', change)).status,
  ]).toEqual([404, 403]);
  expect(await ttl()).toEqual(before);
  expect((await ask('ann', change)).status).toBe(200);
  expect(await ttl()).not.toEqual(before);
});
