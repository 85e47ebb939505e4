import { Type } from 'typebox';
import { Invalid } from '../../errors.ts';
import type { SocketRoute } from '../../http/server/websocket.ts';
import { answerJson, answerEvents, type SseEvent } from '../../http/routes/route.ts';
import { Command, EventStream } from '../../schema/agent/event-streaming.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { isUuid } from '../kernel/ids.ts';
import { readIdempotencyKey, requireKeyForm } from '../kernel/request-key.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { answerCommand, isRunStart, type CommandDeps } from '../event-streaming/commands.ts';
import { buildCommandFailure, resumeGap } from '../event-streaming/answers.ts';
import { parseEventName } from '../stream/event-name.ts';
import { checkChannels, isEventSelected, type EventFilter } from '../stream/protocol/filter.ts';
import type { Batch } from '../stream/protocol/follow.ts';
import {
  buildProtocolEventId,
  parseProtocolSeq,
  formatProtocolEvent,
} from '../stream/protocol/wire-form.ts';
import { loadVisibility } from '../event-streaming/visibility.ts';
import { SocketSession, type SessionDeps } from '../event-streaming/socket-session.ts';
import type { Feature } from './feature.ts';
import { describeAnswer, refused, ThreadPath, type AgentRoute, buildAgentRoutes } from './route.ts';

const route = buildAgentRoutes('event streaming');

/** Yields the events that the client asked for, and in place of those that are gone, the error that says so. */
async function* filterBatches(
  batches: AsyncIterable<Batch>,
  filter: EventFilter,
): AsyncGenerator<SseEvent[]> {
  for await (const batch of batches) {
    if ('gap' in batch) {
      yield [{ event: 'error', data: buildCommandFailure(null, resumeGap(batch.gap)) }];
      continue;
    }
    const shown = batch.events
      .map((event) => ({ event, place: parseEventName(event.event) }))
      .filter(({ place }) => isEventSelected(filter, place));
    if (shown.length > 0)
      yield shown.map(({ event, place }) => ({
        event: place.method,
        json: formatProtocolEvent(event, place.method),
        id: buildProtocolEventId(event),
      }));
  }
}

const buildEventsRoute = ({ db, readers }: AgentDeps): AgentRoute =>
  route.post('/threads/{thread_id}/stream/events', {
    id: 'stream_thread_events',
    summary:
      'Stream the events of a thread, from the oldest event that is kept; the thread need not exist yet',
    access: 'read',
    params: ThreadPath,
    body: EventStream,
    selects: true,
    answers: {
      200: { description: 'Events.', contentType: 'text/event-stream', schema: Type.String() },
      ...refused,
    },
    handler: async ({ params: { thread_id: threadId }, body, headers, caller, signal }) => {
      checkChannels(body.channels);
      const seen = await loadVisibility(db, caller, threadId);
      const since = body.since ?? parseProtocolSeq(String(headers['last-event-id'] ?? '')) ?? 0;
      const followed = readers.followThreadToCome(threadId, signal);
      const readEvents = () =>
        filterBatches(seen.shown(readers.followProtocolEvents(followed, since)), body);
      return answerEvents(readEvents, {
        idsFrom: buildProtocolEventId({ ms: 0, thread_seq: since }),
      });
    },
  });

const buildCommandsRoute = (deps: CommandDeps): AgentRoute =>
  route.post('/threads/{thread_id}/commands', {
    id: 'command_thread',
    summary: 'Start a run, answer an interrupt, or read the state of the thread',
    access: 'write',
    params: ThreadPath,
    headers: OnceHeaders,
    body: Command,
    starts: (body) => (isRunStart(body as Command) ? 1 : 0),
    answers: {
      200: describeAnswer(
        "The answer. A command that can't be carried out also gets one (`type` error).",
        Type.Unsafe<unknown>({}),
      ),
      ...refused,
    },
    handler: async ({
      params: { thread_id: threadId },
      body,
      requestId,
      headers,
      forwarded,
      caller,
      signal,
    }) => {
      // A client may number the same command otherwise when it sends it again.
      const { id: _number, ...asks } = body;
      requireKeyForm(headers);
      const key = isRunStart(body)
        ? readIdempotencyKey(
            headers,
            { identity: caller.identity, route: 'commands', threadId },
            asks,
          )
        : undefined;
      return answerJson(
        await answerCommand(deps, body, {
          threadId,
          key,
          request: { requestId, headers, forwarded, caller, signal },
        }),
      );
    },
  });

/** Serves the same thread over one connection that carries commands, answers and events. */
const buildThreadSocket = (deps: SessionDeps & AgentDeps): SocketRoute<AgentCaller> => ({
  path: '/threads/{thread_id}/stream/events',
  check: ({ thread_id = '' }) => {
    if (!isUuid(thread_id))
      throw new Invalid([
        { loc: ['path', 'thread_id'], msg: 'Invalid thread ID: must be a UUID', type: 'uuid' },
      ]);
    return { thread_id: thread_id.toLowerCase() };
  },
  connect: ({ params, requestId, headers, forwarded, signal, caller }, socket) => {
    const admitStart = (): void => deps.callers.acquireRuns(caller, 1);
    const request = { requestId, headers, forwarded, caller, signal };
    const session = new SocketSession(deps, {
      threadId: params['thread_id']!,
      request,
      socket,
      starts: admitStart,
    });
    return { receive: (text) => session.receive(text) };
  },
});

/** Serves event streaming, which stands on threads and runs. */
export const eventStreaming: Feature = {
  isServed: ({ http, config }) =>
    config.eventStreaming &&
    ![http.disable_threads, http.disable_runs, http.disable_event_streaming].includes(true),
  routes: (deps) => [buildEventsRoute(deps), buildCommandsRoute(deps)],
  sockets: (deps) => [buildThreadSocket(deps)],
  flag: 'event_streaming',
};
