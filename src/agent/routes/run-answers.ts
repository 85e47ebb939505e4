import { Type } from 'typebox';
import { json, slowJson, sse, type Reply, type Request } from '../../http/route.ts';
import { isSet } from '../../schema/agent-types.ts';
import type { RunCreate } from '../../schema/run.ts';
import { STREAM_MODES } from '../../schema/stream-event.ts';
import { lastEvent } from '../db/events.ts';
import { selectActive } from '../db/runs.ts';
import type { AgentDeps } from '../deps.ts';
import { cancelRuns } from '../runs/cancel.ts';
import { createRun } from '../runs/create.ts';
import { isUnfinished } from '../runs/status.ts';
import { follow, resultOf, waitForEnd } from '../runs/wait.ts';
import { readRun } from '../stream/outbox.ts';
import { cursorOf, modesOf } from './stream-query.ts';

/* How a run is answered: at once, at its end, or as it happens; alike for runs on a given thread and on one of their own. */

type Target = { threadId: string | undefined; request: Pick<Request, 'requestId' | 'headers' | 'signal'> };

const pathOf = (run: { thread_id: string; run_id: string }, threadId: string | undefined): string =>
  threadId === undefined ? `/runs/${run.run_id}` : `/threads/${run.thread_id}/runs/${run.run_id}`;

export async function answerRun(deps: AgentDeps, body: RunCreate, target: Target): Promise<Reply> {
  const { run } = await createRun(deps, body, { ...target, caller: target.request, follow: undefined });
  return json(run, 200, { 'content-location': pathOf(run, target.threadId) });
}

export async function answerEnd(deps: AgentDeps, body: RunCreate, { threadId, request }: Target): Promise<Reply> {
  const { run, subscription } = await createRun(deps, body, { threadId, caller: request, follow: request.signal });
  const path = `/threads/${run.thread_id}/runs/${run.run_id}`;
  const body_ = (): Promise<unknown> => waitForEnd(deps, { ...run, subscription: subscription!, cancel: body.on_disconnect === 'cancel' });
  return slowJson(body_, { 'content-location': path, location: `${path}/join` });
}

type StreamTarget = Target & { namespaces: string[] | undefined };

export async function answerStream(deps: AgentDeps, body: RunCreate, { threadId, request, namespaces }: StreamTarget): Promise<Reply> {
  const { signal } = request;
  const { run, subscription } = await createRun(deps, body, { threadId, caller: request, follow: signal });
  const path = pathOf(run, threadId);
  const resumable = body.stream_resumable === true;
  const reading = {
    run_id: run.run_id,
    subscription: subscription!,
    from: { ms: 0, seq: 0 },
    resumable,
    replay: false,
    ended: false,
    wanted: { modes: undefined, namespaces },
  };
  const events = stopping(deps, readRun(deps, reading), {
    run_id: run.run_id,
    cancel: body.on_disconnect === 'cancel',
    signal,
  });
  return sse(() => events, { 'content-location': path, location: `${path}/stream` });
}

/** The events; a client that leaves stops the run when it asked for that. */
async function* stopping<T>(
  deps: AgentDeps,
  events: AsyncGenerator<T>,
  { run_id, cancel, signal }: { run_id: string; cancel: boolean; signal: AbortSignal },
): AsyncGenerator<T> {
  try {
    yield* events;
  } finally {
    if (cancel && signal.aborted) await cancelRuns(deps, (tx) => selectActive(tx, { run_ids: [run_id] }), 'interrupt');
  }
}

type Join = {
  runId: string;
  threadId: string | undefined;
  headers: Request['headers'];
  signal: AbortSignal;
  query: { cancel_on_disconnect?: string; stream_mode?: string[]; namespace?: string[] };
};

export async function answerJoin(deps: AgentDeps, { runId, threadId, signal, query }: Omit<Join, 'headers'>): Promise<Reply> {
  const { progress, subscription } = await follow(deps, { runId, threadId }, signal);
  if (!isUnfinished(progress.status)) {
    subscription.close();
    return json(await resultOf(deps, { ...progress, outcome: undefined }));
  }
  return slowJson(() => waitForEnd(deps, { ...progress, subscription, cancel: isSet(query.cancel_on_disconnect) }));
}

export async function answerJoinStream(deps: AgentDeps, { runId, threadId, headers, signal, query }: Join): Promise<Reply> {
  const wanted = { modes: modesOf(query.stream_mode, { field: 'stream_mode', modes: STREAM_MODES }), namespaces: query.namespace };
  const cursor = cursorOf(headers);
  const { progress, subscription } = await follow(deps, { runId, threadId }, signal);
  const ended = !isUnfinished(progress.status);
  const from = cursor ?? (await lastEvent(deps.db, runId)) ?? { ms: 0, seq: 0 };
  const reading = { run_id: runId, subscription, from, replay: cursor !== undefined, ended, resumable: progress.resumable, wanted };
  const cancel = isSet(query.cancel_on_disconnect);
  const events = stopping(deps, readRun(deps, reading), { run_id: runId, cancel, signal });
  return sse(() => events, { 'content-location': `/threads/${progress.thread_id}/runs/${runId}` });
}

export const AnyState = Type.Unsafe<unknown>({});
const Message = Type.Object({ event: Type.String(), data: Type.String({ description: 'JSON.' }), id: Type.Optional(Type.String()) });
export const eventStream = { 200: { description: 'Events of the run.', contentType: 'text/event-stream', schema: Message } };
