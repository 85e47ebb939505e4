import { Type } from 'typebox';
import { NotFound } from '../../errors.ts';
import { answerJson, answerNoContent, bindRoutes } from '../../http/routes/route.ts';
import {
  Cron,
  CronCount,
  CronCreate,
  CronPatch,
  CronSearch,
  type CronCount as Asked,
} from '../../schema/agent/cron.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import { askPermission } from '../auth/caller.ts';
import { toClientCron } from '../crons/call.ts';
import { patchCron, makeCron, type CronDeps } from '../crons/make.ts';
import { countCrons, deleteCron, getCron, searchCrons, type FoundCron } from '../db/crons/crons.ts';
import { resolveAssistantId } from '../kernel/ids.ts';
import { readIdempotencyKey } from '../kernel/request-key.ts';
import {
  goneAgain,
  describeAnswer,
  buildPage,
  refused,
  ThreadPath,
  buildAgentRoutes,
} from './route.ts';

const route = buildAgentRoutes<[CronDeps]>('crons');
const CronPath = Type.Object({ cron_id: buildUuidSchema('') });

const buildNotFound = (id: string): NotFound => new NotFound(`Cron with ID ${id} not found`);

/** Returns the fields of a search that handlers see. */
const toHandlerFields = <A extends Asked>(
  asked: A,
  graphs: string[],
): A & { assistant_id: string | null; metadata: object } => ({
  ...asked,
  assistant_id: asked.assistant_id ? resolveAssistantId(asked.assistant_id, graphs) : null,
  metadata: asked.metadata ?? {},
});

function selectFields(row: FoundCron, select: CronSearch['select']): Partial<Cron> {
  const cron = toClientCron(row);
  return select && select.length > 0
    ? Object.fromEntries(select.map((name) => [name, cron[name as keyof Cron]]))
    : cron;
}

export const cronRoutes = bindRoutes([
  route.post('/runs/crons', {
    id: 'create_cron',
    summary: 'Create a cron whose runs each get a thread of their own',
    access: 'write',
    headers: OnceHeaders,
    body: CronCreate,
    answers: { 200: describeAnswer('The cron.', Cron), ...refused, ...goneAgain },
    handler: async ({ body, caller, headers }, deps) => {
      const key = readIdempotencyKey(
        headers,
        { identity: caller.identity, route: 'runs/crons' },
        body,
      );
      return answerJson(await makeCron(deps, body, { threadId: null, caller, key }));
    },
  }),
  route.post('/threads/{thread_id}/runs/crons', {
    id: 'create_thread_cron',
    summary: 'Create a cron whose runs are on a given thread',
    access: 'write',
    params: ThreadPath,
    headers: OnceHeaders,
    body: CronCreate,
    answers: { 200: describeAnswer('The cron.', Cron), ...refused, ...goneAgain },
    handler: async ({ params: { thread_id: threadId }, body, caller, headers }, deps) => {
      const key = readIdempotencyKey(
        headers,
        { identity: caller.identity, route: 'runs/crons', threadId },
        body,
      );
      return answerJson(await makeCron(deps, body, { threadId, caller, key }));
    },
  }),
  route.post('/runs/crons/search', {
    id: 'search_crons',
    summary: 'Search crons by assistant, thread and metadata',
    access: 'read',
    body: CronSearch,
    selects: true,
    bodyOptional: true,
    answers: {
      200: describeAnswer('Crons, or the selected fields of them.', Type.Array(Type.Partial(Cron))),
      ...refused,
    },
    handler: async ({ body: asked, caller }, { db, graphs }) => {
      const { value: body, permits: seen } = await askPermission(
        caller,
        'crons:search',
        toHandlerFields(asked, graphs),
      );
      const { rows, headers } = buildPage(await searchCrons(db, { ...body, seen }), body);
      return answerJson(
        rows.map((row) => selectFields(row, body.select)),
        200,
        headers,
      );
    },
  }),
  route.post('/runs/crons/count', {
    id: 'count_crons',
    summary: 'Count crons',
    access: 'read',
    body: CronCount,
    selects: true,
    bodyOptional: true,
    answers: { 200: describeAnswer('The number.', Type.Integer()), ...refused },
    handler: async ({ body, caller }, { db, graphs }) => {
      const { value, permits: seen } = await askPermission(
        caller,
        'crons:search',
        toHandlerFields(body, graphs),
      );
      return answerJson(await countCrons(db, { ...value, seen }));
    },
  }),
  route.get('/runs/crons/{cron_id}', {
    id: 'get_cron',
    summary: 'One cron',
    access: 'read',
    params: CronPath,
    answers: { 200: describeAnswer('The cron.', Cron), ...refused },
    handler: async ({ params, caller }, { db }) => {
      const { permits } = await askPermission(caller, 'crons:read', params);
      const cron = await getCron(db, params.cron_id, permits);
      if (cron === undefined) throw buildNotFound(params.cron_id);
      return answerJson(toClientCron(cron));
    },
  }),
  route.patch('/runs/crons/{cron_id}', {
    id: 'patch_cron',
    summary: 'Change a cron: its schedule, or the input of its runs',
    access: 'write',
    params: CronPath,
    body: CronPatch,
    answers: { 200: describeAnswer('The cron.', Cron), ...refused },
    handler: async ({ params, body, caller }, deps) =>
      answerJson(await patchCron(deps, body, params.cron_id, caller)),
  }),
  route.delete('/runs/crons/{cron_id}', {
    id: 'delete_cron',
    summary: 'Delete a cron; the runs that it started stay',
    access: 'write',
    params: CronPath,
    answers: { 204: describeAnswer('Gone.'), ...refused },
    handler: async ({ params, caller }, { db }) => {
      const { permits } = await askPermission(caller, 'crons:delete', params);
      if (!(await deleteCron(db, params.cron_id, permits))) throw buildNotFound(params.cron_id);
      return answerNoContent();
    },
  }),
]);
