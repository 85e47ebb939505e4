import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/*
 * A module of `encryption.path` in Python beside graphs in both languages. What a module does in either language alone
 * is in the table of test/python/twins.
 */

const KEEPS = path.resolve('test/agent/wire/encryption/graphs/keeps');
const TENANTS = path.resolve('test/agent/wire/encryption/graphs/tenants');
const TURNED = path.resolve('test/python/own-code/turned');
const folder = mkdtempSync(path.join(tmpdir(), 'gx-encryption-'));

const options = (database: TestDatabase, encryption: string) => {
  const config = path.join(folder, `${path.basename(encryption)}.json`);
  const graphs = { python: `${KEEPS}.py:graph`, javascript: `${KEEPS}.ts:graph` };
  writeFileSync(config, JSON.stringify({ graphs, encryption: { path: encryption } }));
  return { database: database.uri, config, env: { GX_PYTHON: `${inject('python')}/python` } };
};

let database: TestDatabase;
let agent: AgentProcess | undefined;

/** Starts a server in place of the one before. */
async function started(encryption: string): Promise<AgentProcess> {
  await agent?.kill();
  agent = await startAgent(options(database, encryption));
  return agent;
}

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  await agent?.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Returns the text of all rows in which the word is found as it is. */
async function found(word: string): Promise<unknown[]> {
  const tables = await database.sql<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'gx'`,
  );
  const asHex = Buffer.from(word).toString('hex');
  const rows = await Promise.all(
    tables.map(({ name }) =>
      database.sql(
        `select t::text from gx.${name} t where t::text like '%${word}%' or t::text like '%${asHex}%'`,
      ),
    ),
  );
  return rows.flat();
}

describe('graphs in both languages', () => {
  const threads = { python: '', javascript: '' };
  const names = ['python', 'javascript'] as const;

  test('are encrypted by a module in Python: states, items, labels and crons', async () => {
    const { client } = await started(`${TURNED}.py:encryption`);
    for (const name of names) {
      const { thread_id } = await client.threads.create({
        metadata: { secret: `hidden ${name}`, plain: 'seen' },
      });
      threads[name] = thread_id;
      const values = await client.runs.wait(thread_id, name, {
        input: { note: `hidden ${name}`, messages: [] },
      });
      expect(values).toMatchObject({ note: `hidden ${name}` });
      expect((await client.store.getItem(['notes'], 'of-graph'))?.value).toEqual({
        note: `hidden ${name}`,
      });
      const schedule = {
        schedule: '0 0 1 1 *',
        input: { note: `hidden ${name}` },
        metadata: { plain: name },
      };
      await client.crons.create(name, schedule);
      expect(await client.crons.search({ metadata: { plain: name } })).toMatchObject([
        { payload: { input: { note: `hidden ${name}` } } },
      ]);
    }
    expect(await found('hidden')).toEqual([]);
    expect((await found('seen')).length).toBeGreaterThan(0);
  });

  test.each([
    ['JavaScript', 'ts'],
    ['Python', 'py'],
  ])('are read by a module in %s that has the same key, and go on', async (_, ending) => {
    const { client } = await started(`${TURNED}.${ending}:encryption`);
    for (const name of names) {
      const thread_id = threads[name];
      expect((await client.threads.get(thread_id)).metadata).toMatchObject({
        secret: `hidden ${name}`,
        plain: 'seen',
      });
      const before = (await client.threads.getState<{ messages: unknown[] }>(thread_id)).values;
      const values = await client.runs.wait(thread_id, name, {
        input: { note: `hidden in ${ending}`, messages: [] },
      });
      expect((values as typeof before).messages).toHaveLength(before.messages.length + 1);
      expect((await client.threads.getHistory(thread_id, { limit: 100 })).length).toBeGreaterThan(
        4,
      );
      expect(await client.crons.search({ metadata: { plain: name } })).toMatchObject([
        { payload: { input: { note: `hidden ${name}` } } },
      ]);
    }
    expect(await found('hidden')).toEqual([]);
  });

  test('are stored by another key where the module asks for that as it reads them, and the former key is needed no more', async () => {
    const { client, output } = await started(`${TURNED}.py:rotates`);
    expect((await client.threads.getState(threads.python)).values).toMatchObject({
      note: 'hidden in py',
    });
    await expect
      .poll(output, { timeout: 60_000 })
      .toContain('all values of encryption.path were looked at');
    // Values as the former key wrote them are nowhere, and those that are read are the same.
    await started(`${TURNED}.py:new`);
    for (const name of names) {
      expect((await agent!.client.threads.get(threads[name])).metadata).toMatchObject({
        secret: `hidden ${name}`,
        plain: 'seen',
      });
      expect(
        (await agent!.client.threads.getHistory(threads[name], { limit: 100 })).length,
      ).toBeGreaterThan(4);
      expect((await agent!.client.threads.getState(threads[name])).values).toMatchObject({
        note: 'hidden in py',
      });
      expect(await agent!.client.crons.search({ metadata: { plain: name } })).toMatchObject([
        { payload: { input: { note: `hidden ${name}` } } },
      ]);
    }
    expect((await agent!.client.store.getItem(['notes'], 'of-graph'))?.value).toEqual({
      note: 'hidden in py',
    });
    expect(await found('hidden')).toEqual([]);
  });

  test('stay where the module asks for values that are decrypted to something else', async () => {
    await database.sql('update gx.reencryption set not_before = now()');
    const { client, output } = await started(`${TURNED}.py:loses`);
    expect((await client.threads.getState(threads.python)).values).toMatchObject({
      note: 'hidden in py',
    });
    await expect
      .poll(output, { timeout: 60_000 })
      .toContain('all values of encryption.path were looked at');
    for (const name of ['decrypt.blob', 'decrypt.json'])
      expect(output()).toContain(
        `a replacement of ${name} is decrypted to another value, so the value before it stays`,
      );
    expect((await client.threads.getState(threads.python)).values).toMatchObject({
      note: 'hidden in py',
    });
    expect(await found('lost')).toEqual([]);
  });
});

test('values have the context of their request where a module in Python, which refuses them without, serves both languages', async () => {
  const own = await freshDatabase();
  const server = await startAgent(options(own, `${TENANTS}.py:byHeader`));
  const context = Buffer.from('{"tenant":"one"}').toString('base64');
  const client = new Client({
    apiUrl: server.url,
    defaultHeaders: { 'x-encryption-context': context },
  });
  for (const name of ['python', 'javascript']) {
    const { thread_id } = await client.threads.create({ metadata: { secret: 'hidden' } });
    expect(
      await client.runs.wait(thread_id, name, { input: { note: 'hidden', messages: [] } }),
    ).toMatchObject({ note: 'hidden' });
    await client.threads.updateState(thread_id, { values: { note: 'changed' }, asNode: 'count' });
    expect((await client.threads.getState(thread_id)).values).toMatchObject({ note: 'changed' });
    expect((await client.store.getItem(['notes'], 'of-graph'))?.value).toEqual({ note: 'hidden' });
  }
  const contexts = `select kwargs->'context' as context from gx.run union all select value->'context' from gx.store_item`;
  expect(await own.sql(contexts)).toEqual(
    Array.from({ length: 3 }, () => ({ context: { tenant: 'one' } })),
  );
  await server.kill();
  await own.drop();
});

test.each([
  ['no_module', 'is no Encryption object of langgraph_sdk.'],
  ['nothing', `encryption.path: ${TURNED}.py has no variable named "nothing".`],
  ['odd', 'encryption.path: encrypt.json returned values for run.key that JSON does not have.'],
])('a start with %s fails and says why', async (name, sentence) => {
  const other = await freshDatabase();
  const { output } = await failedStart(options(other, `${TURNED}.py:${name}`));
  expect(output.replaceAll(String.raw`\"`, '"')).toContain(sentence);
  await other.drop();
});
