import type { RunError } from '../../agent/run.ts';
import type { Json } from '../../json.ts';

/* The answers of a graph thread, as JSON text. */

/**
 * A place in a thread's history. `checkpoint_map`: namespace -> id, from the thread's graph down to the subgraph whose
 * checkpoint it is; a run can begin there with it.
 */
export type CheckpointRef = {
  thread_id?: unknown;
  checkpoint_ns: unknown;
  checkpoint_id?: unknown;
  checkpoint_map?: unknown;
};

export type ThreadTask = {
  id: string;
  name: string;
  path: unknown;
  error: unknown;
  interrupts: unknown[];
  checkpoint: CheckpointRef | null;
  /** The state of the subgraph that the task runs, where subgraphs were asked for. */
  state: ThreadState | null;
  result: unknown;
};

/** The ThreadState of the public interface. */
export type ThreadState = {
  values: unknown;
  next: string[];
  tasks: ThreadTask[];
  metadata: Json;
  created_at: string | null;
  checkpoint: CheckpointRef | null;
  parent_checkpoint: CheckpointRef | null;
  interrupts: unknown[];
  checkpoint_id: unknown;
  parent_checkpoint_id: unknown;
  /** Why the graph refuses this state, which has its stored values, and neither tasks nor next nodes. */
  error?: RunError;
};

/** The result of a write of state: the client's answer, and the new state of the thread's record. */
export type WrittenState = {
  answer: { checkpoint: CheckpointRef; configurable: CheckpointRef; checkpoint_id: unknown };
  thread: { values: unknown; waiting: boolean; interrupts: Record<string, unknown[]> };
};

/** JSON Schemas of one graph; null where the graph does not say. */
export type GraphSchemas = {
  input_schema: Json | null;
  output_schema: Json | null;
  state_schema: Json | null;
  config_schema: Json | null;
  context_schema: Json | null;
};

/**
 * The schemas that a graph declares itself. `fields`: the names of its fields, where its schemas are null because types
 * alone say what these hold.
 */
export type DeclaredSchemas = GraphSchemas & { fields?: FieldSchemas };
export type FieldSchemas = Pick<GraphSchemas, 'input_schema' | 'output_schema' | 'state_schema'>;
