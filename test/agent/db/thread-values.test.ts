import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keepLatestCheckpoints } from '../../../src/agent/db/threads/checkpoint-pruning.ts';
import { finishRuns } from '../../../src/agent/db/runs/ends.ts';
import { LongStates } from '../../../src/agent/db/fields/long-states.ts';
import { searchThreads } from '../../../src/agent/db/threads/thread-search.ts';
import { copyThread } from '../../../src/agent/db/threads/thread-copies.ts';
import {
  getThread,
  insertThreads,
  patchThread,
  setThreadState,
} from '../../../src/agent/db/threads/threads.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';

/* A long state is kept as text. Whoever reads or searches threads must not see a difference. */

let on: OpenDatabase;

beforeAll(async () => {
  on = await freshOpenDatabase();
});

afterAll(() => on.drop());

const said = (
  topic: string,
): { topic: string; done: boolean; nothing: null; messages: object[] } => ({
  topic,
  done: true,
  nothing: null,
  messages: Array.from({ length: 1000 }, (_, n) => ({
    n,
    content: `message ${n} of ${topic}, with \u0000 and \ud800`,
  })),
});

/** What Postgres keeps of it: it refuses two of its characters. */
const kept = (state: object): object =>
  JSON.parse(
    JSON.stringify(state).replaceAll('\\u0000', '').replaceAll('\\ud800', '\ufffd'),
  ) as object;

async function thread(): Promise<string> {
  const thread_id = randomUUID();
  await insertThreads(on.db, [{ thread_id, metadata: {} }]);
  return thread_id;
}

/** Ends a run of the thread. Without values, the run changed nothing. `longStates` is what its process remembers. */
async function endRun(
  thread_id: string,
  state: { values: string | undefined; plain?: string },
  longStates?: LongStates,
): Promise<void> {
  const [run_id, worker] = [randomUUID(), randomUUID()];
  await on.database.sql(
    `insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, worker, kwargs, multitask_strategy)
      values ($1, $2, gen_random_uuid(), 'none', 'running', $3, '{}', 'enqueue')`,
    [run_id, thread_id, worker],
  );
  const end = {
    run_id,
    thread_id,
    worker,
    status: 'success',
    error: null,
    webhook: false,
    hasCalls: false,
    thread: { status: 'idle', interrupts: '{}', ...state },
  } as const;
  const [written] = await finishRuns(on.db, [end], longStates);
  expect(written).toMatchObject({ status: 'success' });
}

const valuesOf = async (thread_id: string): Promise<unknown> =>
  (await getThread(on.db, thread_id))?.values;
const found = async (values: Record<string, unknown>): Promise<string[]> =>
  (await searchThreads(on.db, { limit: 10, offset: 0, values })).rows.map(
    ({ thread_id }) => thread_id!,
  );

describe.each<[string, (thread_id: string, state: object) => Promise<void>]>([
  [
    'written by hand',
    async (thread_id, values) =>
      void (await setThreadState(on.db, thread_id, { status: 'idle', values, interrupts: {} })),
  ],
  ['left by a run', (thread_id, state) => endRun(thread_id, { values: JSON.stringify(state) })],
])('a long state, %s', (how, write) => {
  test('is read whole, found by its fields, and copied', async () => {
    const thread_id = await thread();
    const state = said(how);
    await write(thread_id, state);
    expect(await valuesOf(thread_id)).toEqual(kept(state));
    expect((await patchThread(on.db, thread_id, { metadata: { a: 1 } }))?.values).toEqual(
      kept(state),
    );
    expect(await found({ topic: how })).toEqual([thread_id]);
    expect(await found({ topic: how, messages: [{ n: 999 }] })).toEqual([thread_id]);
    expect(await found({ topic: how, messages: [{ n: 1000 }] })).toEqual([]);
    expect(await found({ topic: how, nothing: null })).toEqual([thread_id]);
    const copy = await copyThread(on.db, thread_id, {
      copyId: randomUUID(),
      labels: {},
      seen: undefined,
    });
    expect(copy?.values).toEqual(kept(state));
    expect((await found({ topic: how })).toSorted()).toEqual(
      [thread_id, copy!.thread_id].toSorted(),
    );
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
    await on.database.sql(
      `update gx.thread set "values" = '{"older": 1}', state_updated_at = now() where thread_id = $1`,
      [thread_id],
    );
    expect(await valuesOf(thread_id)).toEqual({ older: 1 });
    await endRun(thread_id, { values: undefined });
    expect(await valuesOf(thread_id)).toEqual({ older: 1 });
  });
});

describe('a long state that grew', () => {
  const grown = (topic: string, more: number): ReturnType<typeof said> => {
    const state = said(topic);
    for (let n = 0; n < more; n += 1)
      state.messages.push({ n: 1000 + n, content: `one more: ${n} 😀 \u0000` });
    return state;
  };
  const row = async (thread_id: string): Promise<{ long: number; tail: number | null }> =>
    (
      await on.database.sql<{ long: number; tail: number | null }>(
        'select length(long_values) as long, length(long_tail) as tail from gx.thread where thread_id = $1',
        [thread_id],
      )
    )[0]!;
  const grow = (thread_id: string, state: object, longStates: LongStates): Promise<void> =>
    endRun(thread_id, { values: JSON.stringify(state) }, longStates);

  test('is stored as what was added, and is read, found and copied whole', async () => {
    const [thread_id, longStates] = [await thread(), new LongStates(1_000_000)];
    await grow(thread_id, grown('added', 0), longStates);
    const before = await row(thread_id);
    for (const more of [1, 2, 50]) {
      await grow(thread_id, grown('added', more), longStates);
      expect(await valuesOf(thread_id)).toEqual(kept(grown('added', more)));
    }
    const after = await row(thread_id);
    expect(after.long).toBe(before.long);
    expect(after.tail).toBeLessThan(5000);
    expect(await found({ topic: 'added', messages: [{ n: 1049 }] })).toEqual([thread_id]);
    const copy = await copyThread(on.db, thread_id, {
      copyId: randomUUID(),
      labels: {},
      seen: undefined,
    });
    expect(copy?.values).toEqual(kept(grown('added', 50)));
    await endRun(thread_id, { values: undefined }, longStates);
    expect(await valuesOf(thread_id)).toEqual(kept(grown('added', 50)));
  });

  test('is stored whole again once much was added, or something else stands there', async () => {
    const [thread_id, longStates] = [await thread(), new LongStates(1_000_000)];
    await grow(thread_id, grown('whole', 0), longStates);
    await grow(thread_id, grown('whole', 1000), longStates);
    expect((await row(thread_id)).tail).toBeNull();
    const other = { ...grown('whole', 1000), done: false };
    await grow(thread_id, { first: 1, ...other }, longStates);
    expect(await valuesOf(thread_id)).toEqual(kept({ first: 1, ...other }));
    await grow(thread_id, said('short').messages.slice(0, 3), longStates);
    expect(await valuesOf(thread_id)).toEqual(kept(said('short').messages.slice(0, 3)));
  });

  test('goes on behind what another process wrote, or a person', async () => {
    const [thread_id, here, there] = [
      await thread(),
      new LongStates(1_000_000),
      new LongStates(1_000_000),
    ];
    for (const [at, longStates] of [here, there, here, here, there, there].entries()) {
      await grow(thread_id, grown('both', at), longStates);
      expect(await valuesOf(thread_id)).toEqual(kept(grown('both', at)));
    }
    await setThreadState(on.db, thread_id, {
      status: 'idle',
      values: grown('by hand', 0),
      interrupts: {},
    });
    expect(await valuesOf(thread_id)).toEqual(kept(grown('by hand', 0)));
    await grow(thread_id, grown('both', 7), there);
    expect(await valuesOf(thread_id)).toEqual(kept(grown('both', 7)));
  });

  test('gives way to what a server wrote that does not know of tails', async () => {
    const [thread_id, longStates] = [await thread(), new LongStates(1_000_000)];
    for (const more of [0, 1]) await grow(thread_id, grown('older', more), longStates);
    await on.database.sql(
      `update gx.thread set "values" = '{}', long_values = '{"older": 1}', long_values_at = now(), state_updated_at = now() where thread_id = $1`,
      [thread_id],
    );
    expect(await valuesOf(thread_id)).toEqual({ older: 1 });
    await grow(thread_id, grown('older', 2), longStates);
    expect(await valuesOf(thread_id)).toEqual(kept(grown('older', 2)));
  });

  test('holds nothing that was removed, once its thread is pruned', async () => {
    const [thread_id, longStates] = [await thread(), new LongStates(1_000_000)];
    const state = said('pruned');
    await grow(
      thread_id,
      { ...state, messages: [...state.messages, { n: 1, content: 'a secret' }] },
      longStates,
    );
    await grow(thread_id, state, longStates);
    expect((await row(thread_id)).tail).not.toBeNull();
    expect(await keepLatestCheckpoints(on.db, thread_id)).toBe(true);
    expect(await valuesOf(thread_id)).toEqual(kept(state));
    const secret = `select 1 from gx.thread where thread_id = $1 and long_values like '%a secret%'`;
    expect(await on.database.sql(secret, [thread_id])).toEqual([]);
    await grow(thread_id, grown('pruned', 3), longStates);
    expect(await valuesOf(thread_id)).toEqual(kept(grown('pruned', 3)));
  });

  test('is forgotten, longest unused first, where too much is remembered', async () => {
    const longStates = new LongStates(100_000);
    const threads = [await thread(), await thread(), await thread()];
    for (const more of [0, 1, 2])
      for (const thread_id of threads) {
        await grow(thread_id, grown('many', more), longStates);
        expect(await valuesOf(thread_id)).toEqual(kept(grown('many', more)));
      }
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
