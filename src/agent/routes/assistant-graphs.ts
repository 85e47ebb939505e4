import { Type } from 'typebox';
import { Invalid } from '../../errors.ts';
import { answerJson, answerJsonText, bindRoutes, type Reply } from '../../http/routes/route.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { readGraphSchemas, readSubgraphSchemas } from '../graph-types/graph-schemas.ts';
import { resolveAssistantId } from '../kernel/ids.ts';
import { loadAssistant, AssistantPath } from './assistants.ts';
import { describeAnswer, refused, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes<[AgentDeps]>('assistants');
const Shape = Type.Unsafe<unknown>({ type: 'object' });

async function ask(
  deps: AgentDeps,
  { assistant_id, caller }: { assistant_id: string; caller: AgentCaller },
  question: (graph_id: string) => Promise<Reply>,
): Promise<Reply> {
  const { permits } = await askPermission(caller, 'assistants:read', {
    assistant_id,
    metadata: {},
  });
  const { graph_id } = await loadAssistant(deps, assistant_id, permits);
  return question(graph_id);
}

function parseLevels(xray: string | undefined): boolean | number {
  const given = xray?.toLowerCase() ?? '';
  if (given === '' || given === 'false') return false;
  if (given === 'true') return true;
  const depth = Number(given);
  if (Number.isInteger(depth) && depth > 0) return depth;
  throw new Invalid([
    {
      loc: ['query', 'xray'],
      msg: 'must be true, false or a whole number above 0',
      type: 'value_error',
    },
  ]);
}

const Subgraphs = Type.Object({ recurse: Type.Optional(Type.Boolean()) });

export const assistantGraphRoutes = bindRoutes([
  route.get('/assistants/{assistant_id}/graph', {
    id: 'get_assistant_graph',
    summary: 'Get the nodes and edges of the graph',
    access: 'read',
    params: Type.Object({ assistant_id: Type.String() }),
    query: Type.Object({ xray: Type.Optional(Type.String()) }),
    answers: { 200: describeAnswer('The drawing.', Shape), ...refused },
    handler: ({ params, query, caller }, deps) => {
      const xray = parseLevels(query.xray);
      const draw = async (graph_id: string): Promise<Reply> =>
        answerJsonText(await deps.host.call('graph', { graph_id, xray }));
      return ask(
        deps,
        { assistant_id: resolveAssistantId(params.assistant_id, deps.graphs, 'path'), caller },
        draw,
      );
    },
  }),
  route.get('/assistants/{assistant_id}/schemas', {
    id: 'get_assistant_schemas',
    summary: 'Get the schemas of the graph',
    access: 'read',
    params: AssistantPath,
    answers: { 200: describeAnswer('JSON Schemas.', Shape), ...refused },
    handler: ({ params, caller }, deps) =>
      ask(deps, { ...params, caller }, async (graph_id) =>
        answerJson(await readGraphSchemas(graph_id, deps)),
      ),
  }),
  route.get('/assistants/{assistant_id}/subgraphs', {
    id: 'get_subgraphs',
    summary: 'Get the schemas of the subgraphs',
    access: 'read',
    params: AssistantPath,
    query: Subgraphs,
    answers: { 200: describeAnswer('Namespace -> schemas.', Shape), ...refused },
    handler: ({ params, query, caller }, deps) =>
      ask(deps, { ...params, caller }, async (graph_id) =>
        answerJson(await readSubgraphSchemas({ graph_id, recurse: query.recurse === true }, deps)),
      ),
  }),
  route.get('/assistants/{assistant_id}/subgraphs/{namespace}', {
    id: 'get_subgraph',
    summary: 'Get the schemas of one subgraph',
    access: 'read',
    params: Type.Object({ ...AssistantPath.properties, namespace: Type.String() }),
    query: Subgraphs,
    answers: { 200: describeAnswer('Namespace -> schemas.', Shape), ...refused },
    handler: ({ params, query, caller }, deps) => {
      const which = { namespace: params.namespace, recurse: query.recurse === true };
      return ask(deps, { assistant_id: params.assistant_id, caller }, async (graph_id) =>
        answerJson(await readSubgraphSchemas({ graph_id, ...which }, deps)),
      );
    },
  }),
]);
