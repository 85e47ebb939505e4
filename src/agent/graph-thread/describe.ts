import { getConfigTypeSchema, getInputTypeSchema, getOutputTypeSchema, getStateTypeSchema } from '@langchain/langgraph/zod/schema';
import type { Answer, Args, GraphSchemas } from '../threads/protocol.ts';
import type { Graph, MakeGraph } from './load.ts';

type Json = Record<string, unknown>;
type Deps = { graphOf: (graphId: string) => MakeGraph };

/**
 * Returns what the graph takes and gives, as JSON Schema: from its zod schemas, else from the names of its channels.
 */
export async function describeSchemas({ graph_id }: Args<'schemas'>, deps: Deps): Promise<Answer<'schemas'>> {
  return { graph_id, ...schemasOf(await load(graph_id, deps)) };
}

const load = (graphId: string, { graphOf }: Deps): Promise<Graph> => graphOf(graphId)({ configurable: {} });

function schemasOf(graph: Graph): GraphSchemas {
  const from = (read: (graph: unknown) => unknown): Json | undefined => {
    try {
      return read(graph) as Json | undefined;
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
  const keys = graph.streamChannelsAsIs;
  if (!Array.isArray(keys)) return null;
  const names = (keys as string[]).filter((name) => !name.startsWith('__'));
  return { type: 'object', properties: Object.fromEntries(names.map((name) => [name, name === 'messages' ? MESSAGES : {}])) };
}

/** Returns the graph's nodes and edges, with as many levels of subgraphs as asked for. */
export async function drawGraph({ graph_id, xray }: Args<'graph'>, deps: Deps): Promise<Answer<'graph'>> {
  const graph = await load(graph_id, deps);
  return (await graph.getGraphAsync({ xray })).toJSON();
}

/** Returns the schemas of the subgraphs, by namespace. */
export async function describeSubgraphs({ graph_id, namespace, recurse }: Args<'subgraphs'>, deps: Deps): Promise<Answer<'subgraphs'>> {
  const graph = await load(graph_id, deps);
  const found: Answer<'subgraphs'> = {};
  for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse === true)) found[name] = schemasOf(subgraph);
  return found;
}
