import type { RunKwargs } from '../../schema/run.ts';
import type { GraphSource } from '../gx-json/read.ts';
import type { Span } from '../tracing/span.ts';
import type { StoreIndex } from '../gx-json/embed.ts';

/* What the HTTP thread and a graph thread say to each other. Data crosses as JSON text: one serialisation, and the cheapest clone. */

/** A thread starts with this. */
export type ThreadStart = {
  graphs: GraphSource[];
  index: StoreIndex | undefined;
  database: { uri: string; poolSize: number; statementTimeoutSeconds: number };
  logLevel: string;
  env: Record<string, string>;
  /** Whether graphs tell what they do as spans. */
  traced: boolean;
};

export type RunSpec = {
  run_id: string;
  thread_id: string;
  graph_id: string;
  attempt: number;
  kwargs: RunKwargs;
  /** True when the thread has no checkpoint. */
  empty: boolean;
  /** True when it must not share a thread with other runs. */
  alone: boolean;
};

export type Operation = 'state' | 'history' | 'update' | 'supersteps' | 'schemas' | 'graph' | 'subgraphs' | 'embed';

export type ToThread =
  | { kind: 'run'; spec: RunSpec }
  | { kind: 'abort'; run_id: string }
  | { kind: 'written'; wait_id: number }
  | { kind: 'call'; call_id: number; operation: Operation; args: unknown };

export type Failure = { error: string; message: string };

/** How a run ended where it ran. `values` and `interrupts` are JSON text; absent means unchanged. */
export type Outcome = {
  status: 'success' | 'error' | 'interrupted';
  values?: string;
  interrupts?: string;
  /** True when the last checkpoint has nodes left to do. */
  waiting: boolean;
  error?: Failure;
  /** Key -> where feedback on the run is given; known where it is written down, not where it ran. */
  feedback?: Record<string, string>;
  /** True when not the graph failed but the database under its checkpoints: another try may succeed. */
  retry?: boolean;
};

/** Of each graph, the names of its nodes, where every call has the same. */
export type GraphNodes = [graphId: string, nodes: string[] | undefined][];

export type FromThread =
  | { kind: 'ready'; nodes: GraphNodes }
  | { kind: 'broken'; sentence: string }
  | { kind: 'beat'; full: boolean }
  | { kind: 'events'; run_id: string; batch: [event: string, json: string][] }
  /** Asks to be told (`written`) when the run's events so far can be read by whoever comes back. */
  | { kind: 'wait'; wait_id: number; run_id: string }
  | { kind: 'spans'; run_id: string; spans: Span[] }
  | { kind: 'done'; run_id: string; outcome: Outcome }
  | { kind: 'result'; call_id: number; json: string }
  | { kind: 'failed'; call_id: number; status: number; message: string };
