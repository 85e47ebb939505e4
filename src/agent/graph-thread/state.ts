import { Rejected } from '../../errors.ts';
import type { ThreadState, WrittenState } from '../../schema/wire/wall/graph-answers.ts';
import type { Args } from '../../schema/wire/wall/operations.ts';
import { commandOf } from './command.ts';
import type { Graph, MakeGraph } from './load.ts';
import type { Saver } from './checkpoints/saver.ts';
import { interruptsOf, threadState } from './snapshot.ts';
import type { GraphStore } from './store.ts';
import type { Json } from '../../schema/json.ts';

/** `reader` is the saver for states that are only shown. */
export type StateDeps = { graphOf: (graphId: string) => MakeGraph; saver: Saver; reader: Saver; store: GraphStore };

const configOf = (
  { thread_id, checkpoint }: { thread_id: string; checkpoint?: Json | null | undefined },
  saver: Saver,
): { configurable: Json } => {
  const given = Object.entries(checkpoint ?? {}).filter(([name, value]) => value !== null && name !== 'thread_id');
  return { configurable: { checkpoint_ns: '', ...Object.fromEntries(given), thread_id, __pregel_checkpointer: saver } };
};

/**
 * Returns the graph whose checkpoints have the namespace: the graph itself, or one within it; undefined when it
 * declares none there. LangGraph does not look for it where the saver comes with the call.
 */
async function graphAt(graph: Graph, { configurable }: { configurable: Json }): Promise<Graph | undefined> {
  const path = pathOf(String(configurable['checkpoint_ns']));
  if (path === '') return graph;
  for await (const [, subgraph] of graph.getSubgraphsAsync(path, true)) return subgraph;
  return undefined;
}

/** Returns the names of the nodes that lead to a namespace. Its other parts are ids of tasks and numbers of calls. */
const pathOf = (namespace: string): string =>
  namespace
    .split('|')
    .filter((part) => !/^\d+$/.test(part))
    .map((part) => part.split(':')[0])
    .join('|');

/** Returns the same for a write, which must not go to a graph that has other fields. */
async function writableAt(graph: Graph, config: { configurable: Json }): Promise<Graph> {
  const found = await graphAt(graph, config);
  if (found === undefined) throw new Rejected(`Subgraph "${pathOf(String(config.configurable['checkpoint_ns']))}" not found`);
  return found;
}

/** Returns the configuration that a function makes the thread's graph from. */
const callOf = ({ made_with }: { made_with?: Json | undefined }, { configurable }: { configurable: Json }): Json => ({
  ...made_with,
  configurable: { ...(made_with?.['configurable'] as Json | undefined), ...configurable },
});

export async function readState(args: Args<'state'>, { graphOf, reader }: StateDeps): Promise<ThreadState> {
  const config = configOf(args, reader);
  const graph = await graphOf(args.graph_id)(callOf(args, config));
  return threadState(await ((await graphAt(graph, config)) ?? graph).getState(config, { subgraphs: args.subgraphs === true }));
}

export async function readHistory(args: Args<'history'>, { graphOf, reader }: StateDeps): Promise<ThreadState[]> {
  const config = configOf(args, reader);
  const graph = await graphOf(args.graph_id)(callOf(args, config));
  const before = typeof args.before === 'string' ? { checkpoint_id: args.before } : (args.before as Json | null | undefined);
  const options = {
    limit: args.limit,
    ...(before && { before: { configurable: (before['configurable'] as Json | undefined) ?? before } }),
    ...(args.metadata && { filter: args.metadata }),
  };
  const states: ThreadState[] = [];
  for await (const state of ((await graphAt(graph, config)) ?? graph).getStateHistory(config, options)) {
    states.push(threadState(state));
    if (states.length >= args.limit) break;
  }
  return states;
}

/** Writes state as a node would, and returns where the thread stands after it. */
export async function writeState(args: Args<'update'>, deps: StateDeps): Promise<WrittenState> {
  const config = configOf(args, deps.saver);
  const graph = await deps.graphOf(args.graph_id)(callOf(args, config));
  const written = await (await writableAt(graph, config)).updateState(config, args.values ?? null, args.as_node ?? undefined);
  return after(graph, written, deps);
}

export async function writeSupersteps(args: Args<'supersteps'>, deps: StateDeps): Promise<WrittenState> {
  if (args.supersteps.some(({ updates }) => updates.length === 0)) throw new Rejected('supersteps: each needs at least one update.');
  const config = configOf(args, deps.saver);
  const graph = await deps.graphOf(args.graph_id)(callOf(args, config));
  const steps = args.supersteps.map(({ updates }) => ({
    updates: updates.map(({ command, values, as_node }) => ({ values: command ? commandOf(command as Json) : values, asNode: as_node })),
  }));
  return after(graph, await graph.bulkUpdateState(config, steps), deps);
}

async function after(graph: Graph, written: { configurable?: Json }, { reader }: StateDeps): Promise<WrittenState> {
  const { thread_id, checkpoint_ns = '', checkpoint_id } = written.configurable ?? {};
  const state = await graph.getState({ configurable: { thread_id, checkpoint_ns: '', __pregel_checkpointer: reader } });
  const checkpoint = { thread_id, checkpoint_ns, checkpoint_id };
  return {
    answer: { checkpoint, configurable: checkpoint, checkpoint_id },
    thread: { values: state.values, waiting: state.next.length > 0, interrupts: interruptsOf(state) },
  };
}
