import { Rejected } from '../../errors.ts';
import { isObject, type Json } from '../../schema/json.ts';
import type { Saver } from './checkpoints/saver.ts';

/*
 * A run begins at a checkpoint of a subgraph by a map: namespace -> id, for each graph from the thread's down to that
 * one. Without it LangGraph begins at the end of the thread, where there may be nothing to do.
 */

/** Returns the map of a subgraph's checkpoint, whose metadata name those around it; none at the thread's own graph. */
export function buildMap(
  { checkpoint_ns: namespace, checkpoint_id }: { checkpoint_ns?: unknown; checkpoint_id?: unknown },
  { parents }: Json,
): { checkpoint_map?: Json } {
  if (
    typeof namespace !== 'string' ||
    namespace === '' ||
    !isObject(parents) ||
    Object.keys(parents).length === 0
  )
    return {};
  return { checkpoint_map: { ...parents, [namespace]: checkpoint_id } };
}

/**
 * Returns the call with the map of the subgraph's checkpoint that it names without one. Throws `Rejected` where nothing
 * says where the thread was then.
 */
export async function completeCheckpoint<C extends { configurable: Record<string, unknown> }>(
  config: C,
  saver: Saver,
): Promise<C> {
  const { thread_id, checkpoint_ns, checkpoint_id, checkpoint_map } = config.configurable;
  if (!checkpoint_ns || !checkpoint_id || checkpoint_map) return config;
  const find = (namespace: unknown, id?: unknown) =>
    saver.getTuple({
      configurable: {
        thread_id,
        checkpoint_ns: namespace,
        ...(id !== undefined && { checkpoint_id: id }),
      },
    });
  const [found, last, end] = [
    await find(checkpoint_ns, checkpoint_id),
    await find(checkpoint_ns),
    await find(''),
  ];
  const map = buildMap({ checkpoint_ns, checkpoint_id }, found?.metadata ?? {});
  if (map.checkpoint_map === undefined)
    throw new Rejected(
      'checkpoint.checkpoint_map: is missing, and the checkpoint of the subgraph does not say where its thread was.',
    );
  // The thread waits within the subgraph, so its end is there, with the state that was written into it by hand. By a
  // map, LangGraph would begin the subgraph again.
  const isEnd =
    last?.checkpoint.id === checkpoint_id && end?.checkpoint.id === map.checkpoint_map[''];
  return isEnd ? config : { ...config, configurable: { ...config.configurable, ...map } };
}
