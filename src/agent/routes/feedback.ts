import { Type } from 'typebox';
import { NotFound } from '../../errors.ts';
import { admitStrangers } from '../../http/routes/admission.ts';
import { answerJson, answerNoContent, bindRoutes, type Reply } from '../../http/routes/route.ts';
import { Feedback, FeedbackGiven, FeedbackLink } from '../../schema/agent/feedback.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import { askPermission } from '../auth/caller.ts';
import { giveFeedback, listFeedback } from '../db/runs/feedback.ts';
import { getRun } from '../db/runs/runs.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { describeAnswer, refused, RunPath, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes<[AgentDeps]>('runs');
/** Bytes of feedback, which is read for everybody who sends to an address of this form. */
const MOST_BYTES = 64 * 1024;
/** Bytes of it that are read at a time, and the seconds in which each must have come. */
const STRANGERS = { seconds: 30, address: 16 * MOST_BYTES, all: 128 * MOST_BYTES };
const Token = Type.Object({ token: buildUuidSchema('') });

async function give({ db }: AgentDeps, token: string, given: FeedbackGiven): Promise<Reply> {
  if (!(await giveFeedback(db, token, given)))
    throw new NotFound('This feedback link is unknown or has expired');
  return answerNoContent();
}

export const feedbackRoutes = bindRoutes([
  /** Takes feedback. The token is the credential, so anyone who got the link may use it. */
  route.post('/feedback/tokens/{token}', {
    id: 'give_feedback',
    summary: 'Give feedback on a run',
    access: 'open',
    params: Token,
    body: FeedbackGiven,
    bodyBytes: MOST_BYTES,
    admission: admitStrangers(STRANGERS),
    answers: { 204: describeAnswer('Stored; it replaces earlier feedback.'), ...refused },
    handler: ({ params, body }, deps) => give(deps, params.token, body),
  }),
  route.get('/feedback/tokens/{token}', {
    id: 'follow_feedback_link',
    summary: 'Give feedback on a run by a link',
    access: 'open',
    params: Token,
    query: FeedbackLink,
    answers: { 204: describeAnswer('Kept.'), ...refused },
    handler: ({ params, query }, deps) => give(deps, params.token, query),
  }),
  route.get('/threads/{thread_id}/runs/{run_id}/feedback', {
    id: 'list_feedback',
    summary: 'List the feedback on a run',
    access: 'read',
    params: RunPath,
    answers: { 200: describeAnswer('Feedback by key.', Type.Array(Feedback)), ...refused },
    handler: async ({ params, caller }, { db }) => {
      const { permits } = await askPermission(caller, 'threads:read', params);
      if ((await getRun(db, params.thread_id, params.run_id, permits)) === undefined)
        throw new NotFound(`Run with ID ${params.run_id} not found`);
      return answerJson(await listFeedback(db, params.run_id));
    },
  }),
]);
