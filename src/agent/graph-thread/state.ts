import { commandOf } from './command.ts';
import type { Graph, MakeGraph } from './load.ts';
import type { Saver } from './checkpoints/saver.ts';
import { interruptsOf, threadState } from './snapshot.ts';
import type { PgStore } from './store.ts';

type Json = Record<string, unknown>;

export type StateArgs = { thread_id: string; checkpoint?: Json | null; subgraphs?: boolean };
export type HistoryArgs = StateArgs & { limit: number; before?: unknown; metadata?: Json | null };
export type UpdateArgs = StateArgs & { values?: unknown; as_node?: string | null; metadata?: Json };
export type SuperstepsArgs = StateArgs & { supersteps: { updates: Json[] }[] };

/** `reader`: the saver for what is only shown. */
type Deps = { make: MakeGraph; saver: Saver; reader: Saver; store: PgStore };

const configOf = ({ thread_id, checkpoint }: StateArgs, saver: Saver): { configurable: Json } => {
  const given = Object.entries(checkpoint ?? {}).filter(([name, value]) => value !== null && name !== 'thread_id');
  return { configurable: { checkpoint_ns: '', ...Object.fromEntries(given), thread_id, __pregel_checkpointer: saver } };
};

export async function readState(args: StateArgs, { make, reader }: Deps): Promise<Json> {
  const config = configOf(args, reader);
  const graph = await make(config);
  return threadState(await graph.getState(config, { subgraphs: args.subgraphs === true }));
}

export async function readHistory(args: HistoryArgs, { make, reader }: Deps): Promise<Json[]> {
  const config = configOf(args, reader);
  const graph = await make(config);
  const before = typeof args.before === 'string' ? { checkpoint_id: args.before } : (args.before as Json | null | undefined);
  const options = {
    limit: args.limit,
    ...(before && { before: { configurable: (before['configurable'] as Json | undefined) ?? before } }),
    ...(args.metadata && { filter: args.metadata }),
  };
  const states: Json[] = [];
  for await (const state of graph.getStateHistory(config, options)) {
    states.push(threadState(state));
    if (states.length >= args.limit) break;
  }
  return states;
}

/** Writes state as a node would, and tells where the thread stands after it. */
export async function writeState(args: UpdateArgs, deps: Deps): Promise<Json> {
  const config = configOf(args, deps.saver);
  const graph = await deps.make(config);
  const written = await graph.updateState({ ...config, metadata: args.metadata }, args.values ?? null, args.as_node ?? undefined);
  return after(graph, written, deps);
}

export async function writeSupersteps(args: SuperstepsArgs, deps: Deps): Promise<Json> {
  const config = configOf(args, deps.saver);
  const graph = await deps.make(config);
  const steps = args.supersteps.map(({ updates }) => ({
    updates: updates.map(({ command, values, as_node }) => ({ values: command ? commandOf(command as Json) : values, asNode: as_node })),
  }));
  return after(graph, await graph.bulkUpdateState(config, steps), deps);
}

async function after(graph: Graph, written: { configurable?: Json }, { reader }: Deps): Promise<Json> {
  const { thread_id, checkpoint_ns = '', checkpoint_id } = written.configurable ?? {};
  const state = await graph.getState({ configurable: { thread_id, checkpoint_ns: '', __pregel_checkpointer: reader } });
  const checkpoint = { thread_id, checkpoint_ns, checkpoint_id };
  return {
    answer: { checkpoint, configurable: checkpoint, checkpoint_id },
    thread: { values: state.values, waiting: state.next.length > 0, interrupts: interruptsOf(state) },
  };
}
