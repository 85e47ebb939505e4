import type { Forwarded } from '../../http/callers/client.ts';
import { Type } from 'typebox';
import { NotFound } from '../../errors.ts';
import {
  answerJson,
  answerJsonText,
  answerSlowJsonText,
  answerEvents,
  type Reply,
  type Request,
  type SseEvent,
} from '../../http/routes/route.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import { isUnfinished, RunCreate, type Run } from '../../schema/agent/run.ts';
import {
  formatEventId,
  START,
  STREAM_MODES,
  type Cursor,
} from '../../schema/agent/stream-event.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import { type AgentCall, askPermission, permitAccess, type AgentCaller } from '../auth/caller.ts';
import type { Patterns } from '../db/base/permits.ts';
import { getRun, selectActive, type RunProgress } from '../db/runs/runs.ts';
import { readIdempotencyKey, type RequestKey } from '../kernel/request-key.ts';
import { cancelRuns, type CancelDeps } from '../runs/executing/cancel.ts';
import { createRunOnce, type CreateDeps, type CreatedRun } from '../runs/making/create-run.ts';
import type { FollowedRun, Readers } from '../runs/reading/readers.ts';
import type { Following, Subscription } from '../stream/bus.ts';
import type { WantedEvents } from '../stream/wanted.ts';
import { readLastEventId, parseStreamModes } from './stream-query.ts';

/*
 * This file answers runs: at once, at their end, or as they happen. It does so alike for runs on a given thread and on
 * one of their own.
 */

export type RunRouteDeps = CreateDeps &
  CancelDeps & {
    readers: Readers;
    requests: {
      /** The path before all others of this server, without a slash at its end. */
      below: string;
    };
  };

/** The description that all routes which start one run share. */
export const startingOneRun = {
  access: 'write',
  headers: OnceHeaders,
  body: RunCreate,
  starts: () => 1,
} as const;

/** How a client that leaves stops its run: on the threads that it may change. Undefined where the run goes on. */
type Leaving = { permitted: Patterns } | undefined;

/** When the answer is sent: at once, at the end of the run, or as events of it come. */
type Answer = 'runs' | 'runs/wait' | 'runs/stream';
type Target = {
  threadId: string | undefined;
  request: AgentCall;
};

const buildRunPath = (
  run: { thread_id: string; run_id: string },
  threadId: string | undefined,
): string =>
  threadId === undefined ? `/runs/${run.run_id}` : `/threads/${run.thread_id}/runs/${run.run_id}`;

const readKey = (
  route: Answer,
  body: RunCreate,
  { threadId, request }: Target,
): RequestKey | undefined =>
  readIdempotencyKey(request.headers, { identity: request.caller.identity, route, threadId }, body);

/** Makes a run and answers with it at once. */
export async function answerRun(
  deps: RunRouteDeps,
  body: RunCreate,
  { threadId, request }: Target,
): Promise<Reply> {
  const key = readKey('runs', body, { threadId, request });
  const { run } = await createRunOnce(deps, { body, threadId, call: request, key });
  return answerJson(
    run,
    200,
    runLinks(request, deps.requests.below, { run: buildRunPath(run, threadId) }),
  );
}

/** Makes a run and answers with its final state. */
export async function answerEnd(
  deps: RunRouteDeps,
  body: RunCreate,
  { threadId, request }: Target,
): Promise<Reply> {
  const key = readKey('runs/wait', body, { threadId, request });
  const follow = { signal: request.signal, hears: 'end' } as const;
  const { run, subscription, before } = await createRunOnce(
    deps,
    { body, threadId, call: request, key },
    { follow },
  );
  const path = `/threads/${run.thread_id}/runs/${run.run_id}`;
  const awaited = { subscription: subscription!, leaving: decideLeaving(body), before };
  const links = runLinks(request, deps.requests.below, { run: path, again: `${path}/join` });
  return answerSlowJsonText(() => waitForState(deps, run, awaited), links);
}

/** Makes a run and streams its events. */
export async function answerStream(
  deps: RunRouteDeps,
  body: RunCreate,
  { threadId, request, namespaces }: Target & { namespaces: string[] | undefined },
): Promise<Reply> {
  const { signal } = request;
  const key = readKey('runs/stream', body, { threadId, request });
  const created = await createRunOnce(
    deps,
    { body, threadId, call: request, key },
    { follow: { signal, hears: 'events' } },
  );
  const { run_id } = created.run;
  const path = buildRunPath(created.run, threadId);
  const { from, events } = await readEvents(deps, created, { modes: undefined, namespaces });
  const ended = created.before !== undefined && !isUnfinished(created.before.status);
  const shown = ended
    ? addResult(deps, events, { run: created.run, before: created.before!, namespaces })
    : events;
  return answerEvents(
    () => streamUntilLeft(deps, shown, { run_id, leaving: decideLeaving(body), signal }),
    {
      headers: runLinks(request, deps.requests.below, { run: path, again: `${path}/stream` }),
      idsFrom: formatEventId(from),
    },
  );
}

/** Returns the events of a followed run from its start; of one that was made before, those that can still be had. */
async function readEvents(
  { readers }: RunRouteDeps,
  { run, before, ...made }: CreatedRun,
  wanted: WantedEvents,
): Promise<{ from: Cursor; events: AsyncGenerator<SseEvent[]> }> {
  const subscription = made.subscription!;
  if (before === undefined)
    return {
      from: START,
      events: readers.readEventsFromStart({ run_id: run.run_id, subscription, wanted }),
    };
  return readers.readEventsAfter(
    before.resumable ? START : undefined,
    { progress: before, subscription },
    wanted,
  );
}

/** Yields the kept events of a run that ended before they were asked for; where there are none, one with its result. */
async function* addResult(
  { readers }: RunRouteDeps,
  events: AsyncGenerator<SseEvent[]>,
  { run, before, namespaces }: { run: Run; before: RunProgress; namespaces: string[] | undefined },
): AsyncGenerator<SseEvent[]> {
  let isEmpty = true;
  for await (const some of events) {
    isEmpty = false;
    yield some;
  }
  if (!isEmpty || namespaces?.includes('') === false) return;
  if (before.error !== null) yield [{ event: 'error', json: JSON.stringify(before.error) }];
  else yield [{ event: 'values', json: await readers.loadFinalState(run) }];
}

/** Returns how the caller that starts a run leaves it: the right to start it covers that of stopping it so. */
const decideLeaving = ({ on_disconnect }: RunCreate): Leaving =>
  on_disconnect === 'cancel' ? { permitted: undefined } : undefined;

const stopLeft = (
  deps: CancelDeps,
  run_id: string,
  { permitted }: NonNullable<Leaving>,
): Promise<number> =>
  cancelRuns(deps, (tx) => selectActive(tx, { run_ids: [run_id], permitted }), 'interrupt');

/**
 * Waits for the final state of a followed run. A client that leaves gets nothing, and thereby stops the run if it asked
 * for that.
 */
async function waitForState(
  deps: RunRouteDeps,
  run: { run_id: string; thread_id: string },
  {
    subscription,
    leaving,
    before,
  }: {
    subscription: Subscription;
    leaving: Leaving;
    /** Where the run stood when it was followed, if it was made before. */
    before: RunProgress | undefined;
  },
): Promise<JsonText> {
  if (before !== undefined && !isUnfinished(before.status)) {
    subscription.close();
    return deps.readers.loadFinalState(run);
  }
  const ended = await deps.readers.waitForEnd(run, subscription);
  if (ended !== undefined) return ended.state;
  if (leaving !== undefined) await stopLeft(deps, run.run_id, leaving);
  return '{}';
}

/** Yields the events. A client that leaves stops the run if it asked for that. */
async function* streamUntilLeft<T>(
  deps: CancelDeps,
  events: AsyncGenerator<T>,
  { run_id, leaving, signal }: { run_id: string; leaving: Leaving; signal: AbortSignal },
): AsyncGenerator<T> {
  try {
    yield* events;
  } finally {
    if (leaving !== undefined && signal.aborted) await stopLeft(deps, run_id, leaving);
  }
}

type Join = {
  runId: string;
  threadId: string | undefined;
  caller: AgentCaller;
  headers: Request['headers'];
  forwarded: Request['forwarded'];
  signal: AbortSignal;
  query: { cancel_on_disconnect?: boolean; stream_mode?: string[]; namespace?: string[] };
};

/** Follows a run that the caller can see. Throws `NotFound`, also for one that is being rolled back. */
async function joinRun(
  { db, readers }: RunRouteDeps,
  { caller, ...run }: Pick<Join, 'runId' | 'threadId' | 'caller'>,
  following: Following,
): Promise<FollowedRun> {
  const { permits } = await askPermission(caller, 'threads:read', {
    thread_id: run.threadId ?? null,
    run_id: run.runId,
  });
  if (permits !== undefined && (await getRun(db, run.threadId, run.runId, permits)) === undefined)
    throw new NotFound(`Run with ID ${run.runId} not found`);
  const followed = await readers.followRun(run, following);
  if (!followed.progress.gone) return followed;
  followed.subscription.close();
  throw new NotFound(`Run with ID ${run.runId} not found`);
}

/**
 * Returns how a reader of a run leaves it. Stopping the run requires the rights of its cancel route: a credential that
 * may write, and leave for `threads:update`. Throws the refusal before anything is followed.
 */
async function permitLeaving({
  caller,
  query,
  threadId,
  runId,
}: Pick<Join, 'caller' | 'query' | 'threadId' | 'runId'>): Promise<Leaving> {
  if (query.cancel_on_disconnect !== true) return undefined;
  permitAccess(caller, 'write');
  const asked = { thread_id: threadId ?? null, run_id: runId, metadata: {}, action: 'interrupt' };
  return { permitted: (await askPermission(caller, 'threads:update', asked)).permits };
}

/** Answers with the final state of a run that was made before. */
export async function answerJoin(
  deps: RunRouteDeps,
  { runId, threadId, caller, signal, query }: Omit<Join, 'headers' | 'forwarded'>,
): Promise<Reply> {
  const leaving = await permitLeaving({ caller, query, threadId, runId });
  const { progress: before, subscription } = await joinRun(
    deps,
    { runId, threadId, caller },
    { signal, hears: 'end' },
  );
  const waitForOwnState = (): Promise<JsonText> =>
    waitForState(deps, before, { subscription, leaving, before });
  return isUnfinished(before.status)
    ? answerSlowJsonText(waitForOwnState)
    : answerJsonText(await waitForOwnState());
}

/** Streams the events of a run that was made before, from now on or from an event on. */
export async function answerJoinStream(
  deps: RunRouteDeps,
  { runId, threadId, query, ...request }: Join,
): Promise<Reply> {
  const { caller, headers, signal } = request;
  const wanted = {
    modes: parseStreamModes(query.stream_mode, { field: 'stream_mode', modes: STREAM_MODES }),
    namespaces: query.namespace,
  };
  const leaving = await permitLeaving({ caller, query, threadId, runId });
  const followed = await joinRun(deps, { runId, threadId, caller }, { signal, hears: 'events' });
  const { from, events } = await deps.readers.readEventsAfter(
    readCursor(followed, headers),
    followed,
    wanted,
  );
  return answerEvents(() => streamUntilLeft(deps, events, { run_id: runId, leaving, signal }), {
    headers: runLinks(request, deps.requests.below, {
      run: `/threads/${followed.progress.thread_id}/runs/${runId}`,
    }),
    idsFrom: formatEventId(from),
  });
}

/**
 * Returns how far a client has read a followed run. Clients send the last id that they saw when they reconnect, also
 * where nothing of the run is kept to go on from; there it means nothing. Throws `Invalid`.
 */
function readCursor(
  { progress, subscription }: FollowedRun,
  headers: Request['headers'],
): Cursor | undefined {
  if (!progress.resumable) return undefined;
  try {
    return readLastEventId(headers);
  } catch (error) {
    subscription.close();
    throw error;
  }
}

export const AnyState = Type.Unsafe<unknown>({});
const Message = Type.Object({
  event: Type.String(),
  data: Type.String({ description: 'JSON.' }),
  id: Type.String({ description: '<milliseconds>-<number>, increasing.' }),
});
export const eventStream = {
  200: { description: 'Events of the run.', contentType: 'text/event-stream', schema: Message },
};

/**
 * Returns the headers that tell where a run is, and where its answer is read again, by their paths below this server's
 * address. `below`: the path before all others of the server.
 */
function runLinks(
  { forwarded }: { forwarded: Forwarded },
  below: string,
  { run, again }: { run: string; again?: string },
): Record<string, string> {
  // A trusted proxy names the path that it has taken from the request.
  const prefix = (forwarded.prefix ?? '') + below;
  return {
    'content-location': prefix + run,
    ...(again !== undefined && { location: `${buildPathOut(prefix)}${prefix}${again}` }),
  };
}

/**
 * Returns the way out of a prefix. The official clients append `Location` to the address that they were given, which
 * ends with the prefix, and everybody else resolves it against the host. With this way before it, both arrive at the
 * same path.
 */
const buildPathOut = (prefix: string): string => '/..'.repeat(prefix.split('/').length - 1);
