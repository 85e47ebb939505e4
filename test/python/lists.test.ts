import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/* Long lists in the states of Python graphs, which are stored as what a step adds to them. */

const run = promisify(execFile);

test('lists that change at random are read again as they were', async () => {
  const { stdout } = await run(`${inject('python')}/python`, ['test/python/lists.py'], {
    env: { PYTHONPATH: 'python:test/python' },
  });
  expect(stdout).toBe('All lists are as they were.\n');
});

type Message = { type: string; content: string; id: string };
type Values = { messages?: Message[]; notes?: unknown[]; expected?: string; parts?: string[] };

const IN_BYTES = `thread_id = $1 and type = 'list:py:msgpack'`;

describe.each<[string, { env: Record<string, string>; config?: string }]>([
  ['as they are', { env: {} }],
  ['encrypted with a key', { env: { GX_AES_KEY: randomBytes(32).toString('base64') } }],
  ['encrypted by handlers', { env: {}, config: 'sealing.gx.json' }],
])('lists that are stored %s', (name, { env, config }) => {
  let database: TestDatabase;
  let agent: AgentProcess;

  beforeAll(async () => {
    database = await freshDatabase();
    agent = await startPython(database.uri, env, config);
  });
  afterAll(async () => {
    await agent.kill('SIGKILL');
    await database.drop();
  });

  const newThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;
  const edit = (thread_id: string, does: string, at = 0): Promise<unknown> =>
    agent.client.runs.wait(thread_id, 'edits', { input: { does, at } });
  const history = (thread_id: string): Promise<{ values: Values }[]> =>
    agent.client.threads.getHistory<Values>(thread_id, { limit: 1000 });

  /** Expects that each state holds the lists that the graph made, and returns their number. */
  async function expectAsMade(thread_id: string): Promise<number> {
    const states = (await history(thread_id))
      .map(({ values }) => values)
      .filter(({ expected }) => expected !== undefined);
    for (const { messages, notes, expected } of states)
      expect([...messages!.map(({ type, content, id }) => [type, content, id]), ...notes!]).toEqual(
        JSON.parse(expected!),
      );
    return states.length;
  }

  const count = async (condition: string, thread_id: string): Promise<number> =>
    (
      await database.sql<{ n: number }>(
        `select count(*)::int as n from gx.checkpoint_blobs where ${condition}`,
        [thread_id],
      )
    )[0]!.n;

  async function edited(): Promise<string> {
    const thread_id = await newThread();
    for (const [at, does] of [
      'clear',
      'append',
      'change',
      'remove',
      'append',
      'replace',
      'change',
      'append',
      'clear',
      'append',
    ].entries())
      await edit(thread_id, does, at * 3);
    return thread_id;
  }

  test('each state of a thread holds what its graph made, also as another process reads it', async () => {
    const thread_id = await edited();
    // So many that the older checkpoints are packed.
    for (let at = 0; at < 16; at += 1)
      await edit(thread_id, at % 4 === 3 ? 'change' : 'append', at);
    expect(await expectAsMade(thread_id)).toBeGreaterThan(70);
    expect(await count(`${IN_BYTES} and base is not null`, thread_id)).toBeGreaterThan(30);
    const [packs] = await database.sql<{ n: number }>(
      'select count(*)::int as n from gx.checkpoint_packs where thread_id = $1',
      [thread_id],
    );
    expect(packs!.n).toBeGreaterThan(0);
    await agent.kill();
    agent = await startPython(database.uri, env, config);
    expect(await expectAsMade(thread_id)).toBeGreaterThan(70);
    await edit(thread_id, 'change', 5);
    expect(await expectAsMade(thread_id)).toBeGreaterThan(73);
  });

  test('a run goes on from an earlier state, beside the later ones', async () => {
    const thread_id = await edited();
    const earlier = (await agent.client.threads.getHistory(thread_id, { limit: 100 }))[12]!;
    const { checkpoint_id } = earlier.checkpoint as { checkpoint_id: string };
    await agent.client.runs.wait(thread_id, 'edits', {
      input: { does: 'change', at: 2 },
      checkpointId: checkpoint_id,
    });
    expect(await expectAsMade(thread_id)).toBeGreaterThan(25);
  });

  test('a copy of a thread has its lists, and each goes on alone', async () => {
    const thread_id = await edited();
    const { thread_id: copy } = (await agent.client.threads.copy(thread_id)) as unknown as {
      thread_id: string;
    };
    const before = await history(thread_id);
    await edit(copy, 'change', 1);
    await edit(thread_id, 'remove', 2);
    expect((await history(copy)).slice(3).map(({ values }) => values)).toEqual(
      before.map(({ values }) => values),
    );
    await expectAsMade(copy);
    await expectAsMade(thread_id);
  });

  test('a thread that was pruned holds its last lists whole, and nothing of a removed message', async () => {
    const thread_id = await edited();
    const holdsRemoved = `thread_id = $1 and position('16: word'::bytea in blob) > 0`;
    expect((await count(holdsRemoved, thread_id)) > 0).toBe(name === 'as they are');
    await agent.client.runs.wait(await newThread(), 'tidies', {
      input: { does: 'prune', given: [thread_id] },
    });
    expect(await count(`${IN_BYTES} and base is not null`, thread_id)).toBe(0);
    expect(await count(IN_BYTES, thread_id)).toBe(2);
    expect(await count(holdsRemoved, thread_id)).toBe(0);
    expect(await expectAsMade(thread_id)).toBe(1);
    await edit(thread_id, 'append');
    await edit(thread_id, 'change', 3);
    expect(await expectAsMade(thread_id)).toBeGreaterThan(4);
  });

  test('a run that is rolled back leaves the lists as they were', async () => {
    const thread_id = await edited();
    const before = await history(thread_id);
    await edit(thread_id, 'change', 4);
    const [last] = await agent.client.runs.list(thread_id);
    await agent.client.runs.wait(await newThread(), 'tidies', {
      input: { does: 'delete', given: [last!.run_id] },
    });
    expect((await history(thread_id)).map(({ values }) => values)).toEqual(
      before.map(({ values }) => values),
    );
    await edit(thread_id, 'append');
    await expectAsMade(thread_id);
  });

  test('a state that is written by hand adds to its list', async () => {
    const thread_id = await edited();
    const before = (await history(thread_id))[0]!.values.messages!;
    await agent.client.threads.updateState(thread_id, {
      values: { messages: [{ role: 'user', content: 'by hand', id: 'hand' }] },
    });
    const { values } = await agent.client.threads.getState<Values>(thread_id);
    expect(values.messages!.slice(0, -1)).toEqual(before);
    expect(values.messages!.at(-1)).toMatchObject({ type: 'human', content: 'by hand' });
    expect(
      await count(`${IN_BYTES} and base is null and channel = 'messages'`, thread_id),
    ).toBeLessThan(4);
  });

  test('a graph within a node has lists of its own', async () => {
    const thread_id = await newThread();
    await agent.client.runs.wait(thread_id, 'around', { input: { to: 9, asks: true } });
    const state = await agent.client.threads.getState<Values>(thread_id, undefined, {
      subgraphs: true,
    });
    const within = state.tasks[0]!.state as unknown as { values: Values };
    expect(within.values.parts!.map((part) => part.split(' ')[0])).toEqual([
      '0',
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
    ]);
    expect(
      await count(`${IN_BYTES} and base is not null and checkpoint_ns <> ''`, thread_id),
    ).toBeGreaterThan(4);
    const values = (await agent.client.runs.wait(thread_id, 'around', {
      command: { resume: 'the end' },
    })) as Values;
    expect(values.parts!.map((part) => part.split(' ')[0])).toEqual([
      '0',
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
      'the',
    ]);
  });

  test('a run whose worker was killed adds to the same list at another one', async () => {
    const thread_id = await newThread();
    const { run_id } = await agent.client.runs.create(thread_id, 'grows', {
      input: { to: 25, pause: 0.1 },
      config: { recursion_limit: 100 },
    });
    await until(
      'there are some changes',
      async () => (await count(`${IN_BYTES} and base is not null`, thread_id)) > 3,
    );
    await agent.kill('SIGKILL');
    agent = await startPython(database.uri, env, config);
    await until(
      'it is over',
      async () => (await agent.client.runs.get(thread_id, run_id)).status === 'success',
    );
    const { values } = await agent.client.threads.getState<Values>(thread_id);
    expect(values.parts!.map((part) => Number(part.split(' ')[0]))).toEqual(
      Array.from({ length: 25 }, (_, at) => at),
    );
  });
});

test('a key that replaces another one reads the lists, and rewrites them', async () => {
  const database = await freshDatabase();
  const [older, newer] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  let agent = await startPython(database.uri, { GX_AES_KEY: older });
  const { thread_id } = await agent.client.threads.create();
  for (let at = 0; at < 6; at += 1)
    await agent.client.runs.wait(thread_id, 'edits', { input: { does: 'append' } });
  const before = await agent.client.threads.getHistory(thread_id, { limit: 100 });
  await agent.kill();
  const keys = await database.sql<{ key_id: string }>('select key_id from gx.encryption_key');
  expect(keys).toHaveLength(1);
  // No server has used the older key for a while.
  await database.sql(`update gx.encryption_key set used_at = now() - interval '1 hour'`);
  agent = await startPython(database.uri, { GX_AES_KEY: `${newer},${older}` });
  await until('the older key is forgotten', async () => {
    await database.sql('update gx.reencryption set not_before = now()');
    return (
      (await database.sql('select 1 from gx.encryption_key where key_id = $1', [keys[0]!.key_id]))
        .length === 0
    );
  });
  await agent.kill();
  agent = await startPython(database.uri, { GX_AES_KEY: newer });
  expect(await agent.client.threads.getHistory(thread_id, { limit: 100 })).toEqual(before);
  await agent.kill();
  await database.drop();
});
