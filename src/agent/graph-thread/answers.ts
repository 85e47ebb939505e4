import { Problem, Rejected } from '../../errors.ts';
import type { FromThread } from '../../schema/wire/wall/graphs.ts';
import type { Answer, Args, Call, Operation } from '../../schema/wire/wall/operations.ts';
import type { Embed } from '../gx-json/embed.ts';
import { toCallFailure } from './failures.ts';
import { toJson } from './serialise.ts';
import type {
  DeclaredSchemas,
  ThreadState,
  WrittenState,
} from '../../schema/wire/wall/graph-answers.ts';
import type { Graph, MakeGraph } from './load.ts';
import { buildZodSchemas } from './zod-schemas.ts';
import { toCommand } from './command.ts';
import type { Saver } from './checkpoints/saver.ts';
import { groupInterrupts } from './snapshot.ts';
import { loadHistory, loadState } from './states.ts';
import type { GraphStore } from './store.ts';
import type { Json } from '../../schema/json.ts';

export type AnswerDeps = StateDeps & DescribeDeps & { embed: Embed | undefined };

const ANSWERS: { [K in Operation]: (args: Args<K>, deps: AnswerDeps) => Promise<Answer<K>> } = {
  state: readState,
  history: readHistory,
  update: writeState,
  supersteps: writeSupersteps,
  schemas: describeSchemas,
  graph: drawGraph,
  subgraphs: describeSubgraphs,
  embed: embedTexts,
};

function embedTexts({ texts }: Args<'embed'>, { embed }: AnswerDeps): Promise<number[][]> {
  return embed === undefined
    ? Promise.reject(new Rejected('gx.json names no store.index.'))
    : embed(texts);
}

/** Answers a call; `failed` hears the thrown value. Never fails. */
export async function answerCall<K extends Operation>(
  { call_id, operation, args }: Call<K>,
  deps: AnswerDeps,
  failed: (thrown: unknown, status: number) => void,
): Promise<Extract<FromThread, { call_id: number }>> {
  try {
    if (!Object.hasOwn(ANSWERS, operation))
      throw new Problem(501, `This graph thread does not know the operation "${operation}".`);
    return { kind: 'result', call_id, json: toJson(await ANSWERS[operation](args, deps)) };
  } catch (thrown) {
    const refusal = toCallFailure(thrown);
    failed(thrown, refusal.status);
    return { kind: 'failed', call_id, ...refusal };
  }
}

type DescribeDeps = {
  graphOf: (graphId: string) => MakeGraph;
  fileOf: (graphId: string) => string;
};

async function describeSchemas(
  { graph_id }: Args<'schemas'>,
  deps: DescribeDeps,
): Promise<Answer<'schemas'>> {
  return { graph_id, ...buildSchemas(await load(graph_id, deps), deps.fileOf(graph_id)) };
}

const load = (graphId: string, { graphOf }: DescribeDeps): Promise<Graph> =>
  graphOf(graphId)(
    { configurable: {} },
    { accessContext: 'assistants.read', executionRuntime: null },
  );

const buildSchemas = (graph: Graph, file: string): DeclaredSchemas =>
  buildZodSchemas(graph.builder, file);

/** Returns the graph's nodes and edges, with as many levels of subgraphs as asked for. */
async function drawGraph(
  { graph_id, xray }: Args<'graph'>,
  deps: DescribeDeps,
): Promise<Answer<'graph'>> {
  const graph = await load(graph_id, deps);
  return (await graph.getGraphAsync({ xray })).toJSON();
}

async function describeSubgraphs(
  { graph_id, namespace, recurse }: Args<'subgraphs'>,
  deps: DescribeDeps,
): Promise<Answer<'subgraphs'>> {
  const graph = await load(graph_id, deps);
  const file = deps.fileOf(graph_id);
  const found: Answer<'subgraphs'> = {};
  for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse === true))
    found[name] = buildSchemas(subgraph, file);
  return found;
}

/** `reader` is the saver for states that are only shown. */
type StateDeps = {
  graphOf: (graphId: string) => MakeGraph;
  saver: Saver;
  reader: Saver;
  store: GraphStore;
};

const buildConfig = (
  { thread_id, checkpoint }: { thread_id: string; checkpoint?: Json | null | undefined },
  saver: Saver,
): { configurable: Json } => {
  const given = Object.entries(checkpoint ?? {}).filter(
    ([name, value]) => value !== null && name !== 'thread_id',
  );
  return {
    configurable: {
      checkpoint_ns: '',
      ...Object.fromEntries(given),
      thread_id,
      __pregel_checkpointer: saver,
    },
  };
};

/**
 * Returns the graph whose checkpoints have the namespace: the graph itself, or one within it; undefined when it
 * declares none there. LangGraph does not look for it where the saver comes with the call.
 */
async function findGraph(
  graph: Graph,
  { configurable }: { configurable: Json },
): Promise<Graph | undefined> {
  const path = toNodePath(String(configurable['checkpoint_ns']));
  if (path === '') return graph;
  for await (const [, subgraph] of graph.getSubgraphsAsync(path, true)) return subgraph;
  return undefined;
}

/** Returns the names of the nodes that lead to a namespace. Its other parts are ids of tasks and numbers of calls. */
const toNodePath = (namespace: string): string =>
  namespace
    .split('|')
    .filter((part) => !/^\d+$/.test(part))
    .map((part) => part.split(':')[0])
    .join('|');

/** Returns the same for a write, which must not go to a graph that has other fields. */
async function requireGraph(graph: Graph, config: { configurable: Json }): Promise<Graph> {
  const found = await findGraph(graph, config);
  if (found === undefined)
    throw new Rejected(
      `Subgraph "${toNodePath(String(config.configurable['checkpoint_ns']))}" not found`,
    );
  return found;
}

const mergeCallConfig = (
  { made_with }: { made_with?: Json | undefined },
  { configurable }: { configurable: Json },
): Json => ({
  ...made_with,
  configurable: { ...(made_with?.['configurable'] as Json | undefined), ...configurable },
});

/** Finds the graph to read where `config` points. LangGraph finds none that a node calls without declaring it. */
async function findReading(
  root: Graph,
  config: { configurable: Json },
  saver: Saver,
): Promise<Parameters<typeof loadState>[0]> {
  const findSubgraph = (checkpoint_ns: string): Promise<Graph | undefined> =>
    findGraph(root, { configurable: { checkpoint_ns } });
  return { graph: (await findGraph(root, config)) ?? root, saver, within: findSubgraph };
}

const READS = { accessContext: 'threads.read', executionRuntime: null } as const;
const WRITES = { accessContext: 'threads.update', executionRuntime: null } as const;

async function readState(
  args: Args<'state'>,
  { graphOf, reader }: StateDeps,
): Promise<ThreadState> {
  const config = buildConfig(args, reader);
  const graph = await graphOf(args.graph_id)(mergeCallConfig(args, config), READS);
  return loadState(await findReading(graph, config, reader), config, {
    subgraphs: args.subgraphs === true,
  });
}

async function readHistory(
  args: Args<'history'>,
  { graphOf, reader }: StateDeps,
): Promise<ThreadState[]> {
  const config = buildConfig(args, reader);
  const graph = await graphOf(args.graph_id)(mergeCallConfig(args, config), READS);
  const before =
    typeof args.before === 'string'
      ? { checkpoint_id: args.before }
      : (args.before as Json | null | undefined);
  const options = {
    limit: args.limit,
    ...(before && {
      before: { configurable: (before['configurable'] as Json | undefined) ?? before },
    }),
    ...(args.metadata && { filter: args.metadata }),
  };
  return loadHistory(await findReading(graph, config, reader), config, options);
}

/** Writes state as a node would, and returns where the thread stands after it. */
async function writeState(args: Args<'update'>, deps: StateDeps): Promise<WrittenState> {
  const config = buildConfig(args, deps.saver);
  const graph = await deps.graphOf(args.graph_id)(mergeCallConfig(args, config), WRITES);
  const written = await (
    await requireGraph(graph, config)
  ).updateState(config, args.values ?? null, args.as_node ?? undefined);
  return readWrittenState(graph, written, deps);
}

async function writeSupersteps(args: Args<'supersteps'>, deps: StateDeps): Promise<WrittenState> {
  if (args.supersteps.some(({ updates }) => updates.length === 0))
    throw new Rejected('supersteps: each needs at least one update.');
  const config = buildConfig(args, deps.saver);
  const graph = await deps.graphOf(args.graph_id)(mergeCallConfig(args, config), WRITES);
  const steps = args.supersteps.map(({ updates }) => ({
    updates: updates.map(({ command, values, as_node }) => ({
      values: command ? toCommand(command as Json) : values,
      asNode: as_node,
    })),
  }));
  return readWrittenState(graph, await graph.bulkUpdateState(config, steps), deps);
}

async function readWrittenState(
  graph: Graph,
  written: { configurable?: Json },
  { reader }: StateDeps,
): Promise<WrittenState> {
  const { thread_id, checkpoint_ns = '', checkpoint_id } = written.configurable ?? {};
  const end = { configurable: { thread_id, checkpoint_ns: '', __pregel_checkpointer: reader } };
  const { values, next, tasks } = await loadState(await findReading(graph, end, reader), end, {
    subgraphs: false,
  });
  // Without a map, because a run that is given this checkpoint goes on with the new state (see `completeCheckpoint`).
  const checkpoint = { thread_id, checkpoint_ns, checkpoint_id };
  return {
    answer: { checkpoint, configurable: checkpoint, checkpoint_id },
    thread: { values, waiting: next.length > 0, interrupts: groupInterrupts({ tasks }) },
  };
}
