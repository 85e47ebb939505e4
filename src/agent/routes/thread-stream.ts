import { Type } from 'typebox';
import { answerEvents } from '../../http/routes/route.ts';
import { formatEventId, THREAD_STREAM_MODES } from '../../schema/agent/stream-event.ts';
import { NotFound } from '../../errors.ts';
import { askPermission } from '../auth/caller.ts';
import { loadThreadHead } from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { readLastEventId, parseStreamModes } from './stream-query.ts';
import { ThreadPath, type AgentRoute, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes('threads');

const Modes = Type.Optional(Type.Array(Type.String()));

/** Serves the stream of a thread, which has the events of all its runs. */
export const buildThreadStreamRoute = ({ db, readers }: AgentDeps): AgentRoute =>
  route.get('/threads/{thread_id}/stream', {
    id: 'stream_thread',
    summary: 'Stream the events of all runs of a thread',
    access: 'read',
    params: ThreadPath,
    query: Type.Object({ stream_modes: Modes, stream_mode: Modes }),
    answers: {
      200: { description: 'Events.', contentType: 'text/event-stream', schema: Type.String() },
      404: { description: 'Not there.' },
      422: { description: 'Not valid.' },
    },
    handler: async ({ params, query, headers, caller, signal }) => {
      const asked = [...(query.stream_modes ?? []), ...(query.stream_mode ?? [])];
      const modes = parseStreamModes(asked, {
        field: 'stream_modes',
        modes: THREAD_STREAM_MODES,
      }) ?? ['run_modes'];
      const from = readLastEventId(headers);
      const now = { ms: Date.now(), seq: 0 };
      const { permits } = await askPermission(caller, 'threads:read', params);
      if (
        permits !== undefined &&
        (await loadThreadHead(db, params.thread_id, permits)) === undefined
      )
        throw new NotFound(`Thread with ID ${params.thread_id} not found`);
      const followed = await readers.followThread(params.thread_id, signal);
      return answerEvents(() => readers.followThreadEvents(followed, { from, modes }), {
        idsFrom: formatEventId(from ?? now),
      });
    },
  });
