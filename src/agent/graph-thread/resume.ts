import type { RunKwargs } from '../../schema/agent/run.ts';
import type { Outcome, RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import type { Graph, Snapshot } from './load.ts';
import type { Saver } from './checkpoints/saver.ts';
import { toJson } from './serialise.ts';
import { groupInterrupts } from './snapshot.ts';

/* This file decides where the next attempt of a run begins after the worker of the last one has died. */

type Config = { configurable: Record<string, unknown> };

/**
 * Returns true when an earlier attempt left a checkpoint, from which the run goes on without input. A temporary run
 * leaves none.
 */
export async function isUnderWay(
  { run_id, thread_id, attempt, kwargs }: RunSpec,
  saver: Saver,
): Promise<boolean> {
  if (attempt === 1 || kwargs.temporary) return false;
  const last = await saver.getTuple({ configurable: { thread_id, checkpoint_ns: '' } });
  return (last?.metadata as { run_id?: string } | undefined)?.run_id === run_id;
}

/** Returns the call without the checkpoint that the run began from, because the run has one of its own by now. */
export function stripCheckpoint<C extends Config>(config: C): C {
  const { checkpoint_id: _id, checkpoint_map: _map, ...configurable } = config.configurable;
  return { ...config, configurable };
}

const START = '__start__';
type Nodes = '*' | string[] | null | undefined;

/** Returns whether one of the names is among the nodes. LangGraph's `'*'` leaves out its own nodes. */
const isAnyAt = (names: string[], nodes: Nodes): boolean =>
  names.some((name) => (nodes === '*' ? name !== START : nodes?.includes(name) === true));

/**
 * Returns the end of a run that had come to where it was to stop when its worker died, before that was written down.
 * Such a run must not go on: LangGraph would take the missing input as the word to do so. Returns undefined for a run
 * that was on its way.
 */
export async function stopReached(
  graph: Graph,
  config: Config,
  kwargs: RunKwargs,
): Promise<Outcome | undefined> {
  const before: Nodes = kwargs.interrupt_before ?? graph.interruptBefore;
  const after: Nodes = kwargs.interrupt_after ?? graph.interruptAfter;
  if (!before?.length && !after?.length) return undefined;
  const { thread_id, __pregel_checkpointer } = config.configurable;
  const last = await graph.getState({
    configurable: { thread_id, checkpoint_ns: '', __pregel_checkpointer },
  });
  if (last.next.length === 0) return undefined;
  const stopped =
    isAnyAt(last.next, before) ||
    isAnyAt(await listNodesBefore(graph, last, { __pregel_checkpointer }), after);
  if (!stopped) return undefined;
  return {
    status: 'success',
    waiting: true,
    values: toJson(last.values),
    interrupts: toJson(groupInterrupts(last)),
  };
}

/** Returns the nodes that led to a state; none when no step did. */
async function listNodesBefore(
  graph: Graph,
  { metadata, parentConfig }: Snapshot,
  own: Config['configurable'],
): Promise<string[]> {
  if (metadata?.['source'] !== 'loop' || parentConfig === undefined) return [];
  return (await graph.getState({ configurable: { ...parentConfig.configurable, ...own } })).next;
}
