import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEALED_TABLES } from '../../../src/agent/db/encryption/sealed-tables.ts';
import { MAGIC, SEALED } from '../../../src/agent/encryption/codec.ts';
import { failedStart } from '../../kit/agent-server.ts';
import {
  asked_id,
  call,
  canary,
  everyInputIsRead,
  nothingIsFound,
  openEncrypted,
  thread_id,
  type Encrypted,
} from '../../kit/postgres-encrypted.ts';

/* What a server keeps whose values a key encrypts, and how its keys change. */

const [FIRST, SECOND, THIRD] = [1, 2, 3].map(() => randomBytes(16).toString('hex')) as [
  string,
  string,
  string,
];
const config = 'test/agent/wire/encryption/graphs/gx.json';
const NAMED = { GX_AES_JSON_KEYS: 'secret' };

let server: Encrypted;

const start = (keys: string, env: Record<string, string> = NAMED): Promise<void> =>
  server.start({ config, env: { GX_AES_KEY: keys, ...env } });

beforeAll(async () => {
  server = await openEncrypted({ config, env: { GX_AES_KEY: FIRST, ...NAMED } });
});

afterAll(() => server.stop());

everyInputIsRead(() => server);
nothingIsFound(() => server);

/** What encrypted values begin with: in JSON and text, and as bytes, which columns show in hex and packs in base64. */
const SIGNS = [
  SEALED,
  ...[Buffer.from(SEALED), MAGIC].map((sign) => sign.toString('hex')),
  // The last byte's bits would depend on what follows.
  MAGIC.toString('base64').replace(/.=*$/, ''),
];

/** What each key encrypted to be known by. It goes with its key. */
const SAMPLE = 'encryption_key.sealed';
/** Columns that may stay empty here: of callers with names, of replaced writes, of packs, and one that is not used. */
const NOT_FILLED = [
  'cron.owner',
  'checkpoint_writes.before',
  'checkpoint_packs.packed',
  'thread.config',
];

test('each column that holds something encrypted is one that is encrypted anew when the key changes', async () => {
  const client = new Client({ connectionString: server.database });
  await client.connect();
  const { rows: columns } = await client.query<{ at: string; table: string; column: string }>(
    `select table_name || '.' || column_name as at, quote_ident(table_name) as table, quote_ident(column_name) as column
       from information_schema.columns where table_schema = 'gx'`,
  );
  const sealed: string[] = [];
  for (const { at, table, column } of columns) {
    const found = await client.query(
      `select 1 from gx.${table} where ${column}::text like any($1) limit 1`,
      [SIGNS.map((sign) => `%${sign.replaceAll('_', String.raw`\_`)}%`)],
    );
    if (found.rowCount !== 0) sealed.push(at);
  }
  await client.end();
  const anew = SEALED_TABLES.flatMap(({ name, columns: of }) =>
    Object.keys(of).map((column) => `${name}.${column}`),
  );
  expect(sealed.filter((at) => ![...anew, SAMPLE].includes(at))).toEqual([]);
  expect(anew.filter((at) => ![...sealed, ...NOT_FILLED].includes(at))).toEqual([]);
});

describe('searches that would have to look into it are refused by name', () => {
  test.each([
    ['threads by values', '/threads/search', { values: { note: 'x' } }, 'values'],
    ['threads counted by values', '/threads/count', { values: { note: 'x' } }, 'values'],
    [
      'threads by a named field',
      '/threads/search',
      { metadata: { secret: 'x' } },
      'metadata.secret',
    ],
    [
      'assistants by a named field',
      '/assistants/search',
      { metadata: { a: { secret: 'x' } } },
      'metadata.a.secret',
    ],
    [
      'crons by a named field',
      '/runs/crons/search',
      { metadata: { secret: 'x' } },
      'metadata.secret',
    ],
    ['items by a filter', '/store/items/search', { filter: { note: 'x' } }, 'filter'],
    ['items by a query', '/store/items/search', { query: 'x' }, 'query'],
    [
      'history by a named field',
      `/threads/${thread_id}/history`,
      { metadata: { secret: 'x' } },
      'metadata.secret',
    ],
  ])('%s', async (_, place, body, field) => {
    const answer = await call(server.agent, 'POST', place, body);
    expect(answer.status).toBe(422);
    const { detail } = answer.body as { detail: string };
    expect([detail.slice(0, detail.indexOf(':')), detail]).toEqual([
      `body.${field}`,
      expect.stringContaining('encrypts'),
    ]);
  });

  test('and a name that the server uses for what is encrypted', async () => {
    const answer = await call(server.agent, 'POST', '/threads', {
      metadata: { a: { __gx_sealed__: 'x' } },
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { detail: expect.stringContaining('__gx_sealed__') },
    });
  });
});

describe('keys', () => {
  const note = async (id: string): Promise<unknown> =>
    (await server.agent.client.threads.getState<{ note: string }>(id)).values.note;

  test('are replaced: the new one writes, and the old one still reads', async () => {
    await start(`${SECOND},${FIRST}`);
    expect(await note(thread_id)).toBe(canary('input'));
    await server.agent.client.runs.wait(thread_id, 'keeps', { input: { note: canary('second') } });
    expect(await note(thread_id)).toBe(canary('second'));
  });

  test('without the old one, what it wrote is refused with its id, and the rest is served', async () => {
    await start(SECOND);
    const { thread_id: fresh } = await server.agent.client.threads.create();
    expect(
      await server.agent.client.runs.wait(fresh, 'keeps', { input: { note: canary('fresh') } }),
    ).toMatchObject({
      note: canary('fresh'),
    });
    const answer = await call(server.agent, 'GET', `/threads/${asked_id}`);
    expect(answer).toMatchObject({
      status: 503,
      body: { detail: expect.stringMatching(/key [0-9a-f]{8}, which GX_AES_KEY does not have/) },
    });
    await expect.poll(() => server.agent.output()).toMatch(/GX_AES_KEY lacks them/);
  });

  test('that only read leave new values as they are', async () => {
    await start(`none,${SECOND},${FIRST}`, {});
    expect(await note(thread_id)).toBe(canary('second'));
    const { thread_id: plain } = await server.agent.client.threads.create();
    await server.agent.client.runs.wait(plain, 'keeps', { input: { note: canary('in-clear') } });
    expect(
      (await server.agent.client.threads.search({ values: { note: canary('in-clear') } })).map(
        (one) => one.thread_id,
      ),
    ).toEqual([plain]);
  });

  test.each([
    [
      'another key',
      { GX_AES_KEY: THIRD },
      /The database is encrypted with the keys [0-9a-f]{8}, [0-9a-f]{8}; GX_AES_KEY holds another/,
    ],
    [
      'no key',
      {},
      /The database is encrypted with the keys [0-9a-f]{8}, [0-9a-f]{8}, and GX_AES_KEY is not set/,
    ],
  ])('a start with %s fails with one sentence, and changes nothing', async (_, env, sentence) => {
    const { code, output } = await failedStart({ database: server.database, config, env });
    expect(code).toBe(1);
    expect(output).toMatch(sentence);
    expect(output).not.toContain(THIRD);
  });
});
