import type { Db } from '../db/base/pool.ts';
import { loadLastConfig } from '../db/threads/threads.ts';
import { buildSystemAssistantId } from '../kernel/ids.ts';
import type { Json } from '../../schema/json.ts';

/* This file gathers the fields of a thread that a call about its state needs. */

export type ThreadCallDeps = {
  db: Db;
  host: { listNodes: (graphId: string) => string[] | undefined };
};

type ThreadCall = { thread_id: string; graph_id: string; made_with?: Json };

/**
 * Returns the thread and its graph. Where a function makes the graph for each call, it is made as for the thread's last
 * run, or else as its assistant says, because another configuration may make a graph without the nodes of the state.
 */
export async function loadThreadCall(
  { db, host }: ThreadCallDeps,
  { thread_id, graph_id }: ThreadCall,
): Promise<ThreadCall> {
  if (host.listNodes(graph_id) !== undefined) return { thread_id, graph_id };
  const made_with = await loadLastConfig(db, thread_id, buildSystemAssistantId(graph_id));
  return { thread_id, graph_id, ...(made_with && { made_with }) };
}
