import { randomUUID } from 'node:crypto';
import { Annotation, DeltaChannel, StateGraph } from '@langchain/langgraph';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keepLatestCheckpoints } from '../../../../src/agent/db/threads/checkpoint-pruning.ts';
import type { Saver } from '../../../../src/agent/graph-thread/checkpoints/saver.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../../kit/postgres-opened.ts';
import { saverOn } from './saver-on.ts';

let on: OpenDatabase;

beforeAll(async () => {
  on = await freshOpenDatabase(4);
});

afterAll(() => on.drop());

const ours = (): Saver => saverOn(on.db);

describe('a DeltaChannel', () => {
  const graphOf = (checkpointer: BaseCheckpointSaver) => {
    const Deltas = Annotation.Root({
      said: () =>
        new DeltaChannel<string[], string[]>((said, more) => [...said, ...more.flat()], {
          snapshotFrequency: 4,
        }),
    });
    return new StateGraph(Deltas)
      .addNode('answer', () => ({ said: ['an answer'] }))
      .addEdge('__start__', 'answer')
      .addEdge('answer', '__end__')
      .compile({ checkpointer });
  };

  test('is whole after its thread is pruned to the newest checkpoint, also when it was written by hand', async () => {
    const thread_id = randomUUID();
    await on.db.query({
      text: `insert into gx.thread (thread_id) values ($1)`,
      values: [thread_id],
    });
    const config = { configurable: { thread_id } };
    const graph = graphOf(ours());
    for (let run = 0; run < 7; run += 1) {
      await graph.invoke({ said: [`question ${run}`] }, config);
      if (run === 5) await graph.updateState(config, { said: ['by hand'] }, 'answer');
      const before = (await graph.getState(config)).values;
      await keepLatestCheckpoints(on.db, thread_id);
      expect((await graphOf(ours()).getState(config)).values).toEqual(before);
    }
    // A run makes three checkpoints. Those that lead back to the last value that LangGraph stored stay.
    const left = await on.db.query({
      text: 'select 1 from gx.checkpoints where thread_id = $1',
      values: [thread_id],
    });
    expect(left.length).toBeLessThan(8);
  });
});
