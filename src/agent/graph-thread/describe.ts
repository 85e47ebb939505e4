import type { GraphSchemas } from '../../schema/wire/wall/graph-answers.ts';
import type { Answer, Args } from '../../schema/wire/wall/operations.ts';
import type { Graph, MakeGraph } from './load.ts';
import { zodSchemas } from './zod-schemas.ts';

export type DescribeDeps = {
  graphOf: (graphId: string) => MakeGraph;
  /** Returns the file that a graph comes from. */
  fileOf: (graphId: string) => string;
};

/** Returns what the graph itself says about what it takes and gives, as JSON Schema. */
export async function describeSchemas({ graph_id }: Args<'schemas'>, deps: DescribeDeps): Promise<Answer<'schemas'>> {
  return { graph_id, ...schemasOf(await load(graph_id, deps), deps.fileOf(graph_id)) };
}

const load = (graphId: string, { graphOf }: DescribeDeps): Promise<Graph> => graphOf(graphId)({ configurable: {} });

const schemasOf = (graph: Graph, file: string): GraphSchemas => zodSchemas(graph.builder, file);

/** Returns the graph's nodes and edges, with as many levels of subgraphs as asked for. */
export async function drawGraph({ graph_id, xray }: Args<'graph'>, deps: DescribeDeps): Promise<Answer<'graph'>> {
  const graph = await load(graph_id, deps);
  return (await graph.getGraphAsync({ xray })).toJSON();
}

/** Returns the schemas of the subgraphs, by namespace. */
export async function describeSubgraphs(
  { graph_id, namespace, recurse }: Args<'subgraphs'>,
  deps: DescribeDeps,
): Promise<Answer<'subgraphs'>> {
  const graph = await load(graph_id, deps);
  const file = deps.fileOf(graph_id);
  const found: Answer<'subgraphs'> = {};
  for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse === true)) found[name] = schemasOf(subgraph, file);
  return found;
}
