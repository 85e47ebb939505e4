import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Step } from '../../../src/agent/db/checkpoints/checkpoints.ts';
import { Batcher } from '../../../src/agent/db/base/batcher.ts';
import { StepsOfRun, type SharedWrites } from '../../../src/agent/run-storage/steps-of-run.ts';

/* A step is named by the id of the checkpoint that it makes, and a statement by the ids of its steps. */

const put = (id: string): Step => ({
  put: { key: ['thread', '', id], parentId: null, checkpoint: {}, metadata: '{}', blobs: [] },
});
const idOf = (step: Step): string => ('put' in step ? step.put.key[2] : 'writes');

/** A database that stores each statement when the test says so, or refuses those with a step of this id. */
function database(refused?: string): {
  shared: SharedWrites;
  statements: string[][];
  answer(): Promise<void>;
} {
  const statements: string[][] = [];
  const waiting: (() => void)[] = [];
  const shared: SharedWrites = new Batcher(async (runs: StepsOfRun[]) => {
    const ids = runs.flatMap((run) => run.take()).map(idOf);
    await new Promise<void>((resolve) => waiting.push(resolve));
    if (refused !== undefined && ids.includes(refused)) throw new Error(`refused: ${refused}`);
    statements.push(ids);
    for (const run of runs) run.clearTaken();
    return runs.map(() => true);
  });
  const answer = async (): Promise<void> => {
    while (waiting.length === 0) await turn();
    waiting.shift()!();
    for (let turns = 0; turns < 5; turns += 1) await turn();
  };
  return { shared, statements, answer };
}

test('a run that goes ahead waits for no step: what came while a statement was under way goes with the next, in its order', async () => {
  const { shared, statements, answer } = database();
  const run = new StepsOfRun(shared, { ahead: true });
  await run.add(put('a'));
  await turn();
  await turn();
  for (const id of ['b', 'c', 'd']) await run.add(put(id));
  await answer();
  expect(statements).toEqual([['a']]);
  await answer();
  expect(statements).toEqual([['a'], ['b', 'c', 'd']]);
});

test('another run waits for each of its steps', async () => {
  const { shared, statements, answer } = database();
  const run = new StepsOfRun(shared);
  let stored = false;
  const adding = run.add(put('a')).then(() => (stored = true));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(stored).toBe(false);
  await answer();
  await adding;
  expect(statements).toEqual([['a']]);
});

test('after a step that could not be stored nothing more is, the graph hears of it at its next step, and the end tells why', async () => {
  const { shared, statements, answer } = database('b');
  const run = new StepsOfRun(shared, { ahead: true });
  await run.add(put('a'));
  await answer();
  await run.add(put('b'));
  await answer();
  await expect(run.add(put('c'))).rejects.toThrow('refused: b');
  expect(await run.close()).toMatchObject({ message: 'refused: b' });
  expect(statements).toEqual([['a']]);
});

test('runs share a statement, and the fault of one is not that of the other', async () => {
  const { shared, statements, answer } = database('bad');
  const [good, bad] = [
    new StepsOfRun(shared, { ahead: true }),
    new StepsOfRun(shared, { ahead: true }),
  ];
  await Promise.all([good.add(put('good')), bad.add(put('bad'))]);
  for (let statement = 0; statement < 3; statement += 1) await answer();
  expect(statements).toEqual([['good']]);
  expect([await good.close(), await bad.close()]).toEqual([
    undefined,
    expect.objectContaining({ message: 'refused: bad' }),
  ]);
});

test('a row that is written twice is written by two statements', async () => {
  const { shared, statements, answer } = database();
  const run = new StepsOfRun(shared, { ahead: true });
  for (const id of ['a', 'b', 'a']) await run.add(put(id));
  await answer();
  await answer();
  expect(statements).toEqual([['a', 'b'], ['a']]);
});

test('a step whose own rows are the same is one statement', async () => {
  const { shared, statements, answer } = database();
  const run = new StepsOfRun(shared, { ahead: true });
  const write = { index: -4, channel: '__resume__', type: 'json', blob: new Uint8Array() };
  await run.add({
    writes: {
      key: ['thread', '', 'a'],
      taskId: 'task',
      taskPath: '',
      runId: 'run',
      replace: true,
      writes: [write, write],
    },
  });
  await answer();
  expect(await run.close()).toBeUndefined();
  expect(statements).toEqual([['writes']]);
});

test('a step is stored once the events before it are, and a graph that goes ahead waits for neither', async () => {
  const { shared, statements, answer } = database();
  const barriers: (() => void)[] = [];
  const written = (): Promise<void> => new Promise((resolve) => barriers.push(resolve));
  const run = new StepsOfRun(shared, { ahead: true, written });
  await run.add(put('a'));
  // What comes behind the question may stand behind events that are not in its answer.
  for (const id of ['b', 'c']) await run.add(put(id));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(statements).toEqual([]);
  barriers[0]!();
  await answer();
  expect(statements).toEqual([['a']]);
  expect(barriers).toHaveLength(2);
  barriers[1]!();
  await answer();
  expect(statements).toEqual([['a'], ['b', 'c']]);
  expect(await run.close()).toBeUndefined();
});

test('the end waits for what is being written, and what comes later is dropped', async () => {
  const { shared, statements, answer } = database();
  const run = new StepsOfRun(shared, { ahead: true });
  const ready = Promise.withResolvers<void>();
  const writing = run.runStep(async () => {
    await ready.promise;
    await run.add(put('last'));
  });
  const closing = run.close();
  ready.resolve();
  await writing;
  await run.runStep(() => run.add(put('late')));
  await answer();
  expect(await closing).toBeUndefined();
  expect(statements).toEqual([['last']]);
});

test('a run on an empty thread is spared its first look, unless it has a step by then', async () => {
  const looks = new StepsOfRun(database().shared, { empty: true });
  expect([looks.isFirstLook(), looks.isFirstLook()]).toEqual([true, false]);
  const stores = new StepsOfRun(database().shared, { empty: true, ahead: true });
  await stores.add(put('a'));
  expect(stores.isFirstLook()).toBe(false);
});
