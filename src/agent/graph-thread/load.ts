import { toError, Problem, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { GraphSource } from '../../schema/wire/wall/graph-start.ts';
import type { GraphFailures } from '../../schema/wire/wall/graphs.ts';
import { checkLanggraph } from '../graphs/javascript-langgraph.ts';
import { describeThrown, findFailurePlace, toLoggedError } from '../kernel/failure-place.ts';
import { importExport } from '../gx-json/import-export.ts';
import { patchCallbacks } from './quick-callbacks.ts';
import type { GraphBuilder } from './zod-schemas.ts';

type Config = Record<string, unknown>;

/**
 * A compiled graph, described by its members, because the user's graph brings its own copy of LangGraph with its own
 * classes.
 */
export type Graph = {
  nodes?: Record<string, unknown>;
  interruptBefore?: '*' | string[];
  interruptAfter?: '*' | string[];
  builder?: GraphBuilder;
  streamTransformers?: MakeTransformer[];
  /** The channels of the state: one for a state without fields. */
  streamChannelsAsIs?: string | string[];
  stream(input: unknown, config: Config): Promise<AsyncIterable<unknown>>;
  streamEvents(input: unknown, config: Config): AsyncIterable<StreamedEvent>;
  getState(config: Config, options?: { subgraphs?: boolean }): Promise<Snapshot>;
  getStateHistory(config: Config, options?: Config): AsyncIterable<Snapshot>;
  updateState(config: Config, values: unknown, asNode?: string): Promise<{ configurable?: Config }>;
  bulkUpdateState(config: Config, supersteps: unknown[]): Promise<{ configurable?: Config }>;
  getGraphAsync(config?: Config & { xray?: boolean | number }): Promise<{ toJSON(): unknown }>;
  getSubgraphsAsync(namespace?: string, recurse?: boolean): AsyncIterable<[string, Graph]>;
};

/** An event as LangGraph.js shows it to the stream transformers of a graph. */
export type TransformedEvent = {
  type: 'event';
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; node?: string; data: unknown };
};

/** Makes something of its own from one run's events. */
export type StreamTransformer = {
  /** True for those that LangChain's agents bring along, which serve only callers within the process. */
  __native?: boolean;
  init(): unknown;
  onRegister?(emitter: { push(namespace: string[], event: TransformedEvent): void }): void;
  /** Sees an event; returns false when the event must go no further. */
  process(event: TransformedEvent): boolean;
  finalize?(): unknown;
  fail?(error: unknown): void;
};

export type MakeTransformer = () => StreamTransformer;

export type StreamedEvent = {
  event: string;
  run_id: string;
  data: { chunk?: unknown };
  tags?: string[];
  metadata?: Config;
};

export type Snapshot = {
  values: unknown;
  next: string[];
  config?: { configurable?: Config };
  parentConfig?: { configurable?: Config };
  metadata?: Config;
  createdAt?: string;
  tasks: {
    id: string;
    name: string;
    path?: unknown;
    error?: unknown;
    interrupts?: unknown[];
    state?: unknown;
    result?: unknown;
  }[];
};

/**
 * The second argument of a function that makes a graph: which call needs it. It is `ServerRuntime` of
 * `@langchain/langgraph-sdk` (1.15). Only a run has a context.
 */
export type ServerRuntime =
  | { accessContext: 'threads.create_run'; executionRuntime: { context: unknown } }
  | {
      accessContext: 'assistants.read' | 'threads.read' | 'threads.update';
      executionRuntime: null;
    };

/**
 * Returns the graph for one call: always the same one, or one that the user's function makes from the call's
 * configuration and runtime.
 */
export type MakeGraph = (config: Config, runtime: ServerRuntime) => Promise<Graph>;

/** `nodes` are the names of its nodes; undefined where each call may make others. */
export type LoadedGraph = { make: MakeGraph; nodes: string[] | undefined };

type LoadOptions = { partial: boolean; log: Log };
/**
 * Loads every graph of gx.json. Throws a `StartError` that names the first one that can't be loaded; where the others
 * are to be served (`partial`), that one answers each call with the same sentence.
 */
export async function loadGraphs(
  sources: GraphSource[],
  { partial, log }: LoadOptions,
): Promise<{ graphs: Map<string, LoadedGraph>; failures: GraphFailures }> {
  const graphs = new Map<string, LoadedGraph>();
  const failures: GraphFailures = {};
  for (const source of sources)
    try {
      graphs.set(source.graphId, await loadGraph(source));
    } catch (thrown) {
      const error = toError(thrown);
      logStack(error, source, log);
      if (!partial) throw error;
      // A compiler's message has several lines.
      const sentence = error.message.replaceAll(/\s+/g, ' ');
      failures[source.graphId] = sentence;
      graphs.set(source.graphId, {
        make: () => Promise.reject(new Problem(500, sentence)),
        nodes: undefined,
      });
    }
  return { graphs, failures };
}

/** Errors of compilers, whose message has the line. Their stack is the compiler's own. */
const OF_SYNTAX = ['SyntaxError', 'TransformError'];

/** Logs where the code of a graph, or of a library that it imports, has thrown while it was loaded. */
function logStack({ cause }: Error, { graphId }: GraphSource, log: LoadOptions['log']): void {
  const place = findFailurePlace(cause);
  const failure = describeThrown(cause);
  const { code } = Object(cause) as { code?: unknown };
  // Node itself names the file that asks for something that a package does not have.
  const isOfNode = typeof code === 'string' && code.startsWith('ERR_');
  const isOfLibrary =
    place.stack?.includes('/node_modules/') === true &&
    !isOfNode &&
    !OF_SYNTAX.includes(failure.error);
  if (place.at !== undefined || isOfLibrary)
    log.error(
      { graph_id: graphId, at: place.at, err: toLoggedError(failure, place) },
      'graph not loaded',
    );
}

async function loadGraph(source: GraphSource): Promise<LoadedGraph> {
  const at = `Graph "${source.graphId}"`;
  const fault = checkLanggraph(source);
  if (fault !== undefined) throw new StartError(`${at}: ${fault}.`);
  const exported = await importExport(source, at);
  if (typeof exported === 'function') {
    const make = exported as (config: Config, runtime: ServerRuntime) => unknown;
    return {
      make: async (config, runtime) => prepareGraph(await make(config, runtime), at),
      nodes: undefined,
    };
  }
  const graph = await prepareGraph(exported, at);
  return { make: () => Promise.resolve(graph), nodes: listGraphNodes(graph) };
}

/** Returns the names of the graph's own nodes; undefined for a graph that runs elsewhere. */
export const listGraphNodes = ({ nodes }: Graph): string[] | undefined =>
  nodes && Object.keys(nodes);

function isGraph(value: unknown): value is Graph {
  const { stream, getState } = (value ?? {}) as Partial<Graph>;
  return typeof stream === 'function' && typeof getState === 'function';
}

async function prepareGraph(value: unknown, at: string): Promise<Graph> {
  const graph = compileGraph(value, at);
  await patchCallbacks(graph);
  return graph;
}

function compileGraph(value: unknown, at: string): Graph {
  const candidate = value as Partial<Graph> & { compile?: () => Graph; graph?: unknown };
  // An agent of the package `langchain` contains its graph, and itself shows less of it.
  if (isGraph(candidate?.graph)) return candidate.graph;
  if (isGraph(candidate)) return candidate;
  if (typeof candidate?.compile === 'function') return candidate.compile();
  throw new StartError(
    `${at}: the export is neither a graph, nor a graph builder, nor a function that makes one.`,
  );
}
