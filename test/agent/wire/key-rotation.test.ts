import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deriveAesKeyId } from '../../../src/schema/agent/aes-key-id.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/*
 * A key is replaced while two servers of one database serve, as the pods of a revision and of the next one do. Then
 * what the old key encrypted is encrypted anew, so that it can be dropped.
 */

const [OLD, NEW] = [1, 2].map(() => randomBytes(16).toString('hex')) as [string, string];
const [oldId, newId] = [OLD, NEW].map((key) => deriveAesKeyId(Buffer.from(key))) as [
  string,
  string,
];
const config = 'test/agent/wire/encryption/graphs/gx.json';

let database: TestDatabase;
let before: AgentProcess;
let after: AgentProcess;
/** Threads that the steps of the rotation have left behind, each with the note that it ends with. */
const notes = new Map<string, string>();

const start = (keys: string): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    config,
    env: { GX_AES_KEY: keys, GX_AES_JSON_KEYS: 'secret' },
  });

beforeAll(async () => {
  database = await freshDatabase();
  before = await start(OLD);
});

afterAll(async () => {
  await Promise.all([before, after].map((agent) => agent.kill()));
  await database.drop();
});

async function converse(agent: AgentProcess, note: string): Promise<string> {
  const { thread_id } = await agent.client.threads.create({ metadata: { secret: note } });
  expect(
    await agent.client.runs.wait(thread_id, 'keeps', { input: { note, left: 3 } }),
  ).toMatchObject({ note });
  await agent.client.store.putItem(['notes'], note, { note });
  notes.set(thread_id, note);
  return thread_id;
}

/** Goes on with the thread of one server at the other one. */
async function goOn(agent: AgentProcess, threadId: string, note: string): Promise<void> {
  expect((await agent.client.threads.getState<{ note: string }>(threadId)).values.note).toBe(
    notes.get(threadId),
  );
  expect(await agent.client.runs.wait(threadId, 'keeps', { input: { note } })).toMatchObject({
    note,
  });
  notes.set(threadId, note);
}

async function readsAll(agent: AgentProcess): Promise<void> {
  for (const [threadId, note] of notes) {
    expect((await agent.client.threads.get(threadId)).metadata).toHaveProperty('secret');
    expect((await agent.client.threads.get(threadId)).values).toMatchObject({ note });
    expect(
      (await agent.client.threads.getHistory(threadId, { limit: 100 })).length,
    ).toBeGreaterThan(4);
    for (const run of await agent.client.runs.list(threadId))
      expect(run).toHaveProperty('kwargs.input');
  }
  const { items } = await agent.client.store.searchItems(['notes'], { limit: 100 });
  for (const { key, value } of items.filter((item) => item.key !== 'of-graph'))
    expect(value['note']).toBe(key);
}

/** Both servers serve, and each goes on with what the other one did. */
async function bothServe(step: string): Promise<void> {
  const one = await converse(before, `${step}, before`);
  const other = await converse(after, `${step}, after`);
  await Promise.all([
    goOn(after, one, `${step}, over to the new one`),
    goOn(before, other, `${step}, over to the old one`),
  ]);
  const { thread_id } = await before.client.threads.create({ metadata: { secret: step } });
  const shared = await before.client.runs.create(thread_id, 'keeps', {
    input: { note: `${step}, shared` },
  });
  await after.client.runs.join(thread_id, shared.run_id);
  notes.set(thread_id, `${step}, shared`);
  await Promise.all([readsAll(before), readsAll(after)]);
}

describe('while the key is replaced, two servers side by side read what the other one wrote', () => {
  test('the old key writes, and the next revision knows the new one, too', async () => {
    after = await start(`${OLD},${NEW}`);
    const long = await converse(before, 'packed');
    await before.client.runs.wait(long, 'keeps', {
      input: { note: 'packed', left: 90 },
      config: { recursion_limit: 200 },
    });
    await bothServe('first step');
    expect(notes.size).toBe(4);
  });

  test('then the next revision writes with the new key', async () => {
    await before.kill();
    before = after;
    after = await start(`${NEW},${OLD}`);
    await bothServe('second step');
    await until('the log says that older values wait', () =>
      after.output().includes('some server still encrypts with them'),
    );
    expect(
      await database.sql('select key_id from gx.encryption_key where key_id = $1', [oldId]),
    ).toHaveLength(1);
  });
});

/** Returns which tables hold something that the key encrypted. */
async function tablesWith(keyId: string): Promise<string[]> {
  const heads = [1, 2].map((form) => Buffer.concat([Buffer.of(form), Buffer.from(keyId, 'hex')]));
  const found: string[] = [];
  const tables = await database.sql<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'gx'`,
  );
  for (const { name } of tables) {
    const rows = await database.sql<{ text: string }>(`select t::text as text from gx.${name} t`);
    const signs = heads.flatMap((head) => {
      const start64 = head.toString('base64').slice(0, 6);
      return [
        `"${start64}`,
        Buffer.from(`"${start64}`).toString('hex'),
        Buffer.concat([Buffer.from('sealed\0'), head]).toString('hex'),
      ];
    });
    if (
      name !== 'encryption_key' &&
      rows.some(({ text }) => signs.some((sign) => text.replaceAll('""', '"').includes(sign)))
    )
      found.push(name);
  }
  return found;
}

/** Nobody waits for the minutes after which a key counts as used no more. */
const nobodyUses = (keyId: string): Promise<unknown> =>
  database.sql(
    `update gx.encryption_key set used_at = now() - interval '1 hour' where key_id = $1`,
    [keyId],
  );

describe('what the old key encrypted', () => {
  test('is encrypted anew by two servers that share the work, but for a thread with a run', async () => {
    expect(await tablesWith(oldId)).toEqual(
      expect.arrayContaining([
        'checkpoint_blobs',
        'checkpoint_packs',
        'checkpoint_writes',
        'run',
        'store_item',
        'thread',
      ]),
    );
    const { thread_id: busy } = await before.client.threads.create({
      metadata: { secret: 'busy' },
    });
    await before.client.runs.wait(busy, 'keeps', { input: { note: 'busy' } });
    notes.set(busy, 'busy');
    await before.kill();
    // A run that nobody may take yet makes the thread busy.
    const waiting = await after.client.runs.create(busy, 'keeps', {
      input: { note: 'later' },
      afterSeconds: 3000,
    });
    const own = async (): Promise<unknown[]> =>
      database.sql(
        'select xmin::text, ctid::text from gx.checkpoint_blobs where thread_id = $1 order by 2',
        [busy],
      );
    const untouched = await own();
    before = await start(`${NEW},${OLD}`);
    await nobodyUses(oldId);
    await until(
      'a search is over',
      () => /"left":[1-9][0-9]*.*all tables were searched/.test(before.output() + after.output()),
      120,
    );
    expect(await own()).toEqual(untouched);
    await after.client.runs.cancel(busy, waiting.run_id, true);
    await database.sql('update gx.reencryption set not_before = now()');
    await until(
      'the old key is forgotten',
      async () => {
        await database.sql('update gx.reencryption set not_before = now()');
        return (
          (await database.sql('select 1 from gx.encryption_key where key_id = $1', [oldId]))
            .length === 0
        );
      },
      120,
    );
    expect(await tablesWith(oldId)).toEqual([]);
    expect(await tablesWith(newId)).not.toEqual([]);
    await Promise.all([readsAll(before), readsAll(after)]);
    await expect
      .poll(() => before.output() + after.output())
      .toMatch(/no value of these keys is left/);
  });

  test('each row once, which the metrics of both tell', async () => {
    const [pass] = await database.sql<{ rewritten: string }>(
      'select rewritten from gx.reencryption where key_id = $1',
      [newId],
    );
    const metric = async (agent: AgentProcess, name: string): Promise<number> => {
      const text = await (await fetch(`${agent.url}/metrics`)).text();
      return Number(new RegExp(`^${name}\\{.*\\} (.*)$`, 'm').exec(text)?.[1]);
    };
    const counts = await Promise.all(
      [before, after].map((agent) => metric(agent, 'gx_api_encryption_rewritten_total')),
    );
    expect(counts[0]! + counts[1]!).toBe(Number(pass!.rewritten));
    expect(Number(pass!.rewritten)).toBeGreaterThan(20);
    for (const agent of [before, after])
      await expect
        .poll(() => metric(agent, 'gx_api_encryption_older_keys'), { timeout: 60_000 })
        .toBe(0);
  });

  test('is read by a server without the old key', async () => {
    await before.kill();
    before = await start(NEW);
    await readsAll(before);
    expect(before.output()).not.toMatch(/GX_AES_KEY lacks them/);
  });
});
