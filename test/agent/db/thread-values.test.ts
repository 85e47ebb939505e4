import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { finishRuns } from '../../../src/agent/db/ends.ts';
import { copyThread, getThread, insertThreads, patchThread, searchThreads, setThreadState } from '../../../src/agent/db/threads.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';

/* A long state is kept as text. Whoever reads or searches threads must not see a difference. */

let on: OpenDatabase;

beforeAll(async () => {
  on = await freshOpenDatabase();
});

afterAll(() => on.drop());

const said = (topic: string): { topic: string; done: boolean; nothing: null; messages: object[] } => ({
  topic,
  done: true,
  nothing: null,
  messages: Array.from({ length: 1000 }, (_, n) => ({ n, content: `message ${n} of ${topic}, with \u0000 and \ud800` })),
});

/** What Postgres keeps of it: it refuses two of its characters. */
const kept = (state: object): object =>
  JSON.parse(JSON.stringify(state).replaceAll('\\u0000', '').replaceAll('\\ud800', '\ufffd')) as object;

async function thread(): Promise<string> {
  const thread_id = randomUUID();
  await insertThreads(on.db, [{ thread_id, metadata: {} }]);
  return thread_id;
}

/** Ends a run of the thread. Without values, the run changed nothing. */
async function endRun(thread_id: string, state: { values: string | undefined; plain?: string }): Promise<void> {
  const [run_id, worker] = [randomUUID(), randomUUID()];
  await on.database.sql(
    `insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, worker, kwargs, multitask_strategy)
      values ($1, $2, gen_random_uuid(), 'none', 'running', $3, '{}', 'enqueue')`,
    [run_id, thread_id, worker],
  );
  await finishRuns(on.db, [{ run_id, worker, status: 'success', error: null, thread: { status: 'idle', interrupts: '{}', ...state } }]);
}

const valuesOf = async (thread_id: string): Promise<unknown> => (await getThread(on.db, thread_id))?.values;
const found = async (values: Record<string, unknown>): Promise<string[]> =>
  (await searchThreads(on.db, { limit: 10, offset: 0, values })).map(({ thread_id }) => thread_id!);

describe.each<[string, (thread_id: string, state: object) => Promise<void>]>([
  ['written by hand', (thread_id, values) => setThreadState(on.db, thread_id, { status: 'idle', values, interrupts: {} })],
  ['left by a run', (thread_id, state) => endRun(thread_id, { values: JSON.stringify(state) })],
])('a long state, %s', (how, write) => {
  test('is read whole, found by its fields, and copied', async () => {
    const thread_id = await thread();
    const state = said(how);
    await write(thread_id, state);
    expect(await valuesOf(thread_id)).toEqual(kept(state));
    expect((await patchThread(on.db, thread_id, { a: 1 }))?.values).toEqual(kept(state));
    expect(await found({ topic: how })).toEqual([thread_id]);
    expect(await found({ topic: how, messages: [{ n: 999 }] })).toEqual([thread_id]);
    expect(await found({ topic: how, messages: [{ n: 1000 }] })).toEqual([]);
    expect(await found({ topic: how, nothing: null })).toEqual([thread_id]);
    const copy = await copyThread(on.db, thread_id, { copyId: randomUUID(), labels: {}, seen: undefined });
    expect(copy?.values).toEqual(kept(state));
    expect((await found({ topic: how })).toSorted()).toEqual([thread_id, copy!.thread_id].toSorted());
  });

  test('stays after a run that changed nothing, and gives way to a short one', async () => {
    const thread_id = await thread();
    const state = said(`${how}, twice`);
    await write(thread_id, state);
    await endRun(thread_id, { values: undefined });
    expect(await valuesOf(thread_id)).toEqual(kept(state));
    await write(thread_id, { short: true });
    expect(await valuesOf(thread_id)).toEqual({ short: true });
    expect(await found({ topic: state.topic })).toEqual([]);
  });

  test('gives way to what a server wrote that does not know of long states', async () => {
    const thread_id = await thread();
    await write(thread_id, said(how));
    await on.database.sql(`update gx.thread set "values" = '{"older": 1}', state_updated_at = now() where thread_id = $1`, [thread_id]);
    expect(await valuesOf(thread_id)).toEqual({ older: 1 });
    await endRun(thread_id, { values: undefined });
    expect(await valuesOf(thread_id)).toEqual({ older: 1 });
  });
});

test('a graph thread may tell the plain fields of a long state', async () => {
  const thread_id = await thread();
  await endRun(thread_id, { values: JSON.stringify(said('told')), plain: '{"topic":"as told"}' });
  expect(await found({ topic: 'as told' })).toEqual([thread_id]);
});

test('a long text is a state like any other', async () => {
  const thread_id = await thread();
  await endRun(thread_id, { values: JSON.stringify('text '.repeat(5000)) });
  expect(await valuesOf(thread_id)).toBe('text '.repeat(5000));
});
