import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UsageRow } from '../../../src/schema/agent/usage.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { startReceiver } from '../../kit/webhook-receiver.ts';

/* Calls of models, as a server writes them down and sums them. Those of Python: test/python/usage.test.ts. */

let database: TestDatabase;
let agent: AgentProcess;

const start = (env: Record<string, string>): Promise<AgentProcess> =>
  startAgent({ database: database.uri, config: 'test/agent/revisions/graphs/gx.json', env });

beforeAll(async () => {
  database = await freshDatabase();
  agent = await start({ GX_USAGE: 'true' });
});
afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const get = async <T>(path: string): Promise<T> =>
  (await (await fetch(`${agent.url}${path}`)).json()) as T;

const NOTHING = {
  failed: 0,
  cached: 0,
  unreported: 0,
  cache_read: 0,
  cache_write: 0,
  reasoning: 0,
  unreported_models: [] as string[],
};

async function ask(...models: string[]): Promise<string> {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, 'models', { input: { ask: models } });
  return thread_id;
}

test('each call of a run is in the sums of its thread, in a graph within another one too', async () => {
  const thread = await ask('telling', 'telling', 'text', 'silent', 'own', 'failing');
  expect(await get(`/threads/${thread}/usage`)).toEqual({
    ...NOTHING,
    calls: 6,
    failed: 1,
    unreported: 2,
    unpriced: 5,
    input: 232,
    output: 47,
    // That of the model whose price gx.json has.
    cost_usd: (25 * 100 + 5 * 200) / 1e6,
  });
  const [row] = await database.sql<{ ns: string; node: string }>(
    `select distinct node, split_part(ns, ':', 1) as ns from gx.model_call where thread_id = '${thread}'`,
  );
  expect(row).toEqual({ node: 'models', ns: 'inner' });
});

test('a run has the sums of its own calls, in its record and in its webhook', async () => {
  const receiver = await startReceiver({});
  const { thread_id } = await agent.client.threads.create();
  for (const models of [['telling', 'silent'], []])
    await agent.client.runs.wait(thread_id, 'models', {
      input: { ask: models },
      webhook: `${receiver.url}/ends`,
    });
  const sums = { ...NOTHING, calls: 2, unreported: 1, unpriced: 2, input: 100, output: 20 };
  const runs = (await agent.client.runs.list(thread_id)) as unknown as { usage: unknown }[];
  expect(runs.map(({ usage }) => usage)).toEqual([null, expect.objectContaining(sums)]);
  const heard = (): unknown[] => receiver.received.map(({ body }) => body['usage']);
  await expect.poll(heard).toHaveLength(2);
  expect(heard()).toEqual(expect.arrayContaining([null, runs[1]!.usage]));
  await receiver.stop();
});

test('a run whose worker died has the sums of the calls before', async () => {
  const { thread_id } = await agent.client.threads.create();
  const run = await agent.client.runs.create(thread_id, 'models', { input: { ask: ['telling'] } });
  await agent.client.runs.join(thread_id, run.run_id);
  // As a worker leaves it that dies while its run is being stopped.
  await database.sql(`update gx.run set usage = null, status = 'running', ended_at = null,
    cancel = 'interrupt', worker = gen_random_uuid(), lease_until = now() - interval '1 hour'
    where run_id = '${run.run_id}'`);
  await expect
    .poll(() => agent.client.runs.get(thread_id, run.run_id))
    .toMatchObject({ status: 'interrupted', usage: { calls: 1 } });
});

test('metrics have the calls of each model, and no caller', async () => {
  await ask('telling', 'silent');
  const text = await (await fetch(`${agent.url}/metrics`)).text();
  expect(text).toMatch(/^gx_api_model_calls_total\{model="[^"]+",status="ok",[^}]*\} [1-9]/m);
  expect(text).toMatch(/^gx_api_model_tokens_total\{model="[^"]+",kind="input",[^}]*\} [1-9]/m);
  expect(text).toMatch(/^gx_api_model_cost_usd_total\{model="[^"]+",deployment/m);
  expect(text).toMatch(/^gx_api_model_unreported_calls_total\{model="[^"]+",[^}]*\} [1-9]/m);
});

test('an answer from a cache is a call that costs nothing', async () => {
  const thread = await ask('cached', 'cached');
  expect(await get(`/threads/${thread}/usage`)).toEqual({
    ...NOTHING,
    calls: 2,
    cached: 1,
    unpriced: 1,
    input: 100,
    output: 20,
    cost_usd: 0,
  });
});

test('a call of a model that the table knows has its price', async () => {
  const thread = await ask('priced');
  // A million tokens are 2 dollars into gpt-4.1, and 8 out of it.
  expect(await get(`/threads/${thread}/usage`)).toMatchObject({
    calls: 1,
    unpriced: 0,
    cost_usd: (100 * 2 + 20 * 8) / 1e6,
  });
  expect(
    await database.sql(`select cost_from from gx.model_call where thread_id = '${thread}'`),
  ).toEqual([{ cost_from: expect.stringMatching(/^table of \d{4}-\d\d-\d\d$/) as string }]);
});

test('ids, names and counts that a database can not hold are held as far as they can be', async () => {
  const thread = await ask('odd', 'telling');
  expect(await get(`/threads/${thread}/usage`)).toMatchObject({
    calls: 3,
    unpriced: 3,
    input: 2 ** 31 - 1 + 200,
  });
  const rows = await database.sql<{ call_id: string; model: string | null }>(
    `select call_id, model from gx.model_call where thread_id = '${thread}' order by started_at`,
  );
  expect(rows[0]!.model).toBe(`a${'b'.repeat(255)}`);
  expect(rows[1]!.call_id).toBe('an-id-of-its-own');
});

test('a thread without models has used nothing', async () => {
  const thread = await ask();
  expect(await get(`/threads/${thread}/usage`)).toMatchObject({ calls: 0, cost_usd: null });
});

test('sums are grouped as asked, page by page', async () => {
  const rows = await get<UsageRow[]>('/usage?group_by=model,node,graph');
  expect(rows.find(({ model }) => model === 'own-model')).toMatchObject({
    graph: 'models',
    node: 'models',
    calls: 1,
    input: 25,
    output: 5,
  });
  const whole = await get<UsageRow[]>('/usage');
  expect(whole).toHaveLength(1);
  expect(rows.reduce((sum, { calls }) => sum + calls, 0)).toBe(whole[0]!.calls);
  const page = await fetch(`${agent.url}/usage?group_by=model&limit=1`);
  expect(page.headers.get('x-pagination-next')).toBe('1');
  expect(await page.json()).toHaveLength(1);
  const today = new Date().toISOString().slice(0, 10);
  expect(await get('/usage?group_by=day')).toMatchObject([{ day: today }]);
  expect(await get('/usage?to=2020-01-01T00:00:00Z')).toMatchObject([{ calls: 0 }]);
});

test.each([
  ['group_by=weather', 'group_by'],
  ['group_by=day,,model', 'group_by'],
  ['from=yesterday', 'from'],
  ['from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
  ['limit=100000', 'limit'],
])('?%s is refused by its field', async (query, field) => {
  const answer = await fetch(`${agent.url}/usage?${query}`);
  expect(answer.status).toBe(422);
  expect(JSON.stringify(await answer.json())).toContain(field);
});

test('calls outlive their thread', async () => {
  const thread = await ask('telling');
  await agent.client.threads.delete(thread);
  const [row] = await database.sql<{ count: number }>(
    `select count(*)::int as count from gx.model_call where thread_id = '${thread}'`,
  );
  expect(row).toEqual({ count: 1 });
});

test('a call is deleted after the days that it is kept', async () => {
  const sweeping = await startAgent({
    database: database.uri,
    config: 'test/agent/expiry/graphs/gx.json',
    env: { GX_USAGE_KEEP_DAYS: '10' },
  });
  const insert = (days: number): Promise<unknown> =>
    database.sql(`insert into gx.model_call (run_id, call_id, thread_id, graph_id, started_at,
        milliseconds, status, cached, reported)
      values (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'old',
        now() - interval '${days} days', 1, 'ok', false, false)`);
  await insert(9);
  await insert(11);
  await expect
    .poll(() => database.sql(`select 1 from gx.model_call where graph_id = 'old'`))
    .toHaveLength(1);
  await sweeping.kill();
});

test('a server that does not measure writes nothing down', async () => {
  const [before] = await get<UsageRow[]>('/usage');
  const other = await start({});
  await agent.kill();
  agent = other;
  await ask('telling');
  expect(await get('/usage')).toEqual([before]);
});
