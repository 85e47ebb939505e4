import { getConfigTypeSchema, getInputTypeSchema, getOutputTypeSchema, getStateTypeSchema } from '@langchain/langgraph/zod/schema';
import type { Graph, MakeGraph } from './load.ts';

type Json = Record<string, unknown>;

/** What the graph takes and gives, as JSON Schema: from its zod schemas, else from the names of its channels. */
export async function describeSchemas(make: MakeGraph, graphId: string): Promise<Json> {
  return { graph_id: graphId, ...schemasOf(await make({ configurable: {} })) };
}

function schemasOf(graph: Graph): Json {
  const from = (read: (graph: never) => unknown): Json | undefined => {
    try {
      return read(graph as never) as Json | undefined;
    } catch {
      return undefined;
    }
  };
  const channels = channelSchema(graph);
  const state = from(getStateTypeSchema) ?? channels;
  const config = from(getConfigTypeSchema) ?? null;
  return {
    input_schema: from(getInputTypeSchema) ?? state,
    output_schema: from(getOutputTypeSchema) ?? state,
    state_schema: state,
    config_schema: config,
    context_schema: config,
  };
}

const MESSAGES = {
  type: 'array',
  items: { type: 'object', properties: { type: { type: 'string' }, role: { type: 'string' }, content: {} } },
};

function channelSchema(graph: Graph): Json | null {
  const keys = (graph as unknown as { streamChannelsAsIs?: unknown }).streamChannelsAsIs;
  if (!Array.isArray(keys)) return null;
  const names = (keys as string[]).filter((name) => !name.startsWith('__'));
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, name === 'messages' ? MESSAGES : {}])) };
}

/** The graph's nodes and edges, with as many levels of subgraphs as asked for. */
export async function drawGraph(make: MakeGraph, xray: boolean | number): Promise<unknown> {
  const graph = await make({ configurable: {} });
  return (await graph.getGraphAsync({ xray })).toJSON();
}

export async function describeSubgraphs(make: MakeGraph, { namespace, recurse }: { namespace?: string; recurse?: boolean }): Promise<Json> {
  const graph = await make({ configurable: {} });
  const found: Json = {};
  for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse === true)) found[name] = schemasOf(subgraph);
  return found;
}
