import type { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Threads and items that expire. They live for an hour or more, and a test says that the time is over. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let client: Client;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/expiry/graphs/gx.json' });
  ({ client } = agent);
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Answer = { status: number; body: Record<string, unknown> };
async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
}

/** Makes a thread with two runs, by which it has several checkpoints. */
async function threadWith(ttl?: { strategy: string; ttl: number }): Promise<string> {
  const { thread_id } = (await call('POST', '/threads', { ...(ttl && { ttl }) })).body as {
    thread_id: string;
  };
  for (const said of ['one', 'two'])
    await client.runs.wait(thread_id, 'keeps', { input: { said: [said] } });
  return thread_id;
}

const rest = (threads: string[], minutes: number): Promise<unknown> =>
  database.sql(
    `update gx.thread set updated_at = now() - $2 * interval '1 minute', state_updated_at = now() - $2 * interval '1 minute',
      pruned_at = pruned_at - $2 * interval '1 minute' where thread_id = any($1)`,
    [threads, minutes],
  );

const isThere = async (thread: string): Promise<boolean> =>
  (await call('GET', `/threads/${thread}`)).status === 200;
const statusOf = async (thread: string): Promise<number> =>
  (await call('GET', `/threads/${thread}`)).status;

/** Waits until a sweep has passed: a thread that is due goes with it, and older ones went before. */
async function sweepPasses(): Promise<void> {
  const { thread_id } = await client.threads.create();
  await rest([thread_id], 61);
  await expect.poll(() => statusOf(thread_id)).toBe(404);
}

describe('a thread', () => {
  test('goes with all that belongs to it when it has not changed for as long as threads live', async () => {
    const threads = await Promise.all([
      threadWith(),
      threadWith(),
      threadWith(),
      threadWith(),
      threadWith(),
    ]);
    const young = await threadWith();
    await rest(threads, 61);
    await rest([young], 59);
    for (const thread of threads) await expect.poll(() => statusOf(thread)).toBe(404);
    expect(await isThere(young)).toBe(true);
    const left = await database.sql(
      `select thread_id from gx.checkpoints where thread_id = any($1) union all select thread_id from gx.checkpoint_blobs where thread_id = any($1)
        union all select thread_id from gx.checkpoint_writes where thread_id = any($1) union all select thread_id::text from gx.run where thread_id = any($1::uuid[])`,
      [threads],
    );
    expect(left).toEqual([]);
  });

  test('has a life of its own if it says so, which counts from its last change', async () => {
    const [short, long] = [
      await threadWith({ strategy: 'delete', ttl: 5 }),
      await threadWith({ strategy: 'delete', ttl: 600 }),
    ];
    await rest([long], 500);
    await rest([short], 6);
    await expect.poll(() => statusOf(short)).toBe(404);
    expect(await isThere(long)).toBe(true);
    await rest([long], 500);
    await client.runs.wait(long, 'keeps', { input: { said: ['three'] } });
    await sweepPasses();
    expect(await isThere(long)).toBe(true);
  });

  test('that keeps its newest state loses its older checkpoints, and goes on from there', async () => {
    const thread = await threadWith({ strategy: 'keep_latest', ttl: 5 });
    const history = (): Promise<unknown[]> => client.threads.getHistory(thread, { limit: 100 });
    expect((await history()).length).toBeGreaterThan(1);
    await rest([thread], 6);
    await expect.poll(history).toHaveLength(1);
    expect((await client.threads.getState(thread)).values).toEqual({ said: ['one', 'two'] });
    await client.runs.wait(thread, 'keeps', { input: { said: ['three'] } });
    expect((await client.threads.getState(thread)).values).toEqual({
      said: ['one', 'two', 'three'],
    });
    await rest([thread], 6);
    await expect.poll(history).toHaveLength(1);
  });

  test('shows when it expires if it is asked', async () => {
    const { thread_id, updated_at } = await client.threads.create({ ttl: 30 });
    const expires = async (): Promise<unknown> =>
      (await call('GET', `/threads/${thread_id}?include=ttl`)).body['ttl'];
    const ttl = (await expires()) as { expires_at: string };
    expect(ttl).toMatchObject({ strategy: 'delete', ttl_minutes: 30 });
    expect(Date.parse(ttl.expires_at) - Date.parse(updated_at)).toBe(30 * 60_000);
    await call('PATCH', `/threads/${thread_id}`, { ttl: { strategy: 'keep_latest', ttl: 1.5 } });
    expect(await expires()).toMatchObject({ strategy: 'keep_latest', ttl_minutes: 1.5 });
    const other = await client.threads.create();
    expect(
      (await call('GET', `/threads/${other.thread_id}?include=ttl`)).body['ttl'],
    ).toMatchObject({
      strategy: 'delete',
      ttl_minutes: 60,
    });
    expect((await call('GET', `/threads/${other.thread_id}`)).body).not.toHaveProperty('ttl');
  });

  test.each([0, -5, 'soon', { ttl: 0 }, { strategy: 'archive', ttl: 5 }, { strategy: 'delete' }])(
    'can’t live for %j',
    async (ttl) => {
      const answer = await call('POST', '/threads', { ttl });
      expect([answer.status, answer.body]).toEqual([
        422,
        { detail: expect.stringContaining('ttl') as string },
      ]);
    },
  );

  test('that is busy, waits for a person or has a cron stays', async () => {
    const { thread_id: busy } = await client.threads.create();
    await client.runs.create(busy, 'keeps', { input: { said: ['x'] }, afterSeconds: 3600 });
    const { thread_id: asks } = await client.threads.create();
    await client.runs.wait(asks, 'approval', { input: { request: 'delete it' } });
    expect((await client.threads.get(asks)).status).toBe('interrupted');
    const { thread_id: visited } = await client.threads.create();
    const { cron_id } = await client.crons.createForThread(visited, 'keeps', {
      schedule: '0 0 1 1 *',
    });
    await rest([busy, asks, visited], 120);
    await sweepPasses();
    for (const thread of [busy, asks, visited]) expect(await isThere(thread)).toBe(true);
    await client.crons.update(cron_id, { enabled: false });
    await rest([visited], 120);
    await expect.poll(() => statusOf(visited)).toBe(404);
  });
});

test('a thread that waits for a person goes like others where `include_interrupted` says so', async () => {
  const own = await freshDatabase();
  const other = await startAgent({
    database: own.uri,
    config: 'test/agent/expiry/graphs/waiting.json',
  });
  const { thread_id } = await other.client.threads.create();
  await other.client.runs.wait(thread_id, 'approval', { input: { request: 'delete it' } });
  expect((await other.client.threads.get(thread_id)).status).toBe('interrupted');
  await own.sql(
    `update gx.thread set updated_at = now() - interval '61 minutes', state_updated_at = now() - interval '61 minutes'`,
  );
  await expect
    .poll(async () => (await fetch(`${other.url}/threads/${thread_id}`)).status)
    .toBe(404);
  await other.kill();
  await own.drop();
});

test('the key of a request is forgotten a day later, and not before', async () => {
  const made = async (key: string): Promise<string> => {
    const answer = await fetch(`${agent.url}/threads`, {
      method: 'POST',
      headers: { 'idempotency-key': key },
    });
    return ((await answer.json()) as { thread_id: string }).thread_id;
  };
  const thread = await made('a');
  await database.sql(
    `update gx.idempotency_key set created_at = now() - interval '23 hours 59 minutes'`,
  );
  await sweepPasses();
  expect(await made('a')).toBe(thread);
  await database.sql(
    `update gx.idempotency_key set created_at = now() - interval '24 hours 1 minute'`,
  );
  await expect.poll(() => made('a')).not.toBe(thread);
});

describe('an item of the store', () => {
  /** In steps of five, because a test takes its time. */
  const minutesLeft = async (key: string): Promise<number | null | undefined> =>
    (
      await database.sql<{ left: number | null }>(
        `select (round(extract(epoch from expires_at - now()) / 300) * 5)::int as left from gx.store_item where key = $1`,
        [key],
      )
    )[0]?.left;

  test('lives as long as items do, or as it says; what a graph keeps does, too', async () => {
    await client.store.putItem(['a'], 'usual', { n: 1 });
    await client.store.putItem(['a'], 'own', { n: 1 }, { ttl: 5 });
    await call('PUT', '/store/items', {
      namespace: ['a'],
      key: 'ever',
      value: { n: 1 },
      ttl: null,
    });
    await threadWith();
    expect([
      await minutesLeft('usual'),
      await minutesLeft('own'),
      await minutesLeft('ever'),
      await minutesLeft('last'),
    ]).toEqual([60, 5, null, 60]);
    await database.sql(
      `update gx.store_item set expires_at = now() - interval '1 second' where key = 'own'`,
    );
    await expect.poll(() => minutesLeft('own')).toBeUndefined();
    expect(await minutesLeft('usual')).toBe(60);
  });

  test('is renewed by reading only where that is asked for', async () => {
    await client.store.putItem(['b'], 'read', { n: 1 });
    await database.sql(
      `update gx.store_item set expires_at = now() + interval '10 minutes' where key = 'read'`,
    );
    await client.store.getItem(['b'], 'read');
    await client.store.searchItems(['b']);
    expect(await minutesLeft('read')).toBe(10);
    await client.store.getItem(['b'], 'read', { refreshTtl: true });
    expect(await minutesLeft('read')).toBe(60);
  });
});
