import { Type } from 'typebox';
import { Conflict, Invalid, NotFound, Rejected } from '../../errors.ts';
import { json, noContent, routesWith, type Reply } from '../../http/route.ts';
import {
  Assistant,
  AssistantCount,
  AssistantCreate,
  AssistantLatest,
  AssistantPatch,
  AssistantSearch,
  AssistantVersions,
} from '../../schema/agent/assistant.ts';
import type { JsonObject } from '../../schema/agent/agent-types.ts';
import { Uuid } from '../../schema/types.ts';
import { permission, type AgentCaller } from '../auth/caller.ts';
import {
  activeRunsOf,
  countAssistants,
  deleteAssistant,
  getAssistants,
  insertAssistant,
  listVersions,
  patchAssistant,
  searchAssistants,
  setLatest,
} from '../db/assistants/assistants.ts';
import type { Patterns } from '../db/base/permits.ts';
import { selectActive } from '../db/runs/runs.ts';
import { deleteThreads } from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { newId } from '../kernel/ids.ts';
import { cancelRuns, type CancelDeps } from '../runs/cancel.ts';
import { isGiven } from '../runs/kwargs.ts';
import { ok, page, refused, agentRoutes } from './route.ts';

type Deps = CancelDeps & Pick<AgentDeps, 'graphs'>;

const route = agentRoutes<[Deps]>('assistants');
export const AssistantPath = Type.Object({ assistant_id: Uuid('') });

/** Returns the assistant. Throws `NotFound`, also for one that the caller may not see. */
export async function assistantOf(deps: Pick<Deps, 'db'>, id: string, seen?: Patterns): Promise<Assistant> {
  const [assistant] = await getAssistants(deps.db, [id], seen);
  if (assistant === undefined) throw new NotFound(`Assistant with ID ${id} not found`);
  return assistant;
}

function knownGraph(deps: Pick<Deps, 'graphs'>, graphId: string | null | undefined): void {
  if (graphId && !deps.graphs.includes(graphId))
    throw new NotFound(`Graph "${graphId}" not found. This server has ${deps.graphs.join(', ')}.`);
}

/** Returns the context, whether it was given as `context` or as `config.configurable`; null when it was not given. */
function contextIn({ config, context }: { config?: JsonObject | null; context?: JsonObject | null }): JsonObject | null {
  const configurable = config?.['configurable'] as JsonObject | undefined;
  if (isGiven(configurable) && isGiven(context)) throw new Rejected('context: Cannot specify both configurable and context. Use only one.');
  return isGiven(configurable) ? configurable : (context ?? configurable ?? null);
}

async function create(deps: Deps, asked: AssistantCreate, caller: AgentCaller): Promise<Reply> {
  const described = { ...asked, assistant_id: asked.assistant_id ?? newId(), metadata: asked.metadata ?? {}, config: asked.config ?? {} };
  const { value: body, permits } = await permission(caller, 'assistants:create', described);
  knownGraph(deps, body.graph_id);
  const context = contextIn(body);
  const id = body.assistant_id;
  const assistant = await insertAssistant(deps.db, {
    assistant_id: id,
    graph_id: body.graph_id,
    name: body.name ?? 'Untitled',
    description: body.description ?? null,
    config: { ...body.config, ...(isGiven(context) && { configurable: context }) },
    context: context ?? {},
    metadata: body.metadata,
  });
  if (assistant !== undefined) return json(assistant);
  const [existing] = body.if_exists === 'do_nothing' ? await getAssistants(deps.db, [id], permits) : [];
  if (existing === undefined) throw new Conflict(`Assistant with ID ${id} already exists`);
  return json(existing);
}

async function patch(deps: Deps, { id, body: asked, caller }: { id: string; body: AssistantPatch; caller: AgentCaller }): Promise<Reply> {
  const described = { ...asked, assistant_id: id, metadata: asked.metadata ?? {} };
  const asking = await permission(caller, 'assistants:update', described);
  const { assistant_id: _id, ...body } = asking.value;
  knownGraph(deps, body.graph_id);
  const given = Object.entries({ ...body, context: contextIn(body) }).filter(([, value]) => value !== null && value !== undefined);
  const assistant = await patchAssistant(deps.db, id, Object.fromEntries(given), asking.permits);
  if (assistant === undefined) throw new NotFound(`Assistant with ID ${id} not found`);
  return json(assistant);
}

type Removal = { id: string; withThreads: boolean; caller: AgentCaller };

async function remove(deps: Deps, { id, withThreads, caller }: Removal): Promise<Reply> {
  const { permits } = await permission(caller, 'assistants:delete', { assistant_id: id });
  const ofThreads = withThreads ? (await permission(caller, 'threads:delete', { thread_id: null })).permits : undefined;
  const assistant = await assistantOf(deps, id, permits);
  if (assistant.metadata['created_by'] === 'system')
    throw new Invalid([{ loc: ['path', 'assistant_id'], msg: "A graph's own assistant can't be deleted", type: 'value_error' }]);
  const runs = await activeRunsOf(deps.db, id);
  if (runs.length > 0) await cancelRuns(deps, (tx) => selectActive(tx, { run_ids: runs }), 'interrupt');
  const deleted = await deleteAssistant(deps.db, id, { assistants: permits, threads: ofThreads });
  if (withThreads && deleted !== undefined && deleted.threads.length > 0) await deleteThreads(deps.db, deleted.threads, ofThreads);
  return noContent();
}

export const assistantRoutes = routesWith([
  route.post('/assistants', {
    id: 'create_assistant',
    summary: 'Create an assistant: a graph with a configuration',
    access: 'write',
    body: AssistantCreate,
    answers: { 200: ok('The assistant.', Assistant), 409: { description: 'The id is taken.' }, ...refused },
    handler: ({ body, caller }, deps) => create(deps, body, caller),
  }),
  route.post('/assistants/search', {
    id: 'search_assistants',
    summary: 'Assistants by metadata, graph and name',
    access: 'read',
    body: AssistantSearch,
    selects: true,
    bodyOptional: true,
    answers: { 200: ok('Assistants, or the selected fields of them.', Type.Array(Type.Partial(Assistant))), ...refused },
    handler: async ({ body: asked, caller }, deps) => {
      knownGraph(deps, asked.graph_id);
      const { value: body, permits } = await permission(caller, 'assistants:search', { ...asked, metadata: asked.metadata ?? {} });
      const { rows, headers } = page(await searchAssistants(deps.db, { ...body, graphs: deps.graphs, seen: permits }), body);
      return json(rows, 200, headers);
    },
  }),
  route.post('/assistants/count', {
    id: 'count_assistants',
    summary: 'How many assistants match',
    access: 'read',
    body: AssistantCount,
    selects: true,
    bodyOptional: true,
    answers: { 200: ok('The number.', Type.Integer()), ...refused },
    handler: async ({ body, caller }, deps) => {
      const { value, permits } = await permission(caller, 'assistants:search', { ...body, metadata: body.metadata ?? {} });
      return json(await countAssistants(deps.db, { ...value, graphs: deps.graphs, seen: permits }));
    },
  }),
  route.get('/assistants/{assistant_id}', {
    id: 'get_assistant',
    summary: 'One assistant',
    access: 'read',
    params: AssistantPath,
    answers: { 200: ok('The assistant.', Assistant), ...refused },
    handler: async ({ params, caller }, deps) => {
      const { permits } = await permission(caller, 'assistants:read', { ...params, metadata: {} });
      return json(await assistantOf(deps, params.assistant_id, permits));
    },
  }),
  route.patch('/assistants/{assistant_id}', {
    id: 'patch_assistant',
    summary: 'Make the next version of an assistant',
    access: 'write',
    params: AssistantPath,
    body: AssistantPatch,
    answers: { 200: ok('The assistant.', Assistant), ...refused },
    handler: ({ params, body, caller }, deps) => patch(deps, { id: params.assistant_id, body, caller }),
  }),
  route.delete('/assistants/{assistant_id}', {
    id: 'delete_assistant',
    summary: 'Delete an assistant with its versions',
    access: 'write',
    params: AssistantPath,
    query: Type.Object({ delete_threads: Type.Optional(Type.Boolean()) }),
    answers: { 204: ok('Gone.'), ...refused },
    handler: ({ params, query, caller }, deps) =>
      remove(deps, { id: params.assistant_id, withThreads: query.delete_threads === true, caller }),
  }),
  route.post('/assistants/{assistant_id}/versions', {
    id: 'list_assistant_versions',
    summary: 'Versions, newest first',
    access: 'read',
    params: AssistantPath,
    body: AssistantVersions,
    selects: true,
    bodyOptional: true,
    answers: { 200: ok('Versions.', Type.Array(Assistant)), ...refused },
    handler: async ({ params, body, caller }, deps) => {
      const { value, permits } = await permission(caller, 'assistants:read', { ...params, metadata: body.metadata ?? {} });
      await assistantOf(deps, params.assistant_id, permits);
      return json(await listVersions(deps.db, params.assistant_id, { ...body, metadata: value.metadata }));
    },
  }),
  route.post('/assistants/{assistant_id}/latest', {
    id: 'set_latest_version',
    summary: 'Go back to a version',
    access: 'write',
    params: AssistantPath,
    body: AssistantLatest,
    selects: true,
    answers: { 200: ok('The assistant.', Assistant), ...refused },
    handler: async ({ params, body, caller }, deps) => {
      const { permits } = await permission(caller, 'assistants:update', { ...params, version: body.version, metadata: {} });
      const assistant = await setLatest(deps.db, params.assistant_id, body.version, permits);
      if (assistant === undefined) throw new NotFound(`Assistant ${params.assistant_id} has no version ${body.version}`);
      return json(assistant);
    },
  }),
]);
