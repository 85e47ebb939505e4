import type { Json } from '../../schema/json.ts';

/*
 * The context of a run may hold secrets, such as a token. Graphs find it among their settings, too, which LangGraph
 * copies to the metadata of each checkpoint and event; they are left out where those leave the graph.
 */

/** The name in `configurable` under which a run's checkpointer finds the names that stay out of metadata. */
export const UNSHOWN = '__gx_unshown';

/** Returns the fields without those. */
export function stripUnshown(fields: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
