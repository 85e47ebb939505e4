import type { JsonObject } from '../../schema/agent-types.ts';
import type { EncryptionSettings } from '../../config/encryption.ts';
import type { RunError, RunKwargs } from '../../schema/run.ts';
import type { ModuleExport } from '../gx-json/import-export.ts';
import type { ExchangeMessage, OwnCall } from '../exchange/messages.ts';
import type { GraphSource } from '../gx-json/read.ts';
import type { StoreIndex } from '../gx-json/embed.ts';
import type { StoreLife } from '../gx-json/expiry.ts';
import type { Span } from '../tracing/span.ts';
import type { JsonText } from './json-text.ts';

/*
 * The protocol between the server and a graph thread: all that the two ever say to each other.
 *
 * Messages. Each message is one JSON object whose `kind` names it. It holds null, booleans, finite numbers, texts,
 * lists and plain objects, and the bytes of an `exchange`, nothing else; a field that is undefined counts as absent.
 * Messages of one side arrive in the order in which they were sent. Today they cross between two threads of a process;
 * nothing here keeps the graph side from being another process, or from being written in another language.
 *
 * Start. The server opens a thread and sends `start` once, before all else. The thread loads its graphs and answers
 * `ready` with the names of their nodes, or `broken` with one sentence for a person, after which the server ends
 * it. A graph that can't be loaded breaks the thread, unless `start` asks for a `partial` one: then `ready` says in
 * `failures` why, and each run and call of that graph fails with the same sentence. Before `ready` the server sends
 * nothing more than `exchange`.
 *
 * Life. From then on the thread sends `beat` twice a second (BEAT_MILLISECONDS). Any message is a sign of life; a
 * thread that is silent for 1.5 seconds counts as stuck in a graph that never yields, and gets no more work until it
 * is heard again. `full` asks the server to give what comes next to another thread. The server ends a thread without a
 * word, and its end, asked or not, is the end of all that it held: the server fails its open calls with status 503,
 * and hands its runs on.
 *
 * Log. Where `sendsLog` asks for it, the thread sends each line of its log as `log`, besides writing it.
 *
 * Runs. `run` starts a run; many runs share a thread. The thread sends any number of `events`, of `spans` (where
 * `traced` asks for them) and of `wait`, then exactly one `done`, also for a run that failed or was stopped, and
 * nothing of the run after it. `abort` asks it to stop as soon as it can: its `done` then says "interrupted". Where the
 * run `goes_on` elsewhere, the thread says no end of what is under way in it. `drain` asks a run to stop between two of
 * its steps, once what ended is stored: its `done` then says `drained`. A thread that knows no steps ignores it, and
 * the run goes on. An `abort` or a `drain` for a run that the thread does not have is ignored. Of a run that is
 * `unheard`, the thread sends no `events` until the server says `hear`. Before a run whose stream is resumable
 * (`kwargs.resumable`) stores a checkpoint, the thread sends `wait` and stores nothing until `written` answers with the
 * same `wait_id`: only then are the earlier events where the run's next attempt looks for them. A thread that finds,
 * when it stores a checkpoint, that this attempt has lost the run stores nothing, stops the run, and says `lost`.
 *
 * Calls. `call` asks one of the `Operations`; calls and runs may overlap. Each call gets exactly one answer with its
 * `call_id`, in any order: `result`, whose `json` is the answer as JSON text, or `failed` with an HTTP status and a
 * sentence for the client. The status says whose fault it was: 400 or 404 for what the caller asked (a node or a graph
 * that does not exist, values that the graph does not take), 409 and 503 for the database (another writer was first;
 * it does not answer), 500 for a fault of the graph's own code, 501 for an operation that the thread does not know.
 * The server gives up a call after a minute; an answer that comes later is ignored.
 *
 * Exchanges. `exchange` carries a message of exchange/messages.ts: graphs ask their server, also while they load. The
 * server asks nothing.
 *
 * Later versions. Either side ignores a message whose kind it does not know, and a field that it does not know.
 */

/** Milliseconds between two signs of life of a thread. */
export const BEAT_MILLISECONDS = 500;

/** What a thread needs to know before it can run graphs. */
export type ThreadStart = {
  graphs: GraphSource[];
  /** Whether the thread serves the other graphs when some can't be loaded. */
  partial: boolean;
  /** How items of the store are indexed by meaning; absent when gx.json asks for none. */
  index?: StoreIndex | undefined;
  /** How long items of the store live; absent when they live for ever. */
  storeLife?: StoreLife | undefined;
  /** The thread opens a pool of its own: runs read and write their checkpoints there. */
  database: { uri: string; poolSize: number; statementTimeoutSeconds: number };
  /** How the thread encrypts what it stores, and reads what is encrypted; absent where nothing is. */
  encryption?: EncryptionSettings | undefined;
  /** The module of `encryption.path`, and how many seconds its handlers may take; absent where gx.json names none. */
  encryptionModule?: (ModuleExport & { seconds: number }) | undefined;
  logLevel: string;
  /** Variables of gx.json, which yield to those of the process. */
  env: Record<string, string>;
  /** Ids of classes, beyond messages, that may be made of what a state holds. */
  allowedModules?: string[][] | undefined;
  /** Whether the thread sends `spans`. */
  traced: boolean;
  /** Whether spans hold inputs and outputs. */
  spanContents?: boolean | undefined;
  /** Whether the thread sends the lines of its log. */
  sendsLog: boolean;
};

export type RunSpec = {
  run_id: string;
  thread_id: string;
  graph_id: string;
  /** 1 for the first attempt; a later one goes on from the run's last checkpoint. */
  attempt: number;
  kwargs: RunKwargs;
  /** True when the thread has no checkpoint. */
  empty: boolean;
  /** True when the run must not share a graph thread with other runs. */
  alone: boolean;
  /** True while nobody reads the run's events, which need not be made then. */
  unheard: boolean;
};

/** How a run ended in its graph thread. */
export type Outcome = {
  status: 'success' | 'error' | 'interrupted';
  /** The last state; absent when it is unchanged. */
  values?: JsonText;
  /** Of a long state, the fields that are neither objects nor lists. Searches find threads by them. */
  plain?: JsonText;
  /** Task id -> its interrupts; absent when they are unchanged. */
  interrupts?: JsonText<Record<string, unknown[]>>;
  /** True when the last checkpoint has nodes left to do. */
  waiting: boolean;
  error?: RunError;
  /** True when the database under the checkpoints failed, and not the graph: another try may succeed. */
  retry?: boolean;
  /** True when it stopped between two steps because the server asked for that. */
  drained?: boolean;
  /** True when the run is another attempt's by now. */
  lost?: boolean;
};

/** A place in a thread's history. */
export type CheckpointRef = { thread_id?: unknown; checkpoint_ns: unknown; checkpoint_id?: unknown };

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
  metadata: JsonObject;
  created_at: string | null;
  checkpoint: CheckpointRef | null;
  parent_checkpoint: CheckpointRef | null;
  interrupts: unknown[];
  checkpoint_id: unknown;
  parent_checkpoint_id: unknown;
};

/** The result of a write of state: the client's answer, and what the thread's record shows from now on. */
export type WrittenState = {
  answer: { checkpoint: CheckpointRef; configurable: CheckpointRef; checkpoint_id: unknown };
  thread: { values: unknown; waiting: boolean; interrupts: Record<string, unknown[]> };
};

/** JSON Schemas of one graph; null where the graph does not say. */
export type GraphSchemas = {
  input_schema: JsonObject | null;
  output_schema: JsonObject | null;
  state_schema: JsonObject | null;
  config_schema: JsonObject | null;
  context_schema: JsonObject | null;
};

type OfGraph = { graph_id: string };
/**
 * A question about a thread. Without a checkpoint, it is about the thread's last state. `made_with` is the
 * configuration that a function makes the graph from, where it makes one for each call.
 */
type OfThread = OfGraph & { thread_id: string; checkpoint?: JsonObject | null | undefined; made_with?: JsonObject | undefined };

/** What a graph thread can be asked: operation -> its arguments and its answer. */
export type Operations = {
  /** The state of a thread. */
  state: { args: OfThread & { subgraphs?: boolean | null | undefined }; answer: ThreadState };
  /**
   * Earlier states, newest first. `before` is a checkpoint or its id; `metadata` must be contained in the checkpoint's.
   */
  history: {
    args: OfThread & { limit: number; before?: unknown; metadata?: JsonObject | null | undefined };
    answer: ThreadState[];
  };
  /** Writes state as a node would. The caller holds the thread meanwhile, so that no run begins on it. */
  update: { args: OfThread & { values?: unknown; as_node?: string | null | undefined }; answer: WrittenState };
  /**
   * Writes a history of states. Each update has `values` or a `command`, and in `as_node` the node that counts as its
   * author.
   */
  supersteps: { args: OfThread & { supersteps: { updates: JsonObject[] }[] }; answer: WrittenState };
  schemas: { args: OfGraph; answer: OfGraph & GraphSchemas };
  /** Nodes and edges, with as many levels of subgraphs as `xray` asks for. */
  graph: { args: OfGraph & { xray: boolean | number }; answer: unknown };
  /** Namespace -> schemas of the subgraph; `namespace` asks for one, `recurse` for those below, too. */
  subgraphs: { args: OfGraph & { namespace?: string; recurse?: boolean }; answer: Record<string, GraphSchemas> };
  /** Texts -> a vector of length one for each, in their order. */
  embed: { args: { texts: string[] }; answer: number[][] };
};

export type Operation = keyof Operations;
export type Args<K extends Operation> = Operations[K]['args'];
export type Answer<K extends Operation> = Operations[K]['answer'];

export type Call<K extends Operation = Operation> = { kind: 'call'; call_id: number; operation: K; args: Args<K> };

export type ToThread<K extends Operation = Operation> =
  | { kind: 'start'; start: ThreadStart }
  | { kind: 'run'; spec: RunSpec }
  | { kind: 'abort'; run_id: string; goes_on: boolean }
  | { kind: 'drain'; run_id: string }
  | { kind: 'hear'; run_id: string }
  | { kind: 'written'; wait_id: number }
  | { kind: 'exchange'; message: ExchangeMessage<never> }
  | Call<K>;

/** The names of each graph's nodes; null where each call may make others. */
export type GraphNodes = Record<string, string[] | null>;

/** Graph -> the sentence that says why it can't be loaded. */
export type GraphFailures = Record<string, string>;

export type FromThread =
  | { kind: 'ready'; nodes: GraphNodes; failures?: GraphFailures }
  | { kind: 'broken'; sentence: string }
  | { kind: 'beat'; full: boolean }
  | { kind: 'log'; line: string }
  /** The data of each event is JSON text. */
  | { kind: 'events'; run_id: string; batch: [event: string, json: string][] }
  | { kind: 'wait'; wait_id: number; run_id: string }
  | { kind: 'spans'; run_id: string; spans: Span[] }
  | { kind: 'done'; run_id: string; outcome: Outcome }
  | { kind: 'result'; call_id: number; json: JsonText<Answer<Operation>> }
  | { kind: 'failed'; call_id: number; status: number; message: string }
  | { kind: 'exchange'; message: ExchangeMessage<OwnCall> };
