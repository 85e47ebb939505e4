import { NotFound, Rejected } from '../../errors.ts';
import {
  answerEvents,
  answerJson,
  type Reply,
  type Request,
  type SseEvent,
} from '../../http/routes/route.ts';
import { AG_UI_MAJOR, type RunAgentInput, type StopAgentRun } from '../../schema/agent/ag-ui.ts';
import { isUnfinished } from '../../schema/agent/run.ts';
import { parseCursor } from '../../schema/agent/stream-event.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { listRuns, selectActive } from '../db/runs/runs.ts';
import { getThread, loadRunCount, loadThreadHead } from '../db/threads/threads.ts';
import { GraphInputs } from '../graph-types/graph-inputs.ts';
import { buildNamedId, isUuid } from '../kernel/ids.ts';
import {
  buildContentKey,
  readIdempotencyKey,
  requireKeyForm,
  type RequestKey,
} from '../kernel/request-key.ts';
import { cancelRuns } from '../runs/executing/cancel.ts';
import { announceProtocolRun, createRunOnce } from '../runs/making/create-run.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { NamedThread } from './pinned-thread.ts';
import { mayAnswer, planResume, planAgUiRun, readOldAnswer, type RunQuery } from './plan-run.ts';
import { AG_UI_DIALECT, buildView, joinRun, streamRun, streamSnapshot } from './run-stream.ts';

/* The doors of AG-UI: a request runs, connects to or stops a run of this server. */

type AgUiRequest = Pick<
  Request<unknown, unknown, unknown, AgentCaller>,
  'requestId' | 'headers' | 'forwarded' | 'caller' | 'signal'
>;

/** The namespace of the ids of threads that clients name by a text that is no UUID. */
const THREADS = '9d2b1c2e-7c9e-5f0e-8f5b-3a7b6f1d2c40';

export class AgUiEndpoint {
  readonly #deps: AgentDeps;
  readonly #inputs: GraphInputs;

  constructor(deps: AgentDeps) {
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
    requireKeyForm(request.headers);
    // Read before the thread, so that whatever changes it meanwhile is counted.
    const runs = mayAnswer(input)
      ? await loadRunCount(this.#deps.db, toThreadId(input.threadId))
      : undefined;
    const asked = await this.#findThread(input.threadId, request.caller);
    const resumed = await planResume(this.#deps, input, asked.thread);
    if (asked.thread?.status === 'interrupted' && resumed === undefined)
      return this.#answer(streamSnapshot(this.#deps, input, asked));
    const body = await planAgUiRun({ ...this.#deps, inputs: this.#inputs }, assistant, input, {
      ...asked,
      resumed,
      query,
    });
    const follow = { signal: request.signal, hears: 'events' } as const;
    const asks = {
      body: body.run,
      threadId: asked.threadId,
      call: { ...request, configurable: body.configurable },
      key: buildKey(assistant, input, request),
    };
    const answering = body.isAnswer && runs !== undefined ? { runs } : undefined;
    const created = await createRunOnce(this.#deps, asks, { follow, protocol: true, answering });
    announceProtocolRun(this.#deps, created);
    const view = buildView(input);
    const leaves = query.on_disconnect !== 'continue';
    return this.#answer(streamRun(this.#deps, created, view, { signal: request.signal, leaves }), {
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
    // The run may have ended since the thread was read, and the thread has its state now.
    if (last === undefined || !isUnfinished(last.status))
      return this.#answer(
        streamSnapshot(this.#deps, input, await this.#findThread(input.threadId, request.caller)),
      );
    const cursor = parseCursor(
      String(request.headers['last-event-id'] ?? '').replace(/\.\d+$/, ''),
    );
    return this.#answer(
      joinRun(this.#deps, input, asked, { run: last, signal: request.signal, cursor }),
    );
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
  async #findThread(given: string, caller: AgentCaller): Promise<NamedThread> {
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
}

const toThreadId = (given: string): string =>
  isUuid(given) ? given.toLowerCase() : buildNamedId(THREADS, given);

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
    resume?.length ? resume : (readOldAnswer(input) ?? []),
    messages.map(({ id }) => id),
    messages.at(-1)?.content ?? null,
  ];
  const scope = { identity: caller.identity, route: 'ag-ui' };
  return readIdempotencyKey(headers, scope, asks) ?? buildContentKey(scope, asks);
}
