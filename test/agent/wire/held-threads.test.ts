import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/*
 * A state is written by hand, and its graph takes as long as it likes to say where the thread goes from there: until
 * the test opens a gate.
 */

const CONFIG = 'test/agent/wire/held/graphs/gx.json';
/** With two connections, two requests that held one each would stop all others. */
const env = { GX_POSTGRES_POOL_MAX_SIZE: '2' };
let database: TestDatabase;
let agent: AgentProcess;
let other: AgentProcess;
let folder: string;
const gates: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gates-'));
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: CONFIG, env });
  other = await startAgent({ database: database.uri, config: CONFIG, env });
});
afterEach(() => {
  for (const gate of gates.splice(0)) open(gate);
});
afterAll(async () => {
  await Promise.all([agent.kill(), other.kill()]);
  await database.drop();
  rmSync(folder, { recursive: true });
});

const open = (gate: string): void => writeFileSync(gate, '');

async function newThread(): Promise<string> {
  const { thread_id } = await agent.client.threads.create({ graphId: 'gated' });
  return thread_id;
}

type Writing = { gate: string; written: Promise<unknown> };

/** Begins to write the state of a thread. Returns once its graph has been asked. */
async function writing(thread: string, { seen = 'by hand', via = agent } = {}): Promise<Writing> {
  const gate = join(folder, randomUUID());
  gates.push(gate);
  const written = via.client.threads.updateState(thread, {
    values: { gate, seen: [seen] },
    asNode: 'enter',
  });
  // A test that fails before it awaits this must say why it failed.
  written.catch(() => undefined);
  return { gate, written };
}

const isHeld = async (thread: string): Promise<boolean> =>
  (
    await database.sql('select 1 from gx.thread where thread_id = $1 and held_until > now()', [
      thread,
    ])
  ).length === 1;
const held = (thread: string): Promise<true> => until('the thread is held', () => isHeld(thread));

async function values(thread: string): Promise<unknown> {
  return (await other.client.threads.getState(thread)).values;
}

test('graphs that do not answer take no connection from others', async () => {
  const threads = await Promise.all(Array.from({ length: 3 }, newThread));
  const all = await Promise.all(threads.map((thread) => writing(thread)));
  for (const thread of threads) await held(thread);
  const another = await newThread();
  expect(await agent.client.threads.get(another)).toMatchObject({ thread_id: another });
  for (const { gate } of all) open(gate);
  await Promise.all(all.map(({ written }) => written));
  for (const thread of threads) expect(await values(thread)).toMatchObject({ seen: ['by hand'] });
});

test.each(['enqueue', 'reject', 'interrupt', 'rollback'] as const)(
  'a run that comes meanwhile (%s) waits, and goes on from the state that was written',
  async (multitaskStrategy) => {
    const thread = await newThread();
    const { gate, written } = await writing(thread);
    await held(thread);
    const run = await other.client.runs.create(thread, 'gated', {
      input: { gate: '' },
      multitaskStrategy,
    });
    const here = await agent.client.runs.create(thread, 'gated', {
      input: { gate: '' },
      multitaskStrategy: 'enqueue',
    });
    // Both processes look at the queue, and must leave the run there.
    await until('a worker has looked', async () => {
      const tickets = await database.sql(
        `select 1 from pgboss.job_common where data->>'thread_id' = $1`,
        [thread],
      );
      return tickets.length === 0;
    });
    expect(await agent.client.runs.get(thread, run.run_id)).toMatchObject({ status: 'pending' });
    open(gate);
    await written;
    await agent.client.runs.join(thread, run.run_id);
    await agent.client.runs.join(thread, here.run_id);
    expect(await values(thread)).toMatchObject({
      seen: ['by hand', 'entered', '2 before', 'entered', '4 before'],
    });
  },
);

test('two who write the same state, in one process and in another, take turns', async () => {
  const thread = await newThread();
  const first = await writing(thread, { seen: 'first' });
  await held(thread);
  const more = await Promise.all([
    writing(thread, { seen: 'here' }),
    writing(thread, { seen: 'there', via: other }),
  ]);
  for (const { gate } of more) open(gate);
  expect(await isHeld(thread)).toBe(true);
  open(first.gate);
  await Promise.all([first, ...more].map(({ written }) => written));
  const { seen } = (await values(thread)) as { seen: string[] };
  expect(seen[0]).toBe('first');
  expect(seen.slice(1).toSorted()).toEqual(['here', 'there']);
});

test('a process that dies meanwhile costs the thread some seconds', async () => {
  const dying = await startAgent({ database: database.uri, config: CONFIG, env });
  const thread = await newThread();
  const { written } = await writing(thread, { via: dying });
  await held(thread);
  await dying.kill('SIGKILL');
  await expect(written).rejects.toThrow();
  const run = await other.client.runs.create(thread, 'gated', { input: { gate: '' } });
  await until(
    'the run is over',
    async () => (await other.client.runs.get(thread, run.run_id)).status === 'success',
  );
  await other.client.threads.updateState(thread, {
    values: { gate: '', seen: ['again'] },
    asNode: 'leave',
  });
});

test('a thread that is deleted meanwhile leaves nothing behind', async () => {
  const thread = await newThread();
  const { gate, written } = await writing(thread);
  await held(thread);
  await other.client.threads.delete(thread);
  open(gate);
  await expect(written).rejects.toMatchObject({ status: 404 });
  expect(await database.sql('select 1 from gx.checkpoints where thread_id = $1', [thread])).toEqual(
    [],
  );
});

test('a change that its graph refuses lets go of the thread', async () => {
  const thread = await newThread();
  const refused = agent.client.threads.updateState(thread, { values: {}, asNode: 'nobody' });
  await expect(refused).rejects.toMatchObject({ status: 400 });
  expect(await isHeld(thread)).toBe(false);
  await agent.client.runs.wait(thread, 'gated', { input: { gate: '' } });
});
