import { Type } from 'typebox';
import { Invalid, NotFound, Unavailable } from '../../errors.ts';
import { sse, type SseEvent } from '../../http/route.ts';
import {
  eventId,
  isAfter,
  parseCursor,
  THREAD_STREAM_MODES,
  type Cursor,
  type RunEvent,
  type ThreadStreamMode,
} from '../../schema/stream-event.ts';
import { readThreadEvents } from '../db/events.ts';
import { addThreadReader, removeThreadReader } from '../db/threads.ts';
import type { AgentDeps } from '../deps.ts';
import { threadKey, type Subscription } from '../stream/bus.ts';
import { inThreadStream } from '../stream/modes.ts';
import { route, ThreadPath, type AgentRoute } from './route.ts';

const PAGE = 500;
const Modes = Type.Optional(Type.Array(Type.String()));

function modesOf(given: string[] | undefined): ThreadStreamMode[] {
  if (given === undefined || given.length === 0) return ['run_modes'];
  const modes = given.flatMap((text) => (text.startsWith('[') ? (JSON.parse(text) as string[]) : text.split(',')));
  const unknown = modes.find((mode) => !THREAD_STREAM_MODES.includes(mode as ThreadStreamMode));
  if (unknown !== undefined) {
    const msg = `"${unknown}" is none of ${THREAD_STREAM_MODES.join(', ')}`;
    throw new Invalid([{ loc: ['query', 'stream_modes'], msg, type: 'enum' }]);
  }
  return modes as ThreadStreamMode[];
}

type Following = { threadId: string; subscription: Subscription; from: Cursor | undefined; modes: ThreadStreamMode[] };

/** Events of all runs of the thread, those to come included; it ends when the client leaves or the server stops. */
async function* followThread(deps: AgentDeps, { threadId, subscription, from, modes }: Following): AsyncGenerator<SseEvent> {
  let at = from ?? { ms: Date.now(), seq: 0 };
  const shown = function* (event: RunEvent): Generator<SseEvent> {
    at = event;
    const name = inThreadStream(event.event, modes);
    if (name !== undefined) yield { event: name, json: event.json, id: eventId(event) };
  };
  const stored = async function* (): AsyncGenerator<SseEvent> {
    for (;;) {
      const page = await readThreadEvents(deps.db, threadId, { after: at, limit: PAGE });
      for (const event of page) yield* shown(event);
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
      if (heard.kind === 'wake') yield* stored();
      else for (const event of heard.events) if (isAfter(event, at)) yield* shown(event);
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
      const modes = modesOf(query.stream_modes ?? query.stream_mode);
      const from = parseCursor(headers['last-event-id'] as string | undefined);
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
