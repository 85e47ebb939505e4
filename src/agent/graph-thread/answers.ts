import { Problem, Rejected } from '../../errors.ts';
import type { FromThread } from '../../schema/wire/wall/graphs.ts';
import type { Answer, Args, Call, Operation } from '../../schema/wire/wall/operations.ts';
import type { Embed } from '../gx-json/embed.ts';
import { refusalOf } from './failures.ts';
import { toJson } from './serialise.ts';
import { readHistory, readState, type StateDeps, writeState, writeSupersteps } from './state.ts';
import type { GraphSchemas } from '../../schema/wire/wall/graph-answers.ts';
import type { Graph, MakeGraph } from './load.ts';
import { zodSchemas } from './zod-schemas.ts';

export type AnswerDeps = StateDeps & DescribeDeps & { embed: Embed | undefined };

type Answers = { [K in Operation]: (args: Args<K>, deps: AnswerDeps) => Promise<Answer<K>> };

const ANSWERS: Answers = {
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
  return embed === undefined ? Promise.reject(new Rejected('gx.json names no store.index.')) : embed(texts);
}

/** Answers a call; `failed` hears the thrown value. Never fails. */
export async function answerCall<K extends Operation>(
  { call_id, operation, args }: Call<K>,
  deps: AnswerDeps,
  failed: (thrown: unknown, status: number) => void,
): Promise<Extract<FromThread, { call_id: number }>> {
  try {
    if (!Object.hasOwn(ANSWERS, operation)) throw new Problem(501, `This graph thread does not know the operation "${operation}".`);
    return { kind: 'result', call_id, json: toJson(await ANSWERS[operation](args, deps)) };
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    failed(thrown, refusal.status);
    return { kind: 'failed', call_id, ...refusal };
  }
}

type DescribeDeps = {
  graphOf: (graphId: string) => MakeGraph;
  /** Returns the file that a graph comes from. */
  fileOf: (graphId: string) => string;
};

/** Returns the graph's own JSON Schemas of its input, output and state. */
async function describeSchemas({ graph_id }: Args<'schemas'>, deps: DescribeDeps): Promise<Answer<'schemas'>> {
  return { graph_id, ...schemasOf(await load(graph_id, deps), deps.fileOf(graph_id)) };
}

const load = (graphId: string, { graphOf }: DescribeDeps): Promise<Graph> => graphOf(graphId)({ configurable: {} });

const schemasOf = (graph: Graph, file: string): GraphSchemas => zodSchemas(graph.builder, file);

/** Returns the graph's nodes and edges, with as many levels of subgraphs as asked for. */
async function drawGraph({ graph_id, xray }: Args<'graph'>, deps: DescribeDeps): Promise<Answer<'graph'>> {
  const graph = await load(graph_id, deps);
  return (await graph.getGraphAsync({ xray })).toJSON();
}

/** Returns the schemas of the subgraphs, by namespace. */
async function describeSubgraphs({ graph_id, namespace, recurse }: Args<'subgraphs'>, deps: DescribeDeps): Promise<Answer<'subgraphs'>> {
  const graph = await load(graph_id, deps);
  const file = deps.fileOf(graph_id);
  const found: Answer<'subgraphs'> = {};
  for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse === true)) found[name] = schemasOf(subgraph, file);
  return found;
}
