import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* A module of `encryption.path` that does not do what it must. */

const graphs = path.resolve('test/agent/wire/encryption/graphs');
const MODULE_SECRET = 'a secret of the test';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await freshDatabase();
  folder = mkdtempSync(path.join(tmpdir(), 'gx-encryption-faults-'));
});

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

let count = 0;

/** Writes a gx.json that names the export. */
function configOf(of: string): string {
  const file = path.join(folder, `gx-${(count += 1)}.json`);
  writeFileSync(
    file,
    JSON.stringify({ graphs: { keeps: `${graphs}/keeps.ts:graph` }, encryption: { path: of } }),
  );
  return file;
}

describe('a start says in one sentence what is wrong with the module', () => {
  test.each<[what: string, of: string, env: Record<string, string>, sentence: RegExp]>([
    [
      'there is no such file',
      './nowhere.ts:encryption',
      {},
      /encryption\.path: there is no file .*nowhere\.ts/,
    ],
    [
      'it has no such export',
      `${graphs}/faulty.ts:nothing`,
      {},
      /encryption\.path: .*faulty\.(ts does not export|py has no variable named) .*nothing/,
    ],
    [
      'it has no handlers',
      `${graphs}/faulty.ts:empty`,
      {},
      /empty.* of .*faulty\.(ts|py) has no handlers/,
    ],
    [
      'it can not decrypt',
      `${graphs}/faulty.ts:withoutDecrypt`,
      {},
      /has encrypt\.blob without decrypt\.blob/,
    ],
    [
      'it leaves some records out',
      `${graphs}/faulty.ts:onlyThreads`,
      {},
      /would leave values of "run", "cron", "checkpoint", "store" as they are; add encrypt\.blob/,
    ],
    [
      'it names a kind that does not exist',
      `${graphs}/faulty.ts:unknownKind`,
      {},
      /encrypt\.json of "message", which is none of assistant/,
    ],
    [
      'a handler is no function',
      `${graphs}/faulty.ts:noFunction`,
      {},
      /has encrypt\.blob, which is not a function/,
    ],
    [
      'its handler for contexts is no function',
      `${graphs}/faulty.ts:noHandler`,
      {},
      /has a context that is not a function/,
    ],
    [
      'it does not read what it wrote',
      `${graphs}/faulty.ts:oneWay`,
      {},
      /encryption\.path: decrypt\.blob returned something else for run\.key than encrypt\.blob was given/,
    ],
    [
      'it returns the wrong type',
      `${graphs}/faulty.ts:wrongType`,
      {},
      /encryption\.path: encrypt\.blob returned no bytes for run\.key/,
    ],
    [
      'it adds a key to records that lack it',
      `${graphs}/one-key.ts:addsTheKey`,
      {},
      /encryption\.path: encrypt\.json changed the keys of run\.kwargs \(ssn\); it may only change their values/,
    ],
    [
      'it fails for records that lack a key',
      `${graphs}/one-key.ts:needsTheKey`,
      {},
      /encryption\.path: encrypt\.json failed for run\.kwargs/,
    ],
    [
      'it does not give back numbers and lists',
      `${graphs}/one-key.ts:losesKinds`,
      {},
      /encryption\.path: decrypt did not return the value that encrypt was given for run\.kwargs/,
    ],
    [
      'a key would encrypt, too',
      `${graphs}/encryption.ts:encryption`,
      { GX_AES_KEY: 'k'.repeat(32) },
      /GX_AES_KEY and encryption\.path/,
    ],
    [
      'a list of names would choose, too',
      `${graphs}/encryption.ts:encryption`,
      { GX_AES_KEY: `none,${'k'.repeat(32)}`, GX_AES_JSON_KEYS: 'secret' },
      /GX_AES_JSON_KEYS has no effect beside encryption\.path/,
    ],
  ])('%s', async (_, of, env, sentence) => {
    const { code, output } = await failedStart({
      database: database.uri,
      config: configOf(of),
      env: { MODULE_SECRET, ...env },
    });
    expect(output).toMatch(sentence);
    expect(code).toBe(1);
  });
});

describe('a module that fails at times', () => {
  let agent: AgentProcess;

  beforeAll(async () => {
    const env = { MODULE_SECRET, GX_ENCRYPTION_TIMEOUT_SECS: '1' };
    agent = await startAgent({
      database: database.uri,
      config: configOf(`${graphs}/faulty.ts:atTimes`),
      env,
    });
  });

  afterAll(() => agent.kill());

  const put = async (note: string): Promise<{ status: number; detail: string }> => {
    const body = JSON.stringify({ namespace: ['notes'], key: note, value: { note } });
    const answer = await fetch(`${agent.url}/store/items`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const text = await answer.text();
    return {
      status: answer.status,
      detail: text === '' ? '' : (JSON.parse(text) as { detail: string }).detail,
    };
  };

  test.each([
    ['hangs', 'please hang', 503, /encryption\.path.* did not answer within 1 s/],
    ['throws', 'please throw', 503, /encryption\.path: encrypt\.json failed for store\.value/],
    [
      'returns the wrong type',
      'please return text',
      500,
      /encrypt\.json returned no object for store\.value/,
    ],
    [
      'changes keys',
      'please change the keys',
      500,
      /encrypt\.json changed the keys of store\.value \(other, note\)/,
    ],
    ['never yields', 'please never yield', 503, /encryption\.path (does not yield|did not answer)/],
  ])('costs only its caller a sentence: it %s', async (_, note, status, sentence) => {
    const answer = await put(note);
    expect(answer).toMatchObject({ status, detail: expect.stringMatching(sentence) });
    expect(answer.detail).not.toContain('1234');
    // A thread that was ended is replaced first.
    await expect
      .poll(async () => (await put('an innocent note')).status, { timeout: 60_000 })
      .toBe(204);
    expect((await agent.client.store.getItem(['notes'], 'an innocent note'))?.value).toEqual({
      note: 'an innocent note',
    });
    expect(await agent.client.store.getItem(['notes'], note).catch(() => null)).toBeNull();
  });

  test('ends a run with a sentence when it fails where the graph runs', async () => {
    const { thread_id } = await agent.client.threads.create();
    const failed = agent.client.runs.wait(thread_id, 'keeps', {
      input: { note: 'please fail in the graph' },
      raiseError: false,
    });
    expect(JSON.stringify(await failed)).toMatch(
      /encryption\.path: encrypt\.blob failed for checkpoint\.(values|writes)/,
    );
    expect(JSON.stringify(await failed)).not.toContain('no vault');
  });
});

test('values that were stored before are read as they are', async () => {
  const own = await freshDatabase();
  const open = await startAgent({
    database: own.uri,
    config: 'test/agent/wire/encryption/graphs/gx.json',
  });
  const { thread_id } = await open.client.threads.create({
    metadata: { secret: 'old', plain: 'old' },
  });
  await open.client.runs.wait(thread_id, 'keeps', { input: { note: 'from before' } });
  await open.client.store.putItem(['notes'], 'old', { note: 'from before' });
  await open.kill();
  const agent = await startAgent({
    database: own.uri,
    config: 'test/agent/wire/encryption/graphs/by-json.json',
    env: { MODULE_SECRET },
  });
  expect((await agent.client.threads.get(thread_id)).metadata).toMatchObject({
    secret: 'old',
    plain: 'old',
  });
  expect((await agent.client.threads.getState<{ note: string }>(thread_id)).values.note).toBe(
    'from before',
  );
  expect((await agent.client.store.getItem(['notes'], 'old'))?.value).toEqual({
    note: 'from before',
  });
  const after = await agent.client.runs.wait(thread_id, 'keeps', { input: { note: 'from after' } });
  expect(after).toMatchObject({ note: 'from after' });
  expect((await agent.client.threads.getHistory(thread_id, { limit: 50 })).length).toBeGreaterThan(
    4,
  );
  expect(
    await own.sql(
      `select count(*)::int as sealed from gx.thread where long_values like '%from after%'`,
    ),
  ).toEqual([{ sealed: 0 }]);
  expect(
    await own.sql(
      `select count(*)::int as sealed from gx.thread where long_values like '{"__gx_sealed__":"custom"%'`,
    ),
  ).toEqual([{ sealed: 1 }]);
  await agent.kill();
  const { output } = await failedStart({
    database: own.uri,
    config: 'test/agent/wire/encryption/graphs/gx.json',
  });
  expect(output).toMatch(
    /The database is encrypted by a module, and gx\.json names none in encryption\.path/,
  );
  await own.drop();
});
