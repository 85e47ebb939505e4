import { Type } from 'typebox';
import { NotFound, Unavailable } from '../../errors.ts';
import { sse, type SseEvent } from '../../http/route.ts';
import { eventId, THREAD_STREAM_MODES, type Cursor, type RunEvent, type ThreadStreamMode } from '../../schema/stream-event.ts';
import { readThreadEvents } from '../db/events.ts';
import { addThreadReader, removeThreadReader } from '../db/threads.ts';
import type { AgentDeps } from '../deps.ts';
import { threadKey, type Subscription } from '../stream/bus.ts';
import { placesFrom } from '../stream/places.ts';
import { inThreadStream } from '../stream/wanted.ts';
import { cursorOf, modesOf } from './stream-query.ts';
import { route, ThreadPath, type AgentRoute } from './route.ts';

const PAGE = 500;
const Modes = Type.Optional(Type.Array(Type.String()));

type Following = { threadId: string; subscription: Subscription; from: Cursor | undefined; modes: ThreadStreamMode[] };

/** Events of all runs of the thread, those to come included; it ends when the client leaves or the server stops. */
async function* followThread(deps: AgentDeps, { threadId, subscription, from, modes }: Following): AsyncGenerator<SseEvent> {
  const places = placesFrom(from);
  const shown = function* (runId: string, event: RunEvent): Generator<SseEvent> {
    const name = places.take(runId, event) ? inThreadStream(event.event, modes) : undefined;
    if (name !== undefined) yield { event: name, json: event.json, id: eventId(event) };
  };
  const stored = async function* (runId?: string): AsyncGenerator<SseEvent> {
    for (let after = places.after(runId); ;) {
      const page = await readThreadEvents(deps.db, threadId, { runId, after, limit: PAGE });
      for (const event of page) yield* shown(event.run_id, event);
      after = page.at(-1) ?? after;
      if (page.length < PAGE) return;
    }
  };
  try {
    await deps.eventLog.written();
    if (from !== undefined) yield* stored();
    for (;;) {
      const heard = await subscription.next();
      if (heard === undefined || heard.kind === 'end') return;
      if (heard.kind === 'too-slow') throw new Unavailable('The reader was too slow; join the stream again.');
      if (heard.kind === 'wake') yield* stored(heard.run_id);
      else for (const event of heard.events) yield* shown(heard.run_id, event);
    }
  } finally {
    subscription.close();
    if (!deps.bus.isFollowed(threadKey(threadId))) await removeThreadReader(deps.db, threadId, deps.signals.processId);
  }
}

export const threadStreamRoute = (deps: AgentDeps): AgentRoute =>
  route({
    method: 'get',
    path: '/threads/{thread_id}/stream',
    id: 'stream_thread',
    summary: 'Stream what happens on a thread, over all its runs',
    tag: 'threads',
    access: 'read',
    params: ThreadPath,
    query: Type.Object({ stream_modes: Modes, stream_mode: Modes }),
    answers: {
      200: { description: 'Events.', contentType: 'text/event-stream', schema: Type.String() },
      404: { description: 'Not there.' },
      422: { description: 'Not valid.' },
    },
    handler: async ({ params, query, headers, signal }) => {
      const modes = modesOf(query.stream_modes ?? query.stream_mode, { field: 'stream_modes', modes: THREAD_STREAM_MODES }) ?? [
        'run_modes',
      ];
      const from = cursorOf(headers);
      const subscription = deps.bus.follow(threadKey(params.thread_id), signal);
      const { processId } = deps.signals;
      if (!(await addThreadReader(deps.db, params.thread_id, processId))) {
        subscription.close();
        throw new NotFound(`Thread with ID ${params.thread_id} not found`);
      }
      await deps.signals.send({ about: 'thread-reader', thread_id: params.thread_id, reader: processId });
      return sse(() => followThread(deps, { threadId: params.thread_id, subscription, from, modes }));
    },
  });
