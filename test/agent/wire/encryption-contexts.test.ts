import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import {
  everyInputIsRead,
  nothingIsFound,
  openEncrypted,
  type Encrypted,
} from '../../kit/postgres-encrypted.ts';
import { WireThread } from '../event-streaming/client.ts';

/* Each tenant has a key of its own, which the module chooses by the context. It refuses a value that is nobody's. */

const graphs = 'test/agent/wire/encryption/graphs';
const env = { MODULE_SECRET: 'a secret of the test' };
const [RED, BLUE] = ['tenant-red', 'tenant-blue'] as const;

describe('whatever is written is written for a tenant, who is read of the user', () => {
  let server: Encrypted;

  beforeAll(async () => {
    server = await openEncrypted({ config: `${graphs}/tenants.json`, env });
  });

  afterAll(() => server.stop());

  everyInputIsRead(() => server);
  nothingIsFound(() => server);
});

let database: TestDatabase;

beforeAll(async () => {
  database = await freshDatabase();
});

afterAll(() => database.drop());

/** Returns the rows of the thread that name the tenant, as text or within bytes. */
async function rowsOf(threadId: string, tenant: string): Promise<Record<string, number>> {
  const tables = await database.sql<{ name: string }>(
    `select table_name as name from information_schema.columns where table_schema = 'gx' and column_name = 'thread_id'`,
  );
  const hex = Buffer.from(tenant).toString('hex');
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await database.sql<{ count: number }>(
      `select count(*)::int as count from gx.${name} t where t.thread_id::text = '${threadId}' and (t::text like '%${tenant}%' or t::text like '%${hex}%')`,
    );
    if (row!.count > 0) found[name] = row!.count;
  }
  return found;
}

describe('two tenants', () => {
  let agent: AgentProcess;
  const clientOf = (tenant: string): Client =>
    new Client({ apiUrl: agent.url, defaultHeaders: { 'x-tenant': tenant } });
  const threads: Record<string, string[]> = { [RED]: [], [BLUE]: [] };

  beforeAll(async () => {
    agent = await startAgent({ database: database.uri, config: `${graphs}/tenants.json`, env });
  });

  afterAll(() => agent.kill());

  test('who work at the same time each get their own key, though their statements are shared', async () => {
    const one = async (tenant: string, number: number): Promise<void> => {
      const client = clientOf(tenant);
      const note = `${tenant} keeps ${number}`;
      const { thread_id } = await client.threads.create({ metadata: { secret: note } });
      threads[tenant]!.push(thread_id);
      const streamed = client.runs.stream(thread_id, 'keeps', {
        input: {
          note,
          asks: number % 2 === 0,
          left: 3,
          messages: [{ role: 'user', content: note.repeat(100) }],
        },
        streamMode: ['values', 'custom'],
        streamResumable: true,
        metadata: { secret: note },
      });
      const events = await Array.fromAsync(streamed);
      expect(events).toContainEqual(expect.objectContaining({ event: 'custom', data: { note } }));
      await client.store.putItem([tenant], String(number), { note });
      if (number % 2 === 0)
        await client.runs.wait(thread_id, 'keeps', { command: { resume: note } });
      await client.threads.updateState(thread_id, {
        values: { note: `${note}, changed` },
        asNode: 'count',
      });
      expect((await client.threads.getState<{ note: string }>(thread_id)).values.note).toBe(
        `${note}, changed`,
      );
    };
    await Promise.all(
      Array.from({ length: 8 }, (_, number) => [one(RED, number), one(BLUE, number)]).flat(),
    );
    for (const [tenant, other] of [
      [RED, BLUE],
      [BLUE, RED],
    ] as const)
      for (const thread of threads[tenant]!) {
        expect(await rowsOf(thread, other)).toEqual({});
        expect(Object.keys(await rowsOf(thread, tenant))).toEqual(
          expect.arrayContaining(['thread', 'run', 'stream_event', 'checkpoint_blobs']),
        );
      }
    const items = await database.sql<{ prefix: string; tenant: string }>(
      `select distinct namespace[1] as prefix, value->'context'->>'tenant' as tenant from gx.store_item where namespace[1] like 'tenant-%' order by 1`,
    );
    expect(items).toEqual([
      { prefix: BLUE, tenant: BLUE },
      { prefix: RED, tenant: RED },
    ]);
  });

  test('by commands of event streaming as well', async () => {
    const { thread_id } = await clientOf(BLUE).threads.create();
    const thread = new WireThread(agent.url, thread_id);
    const command = {
      id: 1,
      method: 'run.start',
      params: { assistant_id: 'keeps', input: { note: 'a command' } },
    };
    expect((await thread.post('/commands', command, { 'x-tenant': BLUE })).status).toBe(200);
    await expect
      .poll(async () => (await clientOf(BLUE).threads.get(thread_id)).status)
      .toBe('idle');
    expect(await rowsOf(thread_id, RED)).toEqual({});
    expect(Object.keys(await rowsOf(thread_id, BLUE))).toEqual(
      expect.arrayContaining(['thread', 'run', 'checkpoint_blobs']),
    );
  });

  test('have crons whose runs are encrypted as the cron is', async () => {
    const cron = await clientOf(BLUE).crons.create('keeps', {
      schedule: '* * * * * *',
      input: { note: 'on time' },
      metadata: { plain: 'on time' },
      onRunCompleted: 'keep',
    });
    const runs = () =>
      database.sql<{ tenant: string }>(
        `select kwargs->'context'->>'tenant' as tenant from gx.run where metadata->>'plain' = 'on time' and status = 'success'`,
      );
    await expect.poll(async () => (await runs()).length).toBeGreaterThan(0);
    await clientOf(BLUE).crons.delete(cron.cron_id);
    expect(new Set((await runs()).map(({ tenant }) => tenant))).toEqual(new Set([BLUE]));
  });

  test('read what the other has encrypted, where they may: the context stands beside the value', async () => {
    const [thread] = threads[BLUE]!;
    const { values } = await clientOf(RED).threads.getState<{ note: string }>(thread!);
    expect(values.note).toContain(BLUE);
    const kept = await clientOf(RED).threads.copy(thread!);
    expect(
      (await clientOf(RED).threads.getState<{ note: string }>(kept.thread_id)).values.note,
    ).toContain(BLUE);
  });

  test.each([
    ['is no object', 'odd', 500, 'encryption.path: context returned no object.'],
    ['fails', 'lost', 503, 'encryption.path: context failed for a request.'],
  ])('get a sentence where the handler for contexts %s', async (_, tenant, status, detail) => {
    const answer = await fetch(`${agent.url}/threads`, {
      method: 'POST',
      body: '{}',
      headers: { 'x-tenant': tenant },
    });
    expect([answer.status, await answer.json()]).toEqual([status, { detail }]);
  });

  test('lose all that they have when their key is taken away, and the other goes on', async () => {
    await agent.kill();
    agent = await startAgent({
      database: database.uri,
      config: `${graphs}/tenants.json`,
      env: { ...env, GONE: BLUE },
    });
    await expect(clientOf(RED).threads.getState(threads[BLUE]![0]!)).rejects.toThrow(
      /encryption\.path: decrypt\.(blob|json) failed/,
    );
    const { values } = await clientOf(RED).threads.getState<{ note: string }>(threads[RED]![0]!);
    expect(values.note).toContain(RED);
  });
});

describe('the header of a request', () => {
  let agent: AgentProcess;

  beforeAll(async () => {
    agent = await startAgent({
      database: database.uri,
      config: `${graphs}/tenants-by-header.json`,
      env,
    });
  });

  afterAll(() => agent.kill());

  const create = async (header?: string): Promise<{ status: number; body: unknown }> => {
    const headers = header === undefined ? {} : { 'x-encryption-context': header };
    const answer = await fetch(`${agent.url}/threads`, {
      method: 'POST',
      body: JSON.stringify({ metadata: { secret: 'x' } }),
      headers,
    });
    return { status: answer.status, body: await answer.json() };
  };
  const inBase64 = (value: unknown): string =>
    Buffer.from(JSON.stringify(value)).toString('base64');

  test('names the context, where no handler derives one', async () => {
    const { status, body } = await create(inBase64({ tenant: RED }));
    expect(status).toBe(200);
    const { thread_id } = body as { thread_id: string };
    expect(
      await database.sql(
        `select metadata->'secret'->'context' as context from gx.thread where thread_id = '${thread_id}'`,
      ),
    ).toEqual([{ context: { tenant: RED } }]);
  });

  test('may be missing, and then the handlers get an empty one', async () => {
    expect(await create()).toEqual({
      status: 503,
      body: { detail: 'encryption.path: encrypt.json failed for thread.metadata.' },
    });
    expect(await create(inBase64({}))).toMatchObject({ status: 503 });
  });

  test.each([
    ['no base64', '%%%', 'an object'],
    ['no JSON', Buffer.from('tenant').toString('base64'), 'an object'],
    ['no object', inBase64(['one']), 'an object'],
    ['too long', inBase64({ tenant: 'x'.repeat(2000) }), 'an object of at most 2000 bytes'],
    ['not to be stored', inBase64({ tenant: 'a\0b' }), 'an object of values that can be stored'],
  ])('that is %s is refused', async (_, header, what) => {
    const detail = `X-Encryption-Context: It must be ${what}, as JSON in base64.`;
    expect(await create(header)).toEqual({ status: 400, body: { detail } });
  });
});
