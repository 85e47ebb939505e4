import { Type } from 'typebox';
import { Forbidden, Invalid, NotFound } from '../../errors.ts';
import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import {
  ForgottenUser,
  UsageQuery,
  UsageRow,
  ThreadUsage,
  ThreadUsageQuery,
  UserToForget,
  type UsageGroup,
} from '../../schema/agent/usage.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { getThread } from '../db/threads/threads.ts';
import { forgetUser, listThreadCalls, sumThreadUsage, sumUsage } from '../db/usage/model-calls.ts';
import type { AgentDeps } from '../parts/deps.ts';
import {
  buildAgentRoutes,
  buildPage,
  describeAnswer,
  refused,
  refusedToUsers,
  ThreadPath,
} from './route.ts';

const route = buildAgentRoutes<[AgentDeps]>('usage');

const DAY_MS = 86_400_000;
/** The time that sums are of where the request names no beginning. */
const USUAL_DAYS = 30;

/** Returns the time that is asked for. Throws `Invalid` where it ends before it begins. */
function readPeriod({ from, to }: UsageQuery): { from: Date; to: Date } {
  const end = to === undefined ? new Date() : new Date(to);
  const start = from === undefined ? new Date(end.getTime() - USUAL_DAYS * DAY_MS) : new Date(from);
  if (start > end)
    throw new Invalid([
      { loc: ['query', 'from'], msg: 'must not be later than `to`', type: 'value_error' },
    ]);
  return { from: start, to: end };
}

/** Handlers of `auth.path` decide on threads, and this usage is everybody's. Throws `Forbidden` for their callers. */
function requireOwnKey({ guard }: AgentCaller): void {
  if (guard !== undefined)
    throw new Forbidden("The usage of all callers is for the deployment's own keys.");
}

export const usageRoutes = bindRoutes([
  route.get('/usage', {
    id: 'get_usage',
    summary: 'Sum the calls of models by day, assistant, user, model and others',
    access: 'read',
    query: UsageQuery,
    answers: {
      200: describeAnswer('Sums of each group.', Type.Array(UsageRow)),
      ...refusedToUsers,
    },
    handler: async ({ query, caller }, { db }) => {
      requireOwnKey(caller);
      const groups = (query.group_by?.split(',') ?? []) as UsageGroup[];
      const asked = { ...readPeriod(query), groups: [...new Set(groups)] };
      const { limit, offset } = query;
      const { rows, headers } = buildPage(await sumUsage(db, { ...asked, limit, offset }), query);
      return answerJson(rows, 200, headers);
    },
  }),
  route.post('/usage/forget', {
    id: 'forget_user',
    summary: 'Remove a user from the usage, whose calls and sums stay without a name',
    access: 'write',
    body: UserToForget,
    answers: {
      200: describeAnswer('The calls that had the user.', ForgottenUser),
      ...refusedToUsers,
    },
    handler: async ({ body, caller }, { db }) => {
      requireOwnKey(caller);
      return answerJson({ calls: await forgetUser(db, body.user_id) });
    },
  }),
  route.get('/threads/{thread_id}/usage', {
    id: 'get_thread_usage',
    summary: 'Sum the calls of models of a thread',
    access: 'read',
    params: ThreadPath,
    query: ThreadUsageQuery,
    answers: { 200: describeAnswer('Sums.', ThreadUsage), ...refused },
    handler: async ({ params, query, caller }, { db }) => {
      const { permits } = await askPermission(caller, 'threads:read', params);
      if ((await getThread(db, params.thread_id, permits)) === undefined)
        throw new NotFound(`Thread with ID ${params.thread_id} not found`);
      const sums = await sumThreadUsage(db, params.thread_id);
      if (query.calls === 0) return answerJson(sums);
      const recorded = await listThreadCalls(db, params.thread_id, query.calls);
      return answerJson({ ...sums, recorded });
    },
  }),
]);
