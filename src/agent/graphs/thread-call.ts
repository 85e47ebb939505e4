import type { JsonObject } from '../../schema/agent/agent-types.ts';
import type { Db } from '../db/base/pool.ts';
import { lastConfig } from '../db/threads/threads.ts';
import { systemAssistantId } from '../kernel/ids.ts';
import type { GraphHost } from './host.ts';

/* This file gathers the fields of a thread that a call about its state needs. */

export type ThreadCallDeps = { db: Db; host: Pick<GraphHost, 'nodesOf'> };

type ThreadCall = { thread_id: string; graph_id: string; made_with?: JsonObject };

/**
 * Returns the thread and its graph. Where a function makes the graph for each call, it is made as for the thread's last
 * run, or else as its assistant says, because another configuration may make a graph without the nodes of the state.
 */
export async function threadCall({ db, host }: ThreadCallDeps, { thread_id, graph_id }: ThreadCall): Promise<ThreadCall> {
  if (host.nodesOf(graph_id) !== undefined) return { thread_id, graph_id };
  const made_with = await lastConfig(db, thread_id, systemAssistantId(graph_id));
  return { thread_id, graph_id, ...(made_with && { made_with }) };
}
