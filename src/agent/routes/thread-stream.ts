import { Type } from 'typebox';
import { sse } from '../../http/route.ts';
import { eventId, THREAD_STREAM_MODES } from '../../schema/agent/stream-event.ts';
import { NotFound } from '../../errors.ts';
import { permission } from '../auth/caller.ts';
import { threadHead } from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { cursorOf, modesOf } from './stream-query.ts';
import { ThreadPath, type AgentRoute, agentRoutes } from './route.ts';

const route = agentRoutes('threads');

const Modes = Type.Optional(Type.Array(Type.String()));

/** Serves the stream of a thread, which has the events of all its runs. */
export const threadStreamRoute = ({ db, readers }: Pick<AgentDeps, 'db' | 'readers'>): AgentRoute =>
  route.get('/threads/{thread_id}/stream', {
    id: 'stream_thread',
    summary: 'Stream the events of a thread, over all its runs',
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
      const modes = modesOf(asked, { field: 'stream_modes', modes: THREAD_STREAM_MODES }) ?? ['run_modes'];
      const from = cursorOf(headers);
      const now = { ms: Date.now(), seq: 0 };
      const { permits } = await permission(caller, 'threads:read', params);
      if (permits !== undefined && (await threadHead(db, params.thread_id, permits)) === undefined)
        throw new NotFound(`Thread with ID ${params.thread_id} not found`);
      const followed = await readers.followThread(params.thread_id, signal);
      return sse(() => readers.threadEvents(followed, { from, modes }), { idsFrom: eventId(from ?? now) });
    },
  });
