import { Type } from 'typebox';
import { Invalid } from '../../errors.ts';
import type { SocketRoute } from '../../http/websocket.ts';
import { json, sse, type SseEvent } from '../../http/route.ts';
import { Command, EventStream } from '../../schema/agent/event-streaming.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { isUuid } from '../kernel/ids.ts';
import { keyOfHeader } from '../kernel/request-key.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { answerCommand, startsRun, type CommandDeps } from '../event-streaming/commands.ts';
import { failure, resumeGap } from '../event-streaming/answers.ts';
import { placeOfEvent } from '../stream/event-name.ts';
import { checkChannels, letsThrough, type EventFilter } from '../stream/protocol/filter.ts';
import type { Batch } from '../stream/protocol/follow.ts';
import { protocolEventId, seqOf, wireForm } from '../stream/protocol/wire-form.ts';
import { visibility } from '../event-streaming/visibility.ts';
import { SocketSession, type SessionDeps } from '../event-streaming/socket-session.ts';
import type { Feature } from './feature.ts';
import { ok, refused, ThreadPath, type AgentRoute, agentRoutes } from './route.ts';

const route = agentRoutes('event streaming');

/** Yields the events that the client asked for, and in place of those that are gone, the error that says so. */
async function* filtered(batches: AsyncIterable<Batch>, filter: EventFilter): AsyncGenerator<SseEvent[]> {
  for await (const batch of batches) {
    if ('gap' in batch) {
      yield [{ event: 'error', data: failure(null, resumeGap(batch.gap)) }];
      continue;
    }
    const shown = batch.events
      .map((event) => ({ event, place: placeOfEvent(event.event) }))
      .filter(({ place }) => letsThrough(filter, place));
    if (shown.length > 0)
      yield shown.map(({ event, place }) => ({ event: place.method, json: wireForm(event, place.method), id: protocolEventId(event) }));
  }
}

const eventsRoute = ({ db, readers }: Pick<AgentDeps, 'db' | 'readers'>): AgentRoute =>
  route.post('/threads/{thread_id}/stream/events', {
    id: 'stream_thread_events',
    summary: 'Stream the events of a thread, from its first event that is kept; the thread need not exist yet',
    access: 'read',
    params: ThreadPath,
    body: EventStream,
    selects: true,
    answers: { 200: { description: 'Events.', contentType: 'text/event-stream', schema: Type.String() }, ...refused },
    handler: async ({ params: { thread_id: threadId }, body, headers, caller, signal }) => {
      checkChannels(body.channels);
      const seen = await visibility(db, caller, threadId);
      const since = body.since ?? seqOf(String(headers['last-event-id'] ?? '')) ?? 0;
      const followed = readers.followThreadToCome(threadId, signal);
      const events = () => filtered(seen.shown(readers.protocolEvents(followed, since)), body);
      return sse(events, { idsFrom: protocolEventId({ ms: 0, thread_seq: since }) });
    },
  });

const commandsRoute = (deps: CommandDeps): AgentRoute =>
  route.post('/threads/{thread_id}/commands', {
    id: 'command_thread',
    summary: 'Start a run, answer an interrupt, or ask where the thread stands',
    access: 'write',
    params: ThreadPath,
    headers: OnceHeaders,
    body: Command,
    starts: (body) => (startsRun(body as Command) ? 1 : 0),
    answers: { 200: ok('The answer; also of a command that can not be carried out (`type` error).', Type.Unsafe<unknown>({})), ...refused },
    handler: async ({ params: { thread_id: threadId }, body, requestId, headers, forwarded, caller, signal }) => {
      // A client may number the same command otherwise when it sends it again.
      const { id: _number, ...asks } = body;
      const key = startsRun(body) ? keyOfHeader(headers, { identity: caller.identity, route: 'commands', threadId }, asks) : undefined;
      return json(await answerCommand(deps, body, { threadId, key, request: { requestId, headers, forwarded, caller, signal } }));
    },
  });

/** Serves the same thread over one connection that carries commands, answers and events. */
const threadSocket = (deps: SessionDeps & Pick<AgentDeps, 'callers'>): SocketRoute<AgentCaller> => ({
  path: '/threads/{thread_id}/stream/events',
  check: ({ thread_id = '' }) => {
    if (!isUuid(thread_id)) throw new Invalid([{ loc: ['path', 'thread_id'], msg: 'Invalid thread ID: must be a UUID', type: 'uuid' }]);
    return { thread_id: thread_id.toLowerCase() };
  },
  connect: ({ params, requestId, headers, forwarded, signal, caller }, socket) => {
    const starts = (): void => deps.callers.starts(caller, 1);
    const request = { requestId, headers, forwarded, caller, signal };
    const session = new SocketSession(deps, { threadId: params['thread_id']!, request, socket, starts });
    return { receive: (text) => session.receive(text) };
  },
});

/** Serves event streaming, which stands on threads and runs. */
export const eventStreaming: Feature = {
  isServed: ({ http, config }) =>
    config.eventStreaming && ![http.disable_threads, http.disable_runs, http.disable_event_streaming].includes(true),
  routes: (deps) => [eventsRoute(deps), commandsRoute(deps)],
  sockets: (deps) => [threadSocket(deps)],
  flag: 'event_streaming',
};
