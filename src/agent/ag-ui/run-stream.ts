import { NotFound, Unavailable } from '../../errors.ts';
import type { SseDialect, SseEvent } from '../../http/routes/route.ts';
import type { RunAgentInput } from '../../schema/agent/ag-ui.ts';
import { isUnfinished, type Run } from '../../schema/agent/run.ts';
import { START, type Cursor } from '../../schema/agent/stream-event.ts';
import type { Thread } from '../../schema/agent/thread.ts';
import type { Json } from '../../schema/json.ts';
import { listRuns, runProgress, selectActive } from '../db/runs/runs.ts';
import { getThread } from '../db/threads/threads.ts';
import { cancelRuns } from '../runs/executing/cancel.ts';
import type { CreatedRun } from '../runs/making/create-run.ts';
import type { WantedEvents } from '../stream/wanted.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { NamedThread } from './pinned-thread.ts';
import { loadThreadState } from './pinned-thread.ts';
import type { AgUiEvent, RunOutcome } from './events.ts';
import { AgUiFold, type ClientView } from './fold.ts';
import { buildInterrupts } from './interrupts.ts';
import { listInterruptQuestions } from '../runs/making/asked.ts';
import {
  buildClientMessages,
  buildToolMessageId,
  mapOwnAnswers,
  readMessages,
  readString,
  type ClientMessage,
} from './messages.ts';
import { readPageState } from './page-state.ts';

/* Streams whose events are those of event streaming, folded for each reader into the events of AG-UI. */

const PROTOCOL_EVENTS: WantedEvents = { modes: undefined, namespaces: undefined, protocol: true };

const fail = (code: string, message: string): SseEvent =>
  toMessage({ type: 'RUN_ERROR', message, code });

const toMessage = (event: AgUiEvent, id?: string): SseEvent => ({
  event: event.type,
  data: event,
  ...(id !== undefined && { id }),
});

/** Clients of AG-UI reject carriage returns, and frames without a type. */
export const AG_UI_DIALECT: SseDialect = {
  newline: '\n',
  names: false,
  writeFailure: (sentence) => fail('unavailable', sentence),
  lostRight: fail('unauthorized', 'The credentials of this stream are no longer valid.'),
};

/** Streams a new run from its beginning. Where `leaves`, a client that goes stops it. */
export async function* streamRun(
  deps: AgentDeps,
  { run, subscription, before }: CreatedRun,
  view: ClientView,
  { signal, leaves }: { signal: AbortSignal; leaves: boolean },
): AsyncGenerator<SseEvent[]> {
  const fold = new AgUiFold(view);
  const { readers } = deps;
  try {
    yield fold.begin().map((event) => toMessage(event));
    const reading = { run_id: run.run_id, subscription: subscription!, wanted: PROTOCOL_EVENTS };
    const events =
      before === undefined
        ? readers.readEventsFromStart(reading)
        : (
            await readers.readEventsAfter(
              START,
              { progress: before, subscription: subscription! },
              PROTOCOL_EVENTS,
            )
          ).events;
    yield* convertEvents(fold, events);
    if (!signal.aborted) yield await endRun(deps, fold, run);
  } finally {
    if (leaves && signal.aborted)
      await cancelRuns(deps, (tx) => selectActive(tx, { run_ids: [run.run_id] }), 'interrupt');
  }
}

/** Streams a run under way from its beginning, or from an event on, upon the state that the thread had before it. */
export async function* joinRun(
  deps: AgentDeps,
  input: RunAgentInput,
  { thread }: NamedThread,
  { run, signal, cursor }: { run: Run; signal: AbortSignal; cursor: Cursor | undefined },
): AsyncGenerator<SseEvent[]> {
  const view = buildView(input);
  const fold = new AgUiFold({
    ...view,
    runId: readString(run.metadata['ag_ui_run_id']) || run.run_id,
    state: readPageState(thread?.values),
    messages: buildMessagesFor(thread?.values, input),
  });
  const followed = await deps.readers.followRun(
    { runId: run.run_id, threadId: run.thread_id },
    { signal, hears: 'events' },
  );
  const { events } = await deps.readers.readEventsAfter(START, followed, PROTOCOL_EVENTS);
  yield [...fold.begin(), ...(cursor === undefined ? fold.buildSnapshot(view.messages) : [])].map(
    (event) => toMessage(event),
  );
  yield* convertEvents(fold, events, cursor);
  if (!signal.aborted) yield await endRun(deps, fold, run);
}

async function endRun(
  deps: AgentDeps,
  fold: AgUiFold,
  { run_id, thread_id }: Run,
): Promise<SseEvent[]> {
  const [progress, thread] = await Promise.all([
    runProgress(deps.db, run_id),
    getThread(deps.db, thread_id),
  ]);
  if (progress === undefined || thread === undefined) throw new NotFound('The run was removed.');
  if (isUnfinished(progress.status))
    throw new Unavailable('The stream ended before the run did; connect to the thread again.');
  const outcome = await readOutcome(deps, progress, thread);
  // A graph that waits has the results of the other tasks of its step, which the thread's row has not.
  const values =
    outcome.type === 'interrupt' && fold.isWrong(thread.values)
      ? (await loadThreadState(deps, thread_id)).values
      : thread.values;
  return fold.end(outcome, values ?? {}).map((event) => toMessage(event));
}

async function readOutcome(
  deps: AgentDeps,
  { status, error }: Pick<Run, 'status'> & { error: { error: string; message: string } | null },
  thread: Thread,
): Promise<RunOutcome> {
  if (status === 'error')
    return {
      type: 'error',
      message: error?.message ?? 'The run failed.',
      code: error?.error ?? 'error',
    };
  if (status === 'interrupted') return { type: 'cancelled' };
  if (thread.status !== 'interrupted') return { type: 'success' };
  return { type: 'interrupt', interrupts: await readInterrupts(deps, thread) };
}

async function readInterrupts(
  deps: AgentDeps,
  { thread_id, values, interrupts }: Thread,
): Promise<Json[]> {
  const messages = readMessages(values);
  if (listInterruptQuestions(interrupts).length > 0)
    return buildInterrupts(interrupts, { messages, next: [] });
  const { next } = await loadThreadState(deps, thread_id);
  return buildInterrupts(interrupts, { messages, next });
}

/** Streams where a thread stands that no run is under way on. */
export async function* streamSnapshot(
  deps: AgentDeps,
  input: RunAgentInput,
  { threadId, thread }: NamedThread,
): AsyncGenerator<SseEvent[]> {
  const [last] =
    thread === undefined ? [] : await listRuns(deps.db, threadId, { limit: 1, offset: 0 });
  const progress = last && (await runProgress(deps.db, last.run_id));
  const outcome: RunOutcome =
    progress && thread ? await readOutcome(deps, progress, thread) : { type: 'success' };
  const values =
    outcome.type === 'interrupt' ? (await loadThreadState(deps, threadId)).values : thread?.values;
  const view = buildView(input);
  const fold = new AgUiFold({
    ...view,
    state: readPageState(values),
    messages: buildMessagesFor(values, input),
  });
  const sent = thread === undefined ? [] : fold.buildSnapshot(view.messages);
  yield [...fold.begin(), ...sent, ...fold.end(outcome, values ?? {})].map((event) =>
    toMessage(event),
  );
}

async function* convertEvents(
  fold: AgUiFold,
  events: AsyncIterable<SseEvent[]>,
  after?: Cursor,
): AsyncGenerator<SseEvent[]> {
  for await (const batch of events) {
    const sent = batch.flatMap(({ event, id = '', ...data }) => {
      const folded = fold.take(event, 'json' in data ? data.json : JSON.stringify(data.data));
      const [ms = 0, seq = 0] = id.split('-').map(Number);
      if (after !== undefined && (ms < after.ms || (ms === after.ms && seq <= after.seq)))
        return [];
      return folded.map((one, at) => toMessage(one, `${id}.${at}`));
    });
    if (sent.length > 0) yield sent;
  }
}

/** Returns whether the client speaks a version from before 1.0, which names none. */
const isOldPeer = ({ protocolVersion }: RunAgentInput): boolean => !protocolVersion;

/** Returns the client's view before the run, as far as the stream depends on it. */
export function buildView(input: RunAgentInput): ClientView {
  const { threadId, runId, state, messages } = input;
  const shown = messages.map((message): ClientMessage => {
    const { id, role, content, toolCalls, toolCallId, name, subagentRunId } = message;
    return {
      id,
      role: role === 'developer' ? 'system' : role,
      ...(content !== undefined && content !== null && { content }),
      ...(toolCalls?.length && { toolCalls }),
      ...(toolCallId && { toolCallId }),
      ...(name && { name }),
      ...(subagentRunId && { subagentRunId }),
    };
  });
  return { threadId, runId, state: state ?? {}, messages: shown, isOld: isOldPeer(input) };
}

/** Returns the messages of a state as the client gets them, which has ids of its own for the answers that it gave. */
function buildMessagesFor(values: unknown, input: RunAgentInput): ClientMessage[] {
  const own = mapOwnAnswers(input.messages);
  return buildClientMessages(values, {
    getAnswerId: (callId) => own.get(callId) ?? buildToolMessageId(callId),
    isOld: isOldPeer(input),
  });
}
