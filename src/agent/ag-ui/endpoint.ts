import { NotFound, Rejected, Unavailable } from '../../errors.ts';
import {
  answerJson,
  answerEvents,
  type Reply,
  type Request,
  type SseDialect,
  type SseEvent,
} from '../../http/route.ts';
import { AG_UI_MAJOR, type RunAgentInput, type StopAgentRun } from '../../schema/agent/ag-ui.ts';
import { isObject, type Json } from '../../schema/json.ts';
import { isUnfinished, type Run, type RunCreate } from '../../schema/agent/run.ts';
import { parseCursor, START, type Cursor } from '../../schema/agent/stream-event.ts';
import type { Thread } from '../../schema/agent/thread.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { listRuns, runProgress, selectActive } from '../db/runs/runs.ts';
import { getThread, loadThreadHead } from '../db/threads/threads.ts';
import { GraphInputs } from '../graph-types/graph-inputs.ts';
import type { PinnedThread } from '../graphs/pinned-calls.ts';
import { resolveAssistantId, isUuid, buildNamedId } from '../kernel/ids.ts';
import { buildContentKey, readIdempotencyKey, type RequestKey } from '../kernel/request-key.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { cancelRuns, type CancelDeps } from '../runs/cancel.ts';
import {
  announceProtocolRun,
  createRun,
  type CreateDeps,
  type CreatedRun,
} from '../runs/create.ts';
import type { Wanted } from '../stream/wanted.ts';
import type { AgUiEvent, RunOutcome } from './events.ts';
import { AgUiFold, type ClientView } from './fold.ts';
import { readPageState } from './page-state.ts';
import { planMessages, planPageFields, planState, readFields } from './input.ts';
import { buildInterrupts, buildResumedRun, readQuestions } from './interrupts.ts';
import {
  buildClientMessage,
  buildToolMessageId,
  readMessages,
  type ClientMessage,
  readString,
} from './messages.ts';

/* AG-UI: runs whose events are those of event streaming, folded for each reader into the events of AG-UI. */

export type AgUiDeps = CreateDeps &
  CancelDeps &
  Pick<AgentDeps, 'db' | 'graphs' | 'host' | 'typedSchemas' | 'pinnedCalls' | 'readers' | 'log'>;

type AgUiRequest = Pick<
  Request<unknown, unknown, unknown, AgentCaller>,
  'requestId' | 'headers' | 'forwarded' | 'caller' | 'signal'
>;

/** The namespace of the ids of threads that clients name by a text that is no UUID. */
const THREADS = '9d2b1c2e-7c9e-5f0e-8f5b-3a7b6f1d2c40';

const PROTOCOL_EVENTS: Wanted = { modes: undefined, namespaces: undefined, protocol: true };

const fail = (code: string, message: string): SseEvent =>
  toMessage({ type: 'RUN_ERROR', message, code });

const toMessage = (event: AgUiEvent, id?: string): SseEvent => ({
  event: event.type,
  data: event,
  ...(id !== undefined && { id }),
});

/** Clients of AG-UI reject carriage returns, and frames without a type. */
const AG_UI_DIALECT: SseDialect = {
  newline: '\n',
  names: false,
  writeFailure: (sentence) => fail('unavailable', sentence),
  lostRight: fail('unauthorized', 'The credentials of this stream are no longer valid.'),
};

export type RunQuery = {
  on_disconnect?: 'cancel' | 'continue';
  multitask_strategy?: RunCreate['multitask_strategy'];
  assistant_version?: number;
};

/** A thread as a request names it, and as it is; `thread` is undefined where it is not there yet. */
type AskedThread = { threadId: string; thread: Thread | undefined };

export class AgUiEndpoint {
  readonly #deps: AgUiDeps;
  readonly #inputs: GraphInputs;

  constructor(deps: AgUiDeps) {
    this.#deps = deps;
    this.#inputs = new GraphInputs(deps);
  }

  /** Makes the run that the input asks for, or asks the thread's questions again, and streams the events. */
  async run(
    assistant: string,
    input: RunAgentInput,
    query: RunQuery,
    request: AgUiRequest,
  ): Promise<Reply> {
    checkVersion(input);
    const asked = await this.#findThread(input.threadId, request.caller);
    const resumed = this.#planResume(input, asked.thread);
    if (asked.thread?.status === 'interrupted' && resumed === undefined)
      return this.#answer(this.#streamSnapshot(input, asked));
    const body = await this.#planRun(assistant, input, { ...asked, resumed, query });
    const follow = { signal: request.signal, hears: 'events' } as const;
    const key = buildKey(assistant, input, request);
    const facts = {
      threadId: asked.threadId,
      request: { ...request, configurable: body.configurable },
      key,
      follow,
      protocol: true,
    } as const;
    const created = await createRun(this.#deps, body.run, facts);
    announceProtocolRun(this.#deps, created);
    const view = buildView(input);
    const leaves = query.on_disconnect !== 'continue';
    return this.#answer(this.#streamRun(created, view, { signal: request.signal, leaves }), {
      'content-location': `/threads/${created.run.thread_id}/runs/${created.run.run_id}`,
    });
  }

  /** Streams where the thread stands, and the rest of a run under way. Starts none. */
  async connect(input: RunAgentInput, request: AgUiRequest): Promise<Reply> {
    checkVersion(input);
    const asked = await this.#findThread(input.threadId, request.caller);
    const [last] =
      asked.thread === undefined
        ? []
        : await listRuns(this.#deps.db, asked.threadId, { limit: 1, offset: 0 });
    if (last === undefined || !isUnfinished(last.status))
      return this.#answer(this.#streamSnapshot(input, asked));
    const cursor = parseCursor(
      String(request.headers['last-event-id'] ?? '').replace(/\.\d+$/, ''),
    );
    return this.#answer(this.#joinRun(input, asked, { run: last, signal: request.signal, cursor }));
  }

  /** Stops the runs of the thread that are under way, or the one that the client names. */
  async stop({ threadId: given, runId }: StopAgentRun, { caller }: AgUiRequest): Promise<Reply> {
    const thread_id = toThreadId(given);
    const asked = { thread_id, run_id: null, metadata: {}, action: 'interrupt' as const };
    const { permits } = await askPermission(caller, 'threads:update', asked);
    const head = await loadThreadHead(this.#deps.db, thread_id, permits);
    if (head === undefined) throw new NotFound(`Thread with ID ${given} not found`);
    const named = runId ? await this.#findRuns(thread_id, runId) : undefined;
    const select =
      named === undefined
        ? { thread_id, permitted: permits }
        : { thread_id, run_ids: named, permitted: permits };
    const stopped = await cancelRuns(this.#deps, (tx) => selectActive(tx, select), 'interrupt');
    return answerJson({ stopped: stopped > 0 });
  }

  #answer(events: AsyncGenerator<SseEvent[]>, headers: Record<string, string> = {}): Reply {
    return answerEvents(() => events, { headers, dialect: AG_UI_DIALECT });
  }

  async #findRuns(threadId: string, runId: string): Promise<string[]> {
    const runs = await listRuns(this.#deps.db, threadId, { limit: 100, offset: 0 });
    return runs
      .filter(({ run_id, metadata }) => metadata['ag_ui_run_id'] === runId || run_id === runId)
      .map(({ run_id }) => run_id);
  }

  /** Throws `NotFound` for a thread that the caller may not see. */
  async #findThread(given: string, caller: AgentCaller): Promise<AskedThread> {
    const threadId = toThreadId(given);
    const { permits } = await askPermission(caller, 'threads:read', { thread_id: threadId });
    const thread = await getThread(this.#deps.db, threadId, permits);
    if (
      thread === undefined &&
      permits !== undefined &&
      (await loadThreadHead(this.#deps.db, threadId)) !== undefined
    )
      throw new NotFound(`Thread with ID ${given} not found`);
    return { threadId, thread };
  }

  /** Returns the run that answers the questions of the thread; undefined where the request answers none. */
  #planResume(
    { resume, forwardedProps }: RunAgentInput,
    thread: Thread | undefined,
  ): Pick<RunCreate, 'command' | 'input'> | undefined {
    if (thread?.status !== 'interrupted') return undefined;
    // Pages from before `resume` answer like this.
    const command = isObject(forwardedProps) ? forwardedProps['command'] : undefined;
    if (isObject(command) && 'resume' in command && !resume?.length)
      return { input: null, command: { resume: command['resume'] } };
    const resumed = buildResumedRun(resume ?? [], thread.interrupts);
    return resumed === undefined ? undefined : { input: null, ...resumed };
  }

  async #planRun(
    assistant: string,
    input: RunAgentInput,
    {
      threadId,
      thread,
      resumed,
      query,
    }: AskedThread & { resumed: Pick<RunCreate, 'command' | 'input'> | undefined; query: RunQuery },
  ): Promise<{ run: RunCreate; configurable: Json }> {
    const assistant_id = resolveAssistantId(assistant, this.#deps.graphs, 'path');
    const fields = this.#deps.graphs.includes(assistant)
      ? readFields(await this.#inputs.readSchema(assistant))
      : undefined;
    const page = planPageFields(input, fields);
    const props = isObject(input.forwardedProps) ? input.forwardedProps : {};
    const config =
      isObject(props['config']) && isObject(props['config']['configurable'])
        ? { configurable: props['config']['configurable'] }
        : null;
    const run: RunCreate = {
      assistant_id,
      ...(query.assistant_version !== undefined && { assistant_version: query.assistant_version }),
      config,
      context: isObject(props['context']) ? props['context'] : null,
      metadata: {
        ...(isObject(props['metadata']) ? props['metadata'] : {}),
        ag_ui_run_id: input.runId,
        ...(input.threadId.toLowerCase() !== threadId && { ag_ui_thread_id: input.threadId }),
      },
      if_not_exists: 'create',
      stream_resumable: true,
      stream_subgraphs: true,
      multitask_strategy: query.multitask_strategy ?? 'enqueue',
    };
    if (resumed !== undefined)
      return {
        run: { ...run, ...resumed, ...(resumed.command && { strict_resume: true }) },
        configurable: page.configurable,
      };
    const change = planMessages(input.messages, readMessages(thread?.values));
    const checkpoint_id =
      change.before === undefined
        ? undefined
        : await this.#findCheckpointBefore(thread!, change.before);
    const state = planState(input.state, thread?.values, fields);
    return {
      run: {
        ...run,
        input: { ...state, ...page.input, messages: change.messages },
        ...(checkpoint_id && { checkpoint_id }),
      },
      configurable: page.configurable,
    };
  }

  /** Returns the last checkpoint without a message that the thread has now. Throws `Rejected` where none is kept. */
  async #findCheckpointBefore({ thread_id }: Thread, messageId: string): Promise<string> {
    const head = await this.#readPinned(thread_id);
    let before: { configurable: { checkpoint_id: string } } | undefined;
    for (;;) {
      const { json: text } = await this.#deps.pinnedCalls.call(head, 'history', {
        limit: HISTORY_PAGE,
        ...(before && { before }),
      });
      const states = JSON.parse(text) as {
        values: unknown;
        checkpoint: { checkpoint_id?: string } | null;
      }[];
      const found = states.find(
        ({ values }) => !readMessages(values).some(({ id }) => id === messageId),
      );
      if (found?.checkpoint?.checkpoint_id) return found.checkpoint.checkpoint_id;
      const last = states.at(-1)?.checkpoint?.checkpoint_id;
      if (states.length < HISTORY_PAGE || last === undefined)
        throw new Rejected(
          'messages: the state before the message that was changed is no longer kept; start a new thread.',
        );
      before = { configurable: { checkpoint_id: last } };
    }
  }

  /** Returns the thread with the revision that answers calls about it. Throws `NotFound` for one without a state. */
  async #readPinned(threadId: string): Promise<PinnedThread> {
    const head = await loadThreadHead(this.#deps.db, threadId);
    if (head === undefined || head.graph_id === null)
      throw new NotFound(`Thread with ID ${threadId} not found`);
    return { ...head, graph_id: head.graph_id };
  }

  async *#streamRun(
    { run, subscription, before }: CreatedRun,
    view: ClientView,
    { signal, leaves }: { signal: AbortSignal; leaves: boolean },
  ): AsyncGenerator<SseEvent[]> {
    const fold = new AgUiFold(view);
    const { readers } = this.#deps;
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
      if (!signal.aborted) yield await this.#endRun(fold, run);
    } finally {
      if (leaves && signal.aborted)
        await cancelRuns(
          this.#deps,
          (tx) => selectActive(tx, { run_ids: [run.run_id] }),
          'interrupt',
        );
    }
  }

  /** Streams a run under way from its beginning, or from an event on, upon the state that the thread had before it. */
  async *#joinRun(
    input: RunAgentInput,
    { thread }: AskedThread,
    { run, signal, cursor }: { run: Run; signal: AbortSignal; cursor: Cursor | undefined },
  ): AsyncGenerator<SseEvent[]> {
    const { threadId } = input;
    const runId = readString(run.metadata['ag_ui_run_id']) || run.run_id;
    const messages = buildClientMessages(thread?.values, new Map());
    const fold = new AgUiFold({
      threadId,
      runId,
      state: readPageState(thread?.values),
      messages,
      isOld: isOldPeer(input),
    });
    const followed = await this.#deps.readers.followRun(
      { runId: run.run_id, threadId: run.thread_id },
      { signal, hears: 'events' },
    );
    const { events } = await this.#deps.readers.readEventsAfter(START, followed, PROTOCOL_EVENTS);
    yield [...fold.begin(), ...(cursor === undefined ? fold.buildSnapshot() : [])].map((event) =>
      toMessage(event),
    );
    yield* convertEvents(fold, events, cursor);
    if (!signal.aborted) yield await this.#endRun(fold, run);
  }

  async #endRun(
    fold: AgUiFold,
    { run_id, thread_id }: Pick<Run, 'run_id' | 'thread_id'>,
  ): Promise<SseEvent[]> {
    const [progress, thread] = await Promise.all([
      runProgress(this.#deps.db, run_id),
      getThread(this.#deps.db, thread_id),
    ]);
    if (progress === undefined || thread === undefined) throw new NotFound('The run was removed.');
    if (isUnfinished(progress.status))
      throw new Unavailable('The stream ended before the run did; connect to the thread again.');
    const outcome = await this.#readOutcome(progress, thread);
    return fold.end(outcome, thread.values ?? {}).map((event) => toMessage(event));
  }

  async #readOutcome(
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
    return { type: 'interrupt', interrupts: await this.#readInterrupts(thread) };
  }

  async #readInterrupts({ thread_id, values, interrupts }: Thread): Promise<Json[]> {
    const messages = readMessages(values);
    if (readQuestions(interrupts).length > 0)
      return buildInterrupts(interrupts, { messages, next: [] });
    const { json: text } = await this.#deps.pinnedCalls.call(
      await this.#readPinned(thread_id),
      'state',
      { checkpoint: null },
    );
    const { next } = JSON.parse(text) as { next: string[] };
    return buildInterrupts(interrupts, { messages, next });
  }

  /** Tells where a thread stands that no run is under way on. */
  async *#streamSnapshot(
    input: RunAgentInput,
    { threadId, thread }: AskedThread,
  ): AsyncGenerator<SseEvent[]> {
    const view = {
      ...buildView(input),
      state: readPageState(thread?.values),
      messages: buildClientMessages(thread?.values, readOwnAnswers(input)),
    };
    const fold = new AgUiFold(view);
    const sent = thread === undefined ? [] : fold.buildSnapshot();
    const [last] =
      thread === undefined ? [] : await listRuns(this.#deps.db, threadId, { limit: 1, offset: 0 });
    const progress = last && (await runProgress(this.#deps.db, last.run_id));
    const outcome: RunOutcome =
      progress && thread ? await this.#readOutcome(progress, thread) : { type: 'success' };
    yield [...fold.begin(), ...sent, ...fold.end(outcome, thread?.values ?? {})].map((event) =>
      toMessage(event),
    );
  }
}

/** States of a thread that are read at a time. */
const HISTORY_PAGE = 50;

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

const toThreadId = (given: string): string =>
  isUuid(given) ? given.toLowerCase() : buildNamedId(THREADS, given);

/** Returns whether the client speaks a version from before 1.0, which names none. */
const isOldPeer = ({ protocolVersion }: RunAgentInput): boolean => !protocolVersion;

function checkVersion({ protocolVersion }: RunAgentInput): void {
  if (!protocolVersion || protocolVersion.split('.')[0] === AG_UI_MAJOR) return;
  throw new Rejected(
    `protocolVersion: ${protocolVersion} is not served; this server speaks AG-UI ${AG_UI_MAJOR}.x.`,
  );
}

/** Returns the key by which a request is known that comes again: by its header, or by all that it says. */
function buildKey(
  assistant: string,
  input: RunAgentInput,
  { headers, caller }: AgUiRequest,
): RequestKey {
  const { threadId, runId, resume, messages } = input;
  const asks = [
    assistant,
    threadId,
    runId,
    resume ?? [],
    messages.map(({ id }) => id),
    messages.at(-1)?.content ?? null,
  ];
  const scope = { identity: caller.identity, route: 'ag-ui' };
  return readIdempotencyKey(headers, scope, asks) ?? buildContentKey(scope, asks);
}

const readOwnAnswers = ({ messages }: RunAgentInput): ReadonlyMap<string, string> =>
  new Map(
    messages.flatMap(({ role, toolCallId, id }): [string, string][] =>
      role === 'tool' && toolCallId ? [[toolCallId, id]] : [],
    ),
  );

/** Returns the client's view before the run, as far as the stream depends on it. */
function buildView(input: RunAgentInput): ClientView {
  const { threadId, runId, state, messages } = input;
  const shown = messages.map((message): ClientMessage => {
    const { id, role, content, toolCalls, toolCallId, name } = message;
    return {
      id,
      role: role === 'developer' ? 'system' : role,
      ...(content !== undefined && content !== null && { content }),
      ...(toolCalls?.length && { toolCalls }),
      ...(toolCallId && { toolCallId }),
      ...(name && { name }),
    };
  });
  return { threadId, runId, state: state ?? {}, messages: shown, isOld: isOldPeer(input) };
}

const buildClientMessages = (
  values: unknown,
  ownAnswers: ReadonlyMap<string, string>,
): ClientMessage[] =>
  readMessages(values).flatMap(
    (message) =>
      buildClientMessage(
        message,
        (callId) => ownAnswers.get(callId) ?? buildToolMessageId(callId),
      ) ?? [],
  );
