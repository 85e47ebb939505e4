import { randomBytes } from 'node:crypto';
import type { Thread } from '@langchain/langgraph-sdk';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { failedStart } from '../../kit/agent-server.ts';
import {
  call,
  canary,
  everyInputIsRead,
  openEncrypted,
  type Encrypted,
} from '../../kit/postgres-encrypted.ts';

/* Whoever writes the database can't have a value read in another row, nor a plain one read as an encrypted one. */

const KEY = randomBytes(16).toString('hex');
const config = 'test/agent/wire/encryption/graphs/gx.json';
const STRICT = { GX_AES_KEY: KEY, GX_AES_JSON_KEYS: 'secret', GX_AES_STRICT: 'true' };

let server: Encrypted;
let database: Client;

beforeAll(async () => {
  server = await openEncrypted({ config, env: STRICT });
  database = new Client({ connectionString: server.database });
  await database.connect();
});

afterAll(async () => {
  await database.end();
  await server.stop();
});

everyInputIsRead(() => server);

type Ids = { thread_id: string; run_id: string };

/** Makes a thread whose run failed, or asks. */
async function threadOf(input: object): Promise<Ids> {
  const { runs, threads } = server.agent.client;
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, 'keeps', {
    input: { note: canary('mine'), ...input },
    feedbackKeys: ['liked'],
  });
  await runs.join(thread_id, run_id).catch(() => undefined);
  return { thread_id, run_id };
}

async function feedbackOn({ run_id }: Ids): Promise<void> {
  const { rows } = await database.query<{ token: string }>(
    'select token from gx.feedback where run_id = $1',
    [run_id],
  );
  const given = { value: { of: run_id }, comment: `on ${run_id}`, correction: { of: run_id } };
  expect(
    (await call(server.agent, 'POST', `/feedback/tokens/${rows[0]!.token}`, given)).status,
  ).toBe(204);
}

const CHANGED = {
  status: 503,
  body: { detail: expect.stringContaining('was changed, or belongs elsewhere') as string },
};

describe('a value of another row is refused', () => {
  let one: Ids;
  let other: Ids;

  beforeEach(async () => {
    one = await threadOf({ asks: true });
    other = await threadOf({ asks: true });
  });

  const move = (table: string, column: string): Promise<unknown> =>
    database.query(
      `update gx.${table} t set ${column} = s.${column} from gx.${table} s where t.thread_id = $1 and s.thread_id = $2`,
      [one.thread_id, other.thread_id],
    );

  test.each(['long_values', 'interrupts'])('as the %s of a thread', async (column) => {
    await move('thread', column);
    expect(await call(server.agent, 'GET', `/threads/${one.thread_id}`)).toMatchObject(CHANGED);
    expect((await call(server.agent, 'GET', `/threads/${other.thread_id}`)).status).toBe(200);
    const search = { ids: [one.thread_id], select: [column === 'interrupts' ? column : 'values'] };
    expect(await call(server.agent, 'POST', '/threads/search', search)).toMatchObject(CHANGED);
    const found = await call(server.agent, 'POST', '/threads/search', {
      ...search,
      ids: [other.thread_id],
    });
    expect(found.body).toEqual([{ [search.select[0]!]: expect.anything() as unknown }]);
  });

  test('as the error of a run', async () => {
    [one, other] = [await threadOf({ fails: true }), await threadOf({ fails: true })];
    await move('run', 'error');
    expect(
      await call(server.agent, 'GET', `/threads/${one.thread_id}/runs/${one.run_id}/join`),
    ).toMatchObject(CHANGED);
    expect(
      (await call(server.agent, 'GET', `/threads/${other.thread_id}/runs/${other.run_id}/join`))
        .status,
    ).toBe(200);
  });

  test.each(['value', 'comment', 'correction'])('as the %s of a feedback', async (column) => {
    for (const run of [one, other]) await feedbackOn(run);
    await move('feedback', column);
    expect(
      await call(server.agent, 'GET', `/threads/${one.thread_id}/runs/${one.run_id}/feedback`),
    ).toMatchObject(CHANGED);
  });
});

test('a copy of a thread has what it waits for, and its state, as its own', async () => {
  const { threads, runs } = server.agent.client;
  const { thread_id } = await threadOf({ asks: true });
  const copy = await threads.copy(thread_id);
  const [was, is] = [await threads.get(thread_id), await threads.get(copy.thread_id)];
  expect([is.values, is.interrupts, copy.values]).toEqual([was.values, was.interrupts, was.values]);
  expect(await runs.wait(copy.thread_id, 'keeps', { command: { resume: 'yes' } })).toMatchObject({
    answer: 'yes',
  });
});

test('a copy of a thread that failed has the reason as its own', async () => {
  const { threads } = server.agent.client;
  const { thread_id } = await threadOf({ fails: true });
  const copy = await threads.copy(thread_id);
  const { status, error } = (await threads.get(thread_id)) as Thread & { error: unknown };
  expect([status, error]).toEqual([
    'error',
    expect.objectContaining({ message: expect.any(String) as string }),
  ]);
  for (const shown of [copy, await threads.get(copy.thread_id)])
    expect(shown).toMatchObject({ status, error });
});

describe('a value that is not encrypted', () => {
  const PLAIN = {
    status: 503,
    body: { detail: expect.stringContaining('is not encrypted, and GX_AES_STRICT') as string },
  };
  const forged = { x: [{ id: 'x', value: 'forged' }] };

  test.each([
    ['interrupts', JSON.stringify(forged)],
    ['metadata', JSON.stringify({ a: [{ secret: 'forged' }] })],
    ['error', '"forged"'],
  ])('is refused as the %s of a thread', async (column, value) => {
    const { thread_id } = await threadOf({ asks: true });
    await database.query(`update gx.thread set ${column} = $2 where thread_id = $1`, [
      thread_id,
      value,
    ]);
    expect(await call(server.agent, 'GET', `/threads/${thread_id}`)).toMatchObject(PLAIN);
  });

  test('is read by a server that is not strict, because it may be of the time before the key', async () => {
    const { thread_id } = await threadOf({ asks: true });
    await database.query('update gx.thread set interrupts = $2 where thread_id = $1', [
      thread_id,
      forged,
    ]);
    await server.start({ config, env: { ...STRICT, GX_AES_STRICT: 'false' } });
    expect((await server.agent.client.threads.get(thread_id)).interrupts).toEqual(forged);
  });

  test('and a server that encrypts nothing can not be strict', async () => {
    const env = { ...STRICT, GX_AES_KEY: `none,${KEY}` };
    const { code, output } = await failedStart({ database: server.database, config, env });
    expect([code, output]).toEqual([
      1,
      expect.stringContaining('GX_AES_STRICT needs a key that encrypts'),
    ]);
  });
});
