import type { Database } from '../db/base/pool.ts';
import { Type } from 'typebox';
import { Conflict, Invalid, NotFound, Rejected } from '../../errors.ts';
import { answerJson, answerNoContent, bindRoutes, type Reply } from '../../http/routes/route.ts';
import {
  Assistant,
  AssistantCount,
  AssistantCreate,
  AssistantLatest,
  AssistantPatch,
  AssistantSearch,
  AssistantVersions,
} from '../../schema/agent/assistant.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import {
  loadActiveRunIds,
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
import { createId } from '../kernel/ids.ts';
import { cancelRuns } from '../runs/executing/cancel.ts';
import { isGiven } from '../runs/making/kwargs.ts';
import { describeAnswer, buildPage, refused, buildAgentRoutes } from './route.ts';
import type { Json } from '../../schema/json.ts';

const route = buildAgentRoutes<[AgentDeps]>('assistants');
export const AssistantPath = Type.Object({ assistant_id: buildUuidSchema('') });

/** Returns the assistant. Throws `NotFound`, also for one that the caller may not see. */
export async function loadAssistant(
  deps: { db: Database },
  id: string,
  seen?: Patterns,
): Promise<Assistant> {
  const [assistant] = await getAssistants(deps.db, [id], seen);
  if (assistant === undefined) throw new NotFound(`Assistant with ID ${id} not found`);
  return assistant;
}

function requireGraph(deps: AgentDeps, graphId: string | null | undefined): void {
  if (graphId && !deps.graphs.includes(graphId))
    throw new NotFound(`Graph "${graphId}" not found. This server has ${deps.graphs.join(', ')}.`);
}

/** Returns the context, whether it was given as `context` or as `config.configurable`; null when it was not given. */
function readContext({
  config,
  context,
}: {
  config?: Json | null;
  context?: Json | null;
}): Json | null {
  const configurable = config?.['configurable'] as Json | undefined;
  if (isGiven(configurable) && isGiven(context))
    throw new Rejected('context: Cannot specify both configurable and context. Use only one.');
  return isGiven(configurable) ? configurable : (context ?? configurable ?? null);
}

async function create(
  deps: AgentDeps,
  asked: AssistantCreate,
  caller: AgentCaller,
): Promise<Reply> {
  const described = {
    ...asked,
    assistant_id: asked.assistant_id ?? createId(),
    metadata: asked.metadata ?? {},
    config: asked.config ?? {},
  };
  const { value: body, permits } = await askPermission(caller, 'assistants:create', described);
  requireGraph(deps, body.graph_id);
  const context = readContext(body);
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
  if (assistant !== undefined) return answerJson(assistant);
  const [existing] =
    body.if_exists === 'do_nothing' ? await getAssistants(deps.db, [id], permits) : [];
  if (existing === undefined) throw new Conflict(`Assistant with ID ${id} already exists`);
  return answerJson(existing);
}

async function patch(
  deps: AgentDeps,
  { id, body: asked, caller }: { id: string; body: AssistantPatch; caller: AgentCaller },
): Promise<Reply> {
  const described = { ...asked, assistant_id: id, metadata: asked.metadata ?? {} };
  const asking = await askPermission(caller, 'assistants:update', described);
  const { assistant_id: _id, ...body } = asking.value;
  requireGraph(deps, body.graph_id);
  const given = Object.entries({ ...body, context: readContext(body) }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  const assistant = await patchAssistant(deps.db, id, Object.fromEntries(given), asking.permits);
  if (assistant === undefined) throw new NotFound(`Assistant with ID ${id} not found`);
  return answerJson(assistant);
}

async function remove(
  deps: AgentDeps,
  id: string,
  withThreads: boolean,
  caller: AgentCaller,
): Promise<Reply> {
  const { permits } = await askPermission(caller, 'assistants:delete', { assistant_id: id });
  const ofThreads = withThreads
    ? (await askPermission(caller, 'threads:delete', { thread_id: null })).permits
    : undefined;
  const assistant = await loadAssistant(deps, id, permits);
  if (assistant.metadata['created_by'] === 'system')
    throw new Invalid([
      {
        loc: ['path', 'assistant_id'],
        msg: "A graph's own assistant can't be deleted",
        type: 'value_error',
      },
    ]);
  const runs = await loadActiveRunIds(deps.db, id);
  if (runs.length > 0)
    await cancelRuns(deps, (tx) => selectActive(tx, { run_ids: runs }), 'interrupt');
  const deleted = await deleteAssistant(deps.db, id, { assistants: permits, threads: ofThreads });
  if (withThreads && deleted !== undefined && deleted.threads.length > 0)
    await deleteThreads(deps.db, deleted.threads, ofThreads);
  return answerNoContent();
}

export const assistantRoutes = bindRoutes([
  route.post('/assistants', {
    id: 'create_assistant',
    summary: 'Create an assistant: a graph with a configuration',
    access: 'write',
    body: AssistantCreate,
    answers: {
      200: describeAnswer('The assistant.', Assistant),
      409: { description: 'The id is taken.' },
      ...refused,
    },
    handler: ({ body, caller }, deps) => create(deps, body, caller),
  }),
  route.post('/assistants/search', {
    id: 'search_assistants',
    summary: 'Search assistants by metadata, graph and name',
    access: 'read',
    body: AssistantSearch,
    selects: true,
    bodyOptional: true,
    answers: {
      200: describeAnswer(
        'Assistants, or the selected fields of them.',
        Type.Array(Type.Partial(Assistant)),
      ),
      ...refused,
    },
    handler: async ({ body: asked, caller }, deps) => {
      requireGraph(deps, asked.graph_id);
      const { value: body, permits } = await askPermission(caller, 'assistants:search', {
        ...asked,
        metadata: asked.metadata ?? {},
      });
      const { rows, headers } = buildPage(
        await searchAssistants(deps.db, { ...body, graphs: deps.graphs, seen: permits }),
        body,
      );
      return answerJson(rows, 200, headers);
    },
  }),
  route.post('/assistants/count', {
    id: 'count_assistants',
    summary: 'Count assistants',
    access: 'read',
    body: AssistantCount,
    selects: true,
    bodyOptional: true,
    answers: { 200: describeAnswer('The number.', Type.Integer()), ...refused },
    handler: async ({ body, caller }, deps) => {
      const { value, permits } = await askPermission(caller, 'assistants:search', {
        ...body,
        metadata: body.metadata ?? {},
      });
      return answerJson(
        await countAssistants(deps.db, { ...value, graphs: deps.graphs, seen: permits }),
      );
    },
  }),
  route.get('/assistants/{assistant_id}', {
    id: 'get_assistant',
    summary: 'One assistant',
    access: 'read',
    params: AssistantPath,
    answers: { 200: describeAnswer('The assistant.', Assistant), ...refused },
    handler: async ({ params, caller }, deps) => {
      const { permits } = await askPermission(caller, 'assistants:read', {
        ...params,
        metadata: {},
      });
      return answerJson(await loadAssistant(deps, params.assistant_id, permits));
    },
  }),
  route.patch('/assistants/{assistant_id}', {
    id: 'patch_assistant',
    summary: 'Update an assistant, which makes its next version',
    access: 'write',
    params: AssistantPath,
    body: AssistantPatch,
    answers: { 200: describeAnswer('The assistant.', Assistant), ...refused },
    handler: ({ params, body, caller }, deps) =>
      patch(deps, { id: params.assistant_id, body, caller }),
  }),
  route.delete('/assistants/{assistant_id}', {
    id: 'delete_assistant',
    summary: 'Delete an assistant with its versions',
    access: 'write',
    params: AssistantPath,
    query: Type.Object({ delete_threads: Type.Optional(Type.Boolean()) }),
    answers: { 204: describeAnswer('Gone.'), ...refused },
    handler: ({ params, query, caller }, deps) =>
      remove(deps, params.assistant_id, query.delete_threads === true, caller),
  }),
  route.post('/assistants/{assistant_id}/versions', {
    id: 'list_assistant_versions',
    summary: 'List the versions of an assistant, newest first',
    access: 'read',
    params: AssistantPath,
    body: AssistantVersions,
    selects: true,
    bodyOptional: true,
    answers: { 200: describeAnswer('Versions.', Type.Array(Assistant)), ...refused },
    handler: async ({ params, body, caller }, deps) => {
      const { value, permits } = await askPermission(caller, 'assistants:read', {
        ...params,
        metadata: body.metadata ?? {},
      });
      await loadAssistant(deps, params.assistant_id, permits);
      return answerJson(
        await listVersions(deps.db, params.assistant_id, { ...body, metadata: value.metadata }),
      );
    },
  }),
  route.post('/assistants/{assistant_id}/latest', {
    id: 'set_latest_version',
    summary: 'Set the current version of an assistant',
    access: 'write',
    params: AssistantPath,
    body: AssistantLatest,
    selects: true,
    answers: { 200: describeAnswer('The assistant.', Assistant), ...refused },
    handler: async ({ params, body, caller }, deps) => {
      const { permits } = await askPermission(caller, 'assistants:update', {
        ...params,
        version: body.version,
        metadata: {},
      });
      const assistant = await setLatest(deps.db, params.assistant_id, body.version, permits);
      if (assistant === undefined)
        throw new NotFound(`Assistant ${params.assistant_id} has no version ${body.version}`);
      return answerJson(assistant);
    },
  }),
]);
