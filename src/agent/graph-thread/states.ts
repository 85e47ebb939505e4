import type { CheckpointTuple } from '@langchain/langgraph-checkpoint';
import { Problem } from '../../errors.ts';
import type { Json } from '../../schema/json.ts';
import type { ThreadState } from '../../schema/wire/wall/graph-answers.ts';
import { buildMap } from './checkpoint-map.ts';
import type { Saver } from './checkpoints/saver.ts';
import { describeThrown } from '../kernel/failure-place.ts';
import type { Graph } from './load.ts';
import { toCheckpointRef, toThreadState } from './snapshot.ts';

/*
 * This file reads states of threads. A graph may refuse a stored state (a reducer or a schema throws), and would hide
 * the whole history of the thread by that. Such a checkpoint is shown as it is stored, so that an earlier one can be
 * found.
 */

type At = { configurable: Json };

/** `within` finds the graph whose checkpoints have a namespace. */
type Reading = {
  graph: Graph;
  saver: Saver;
  within: (namespace: string) => Promise<Graph | undefined>;
};

/** Returns the state at a checkpoint, or the last one. */
export async function loadState(
  reading: Reading,
  at: At,
  { subgraphs }: { subgraphs: boolean },
): Promise<ThreadState> {
  try {
    return toThreadState(await reading.graph.getState(at, { subgraphs }));
  } catch (error) {
    // The storage has failed, and not the graph.
    if (error instanceof Problem) throw error;
    return subgraphs ? loadLevels(reading, at) : loadRefused(reading, at, error);
  }
}

/** Returns the state with those of its subgraphs, each of which is read by itself. */
async function loadLevels(reading: Reading, at: At): Promise<ThreadState> {
  const state = await loadState(reading, at, { subgraphs: false });
  for (const task of state.tasks) {
    if (task.checkpoint === null) continue;
    const graph = await reading.within(String(task.checkpoint.checkpoint_ns));
    if (graph === undefined) continue;
    const inner = { configurable: { ...task.checkpoint, __pregel_checkpointer: reading.saver } };
    task.state = await loadState({ ...reading, graph }, inner, { subgraphs: true });
    task.checkpoint = null;
  }
  return state;
}

async function loadRefused(
  { graph, saver }: Reading,
  at: At,
  error: unknown,
): Promise<ThreadState> {
  const stored = await saver.getTuple(at);
  if (stored === undefined) throw error;
  return buildRefused(graph, stored, error);
}

function buildRefused(
  { streamChannelsAsIs: channels = [] }: Graph,
  stored: CheckpointTuple,
  error: unknown,
): ThreadState {
  const { checkpoint, config, parentConfig } = stored;
  const { channel_values: all, ts } = checkpoint;
  const metadata = (stored.metadata ?? {}) as Json;
  const fields = [channels].flat().filter((name) => Object.hasOwn(all, name));
  const place = toCheckpointRef({
    ...config.configurable,
    ...buildMap(config.configurable ?? {}, metadata),
  });
  const parent = toCheckpointRef(parentConfig?.configurable);
  return {
    values:
      typeof channels === 'string'
        ? (all[channels] ?? {})
        : Object.fromEntries(fields.map((name) => [name, all[name]])),
    next: [],
    tasks: [],
    metadata,
    created_at: ts,
    checkpoint: place,
    parent_checkpoint: parent,
    interrupts: [],
    checkpoint_id: place?.checkpoint_id ?? null,
    parent_checkpoint_id: parent?.checkpoint_id ?? null,
    error: describeThrown(error),
  };
}

/** Returns earlier states, newest first. */
export async function loadHistory(
  reading: Reading,
  at: At,
  options: Parameters<Saver['list']>[1] & { limit: number },
): Promise<ThreadState[]> {
  const states: ThreadState[] = [];
  try {
    for await (const state of reading.graph.getStateHistory(at, options)) {
      states.push(toThreadState(state));
      if (states.length >= options.limit) break;
    }
    return states;
  } catch (error) {
    if (error instanceof Problem) throw error;
  }
  // LangGraph stops at the first one that the graph refuses, so each is read by itself.
  const alone: ThreadState[] = [];
  for await (const { config } of reading.saver.list(at, options)) {
    const place = {
      configurable: { ...config.configurable, __pregel_checkpointer: reading.saver },
    };
    alone.push(await loadState(reading, place, { subgraphs: false }));
  }
  return alone;
}
