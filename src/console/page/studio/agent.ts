import type { ApiRequest } from '../api/api-request.ts';
import {
  describeGraphFault,
  toAssistantVersion,
  readAnswerFields,
  toStudioAssistant,
  toText,
  buildTraceAddress,
  readRunVersion,
  toStudioCheckpoint,
  toStudioRun,
  toItems,
  toStudioThread,
  toListedCall,
  toListedRun,
  type AssistantVersion,
  type ListedCheckpoint,
  type StudioAssistant,
  type StudioThread,
  type ShownState,
  type Fields,
  type ListedCall,
  type ListedRun,
  type TimedStep,
} from './agent-answers.ts';
import { readDrawnGraph, type DrawnGraph } from './drawing/layered-graph.ts';
import { LOST_WAIT } from '../../../schema/wire/lost-right.ts';
import {
  isLostRight,
  parseRunId,
  readTextPieces,
  runStreamEvents,
  type RunStreamEvent,
} from './run-stream.ts';
import { ScannedJson } from './json/json-text.ts';
import { PiecedText } from './json/pieced-text.ts';
import { readPastSteps, readShortFields, readSlicedState } from './json/sliced-state.ts';

/** Where a page of threads begins: at a cursor, or behind so many threads at an agent that knows no cursors. */
export type PlaceInThreads = { cursor: string } | { offset: number };

/** The assistant that runs once more, if not the thread's own, and its version, if not the newest. */
export type Replay = { assistant: string; version: number | undefined };

const NO_VERSIONS =
  'The server of this agent is older than this, and runs the newest version only. The run was stopped.';

/** Returns the id of the assistant that a thread's last run had, or the name of its graph. */
export const readThreadAssistant = ({ metadata }: StudioThread): string =>
  toText(metadata['assistant_id']) || toText(metadata['graph_id']);

/** Some threads. `next` is the place of the next ones; undefined where there are none. */
export type PageOfThreads = { threads: StudioThread[]; next: PlaceInThreads | undefined };

const THREADS = 50;
/** The beginning of a conversation. The states themselves may be large, so they stay where they are. */
const FIRST_WORDS = { first: 'values.messages[0].content' };
const CHECKPOINTS = 200;
const MOST_CHECKPOINTS = 5000;
const VERSIONS = 100;
/** The last steps of a thread that are read with their states, and the letters of all these. */
const STEPS = 50;
const STEP_LETTERS = 4_000_000;
const STEP_FIELDS = [
  'values',
  'tasks',
  'checkpoint_id',
  'parent_checkpoint_id',
  'created_at',
  'metadata',
  'next',
];
const MODES = ['messages-tuple', 'values', 'tasks'];
const EVENTS = { accept: 'text/event-stream' };

/** Sends a request to a path of the agent. The answer has begun, and is a success. */
export type AgentDoor = (path: string, asked: ApiRequest) => Promise<Response>;

export class StudioAgent {
  readonly #open: AgentDoor;

  constructor(open: AgentDoor) {
    this.#open = open;
  }

  /** Returns threads, the last changed one first, from a place that an earlier page named. */
  async listThreads(asked: {
    status: string;
    from: PlaceInThreads | undefined;
    signal: AbortSignal;
  }): Promise<PageOfThreads> {
    const { status, from, signal } = asked;
    const body = {
      limit: THREADS,
      ...from,
      sort_by: 'updated_at',
      sort_order: 'desc',
      select: ['thread_id', 'status', 'updated_at', 'metadata'],
      extract: FIRST_WORDS,
      ...(status !== '' && { status }),
    };
    const response = await this.#open('threads/search', { method: 'POST', body, signal });
    const threads = toItems(await response.json()).map(toStudioThread);
    return { threads, next: readNextPlace(response.headers) };
  }

  async fetchThread(id: string, signal: AbortSignal): Promise<StudioThread> {
    const json = await this.fetchScanned(`threads/${encodeURIComponent(id)}`, { signal });
    return toStudioThread(await readShortFields(json, json.root, signal));
  }

  /** Returns checkpoints without their states, the newest first, older than the one that is named. */
  async listCheckpoints(
    id: string,
    before: string | undefined,
    signal: AbortSignal,
  ): Promise<{ found: ListedCheckpoint[]; more: boolean }> {
    const select = ['checkpoint_id', 'parent_checkpoint_id', 'created_at', 'metadata', 'next'];
    const body = { limit: CHECKPOINTS, select, ...(before !== undefined && { before }) };
    const found = toItems(
      await this.#fetchJson(`threads/${encodeURIComponent(id)}/history`, {
        method: 'POST',
        body,
        signal,
      }),
    ).map(toStudioCheckpoint);
    return { found, more: found.length === CHECKPOINTS };
  }

  /** Returns all checkpoints of a thread, without their states. `show` gets those that are known so far. */
  async listAllCheckpoints(
    id: string,
    signal: AbortSignal,
    show?: (known: ListedCheckpoint[]) => void,
  ): Promise<ListedCheckpoint[]> {
    const all: ListedCheckpoint[] = [];
    let more = true;
    while (more && all.length < MOST_CHECKPOINTS) {
      const page = await this.listCheckpoints(id, all.at(-1)?.id, signal);
      all.push(...page.found);
      ({ more } = page);
      show?.([...all]);
    }
    return all;
  }

  async fetchState(id: string, checkpoint: string, signal: AbortSignal): Promise<ShownState> {
    return readSlicedState(await this.fetchStateJson(id, checkpoint, signal), signal);
  }

  /** Returns why graphs are not served as their files say, in a sentence each. */
  async listGraphFaults(): Promise<string[]> {
    const { graph_errors: faults } =
      (await this.#fetchJson<{ graph_errors?: unknown } | null>('info', {})) ?? {};
    return toItems(faults).map(describeGraphFault);
  }

  /** Returns the address of a run's trace; undefined where the agent sends none, or does not say where it is seen. */
  async findTrace(thread: string, run: string, signal: AbortSignal): Promise<string | undefined> {
    const info = await this.#fetchJson('info', { signal });
    const json = await this.fetchScanned(
      `threads/${encodeURIComponent(thread)}/runs/${encodeURIComponent(run)}`,
      { signal },
    );
    const trace = json.parseSmall(
      await json.findChild(await json.findChild(json.root, 'kwargs', signal), 'trace', signal),
    );
    return buildTraceAddress(info, { run_id: run, kwargs: { trace } });
  }

  async listAssistants(signal: AbortSignal): Promise<StudioAssistant[]> {
    const body = { limit: 1000, select: ['assistant_id', 'graph_id', 'name'] };
    return toItems(
      await this.#fetchJson('assistants/search', { method: 'POST', body, signal }),
    ).map(toStudioAssistant);
  }

  /** Returns the versions of an assistant, the newest first. */
  async listVersions(assistant: string, signal: AbortSignal): Promise<AssistantVersion[]> {
    const asked = { method: 'POST', body: { limit: VERSIONS }, signal } as const;
    const json = await this.fetchScanned(
      `assistants/${encodeURIComponent(assistant)}/versions`,
      asked,
    );
    const { found } = await json.listChildren(json.root, signal);
    return Promise.all(
      found.map(async (one) => toAssistantVersion(await readShortFields(json, one, signal))),
    );
  }

  /** Makes a thread. Returns its id. */
  async createThread(graph: string): Promise<string> {
    return toStudioThread(
      await this.#fetchJson('threads', { method: 'POST', body: { metadata: { graph_id: graph } } }),
    ).id;
  }

  /** Returns the state of a thread as it is now, and how long its JSON is. */
  async fetchNewest(id: string, signal: AbortSignal): Promise<ShownState & { letters: number }> {
    const json = await this.fetchScanned(`threads/${encodeURIComponent(id)}/state`, { signal });
    return { ...(await readSlicedState(json, signal)), letters: json.text.length };
  }

  /** Returns the run that the thread is busy with, or that waits to begin on it. */
  async findActiveRun(id: string, signal: AbortSignal): Promise<string | undefined> {
    const query = { limit: 50, select: ['run_id', 'status'] };
    const runs = toItems(
      await this.#fetchJson(`threads/${encodeURIComponent(id)}/runs`, { query, signal }),
    ).map(toStudioRun);
    return (
      runs.find(({ status }) => status === 'running') ??
      runs.findLast(({ status }) => status === 'pending')
    )?.id;
  }

  /** Returns the last runs of a thread, the newest first, with these fields. */
  async listRuns(id: string, select: readonly string[], signal: AbortSignal): Promise<ListedRun[]> {
    const query = { limit: STEPS, select };
    const runs = await this.#fetchJson(`threads/${encodeURIComponent(id)}/runs`, { query, signal });
    return toItems(runs).map(toListedRun);
  }

  /** Returns the last calls of models of a thread, the oldest first. */
  async listCalls(id: string, signal: AbortSignal): Promise<ListedCall[]> {
    const query = { calls: STEPS };
    const usage = await this.#fetchJson(`threads/${encodeURIComponent(id)}/usage`, {
      query,
      signal,
    });
    return toItems(readAnswerFields(usage)['recorded']).map(toListedCall).toReversed();
  }

  /** Starts a run, and streams it. It goes on when the page is left. Of a thread that is busy it is refused. */
  async *start(id: string, body: object, signal: AbortSignal): AsyncGenerator<RunStreamEvent> {
    const streamed = {
      stream_mode: MODES,
      stream_subgraphs: true,
      stream_resumable: true,
      on_disconnect: 'continue',
    };
    const asked = {
      method: 'POST',
      body: { multitask_strategy: 'reject', ...streamed, ...body },
      headers: EVENTS,
      signal,
    } as const;
    const begun = await this.#open(`threads/${encodeURIComponent(id)}/runs/stream`, asked);
    yield* this.#followRun(
      { id, run: parseRunId(begun.headers.get('content-location')), signal },
      begun,
    );
  }

  async *join(id: string, run: string, signal: AbortSignal): AsyncGenerator<RunStreamEvent> {
    yield* this.#followRun({ id, run, signal }, await this.#joinRun({ id, run, signal }, '-1'));
  }

  #joinRun({ id, run, signal }: RunFollowed & { run: string }, after: string): Promise<Response> {
    const headers = { ...EVENTS, 'last-event-id': after };
    return this.#open(`threads/${encodeURIComponent(id)}/runs/${encodeURIComponent(run)}/stream`, {
      headers,
      signal,
    });
  }

  /** Yields the events of a run. A stream that ends with its pass is opened once more, behind its last event. */
  async *#followRun(followed: RunFollowed, begun: Response): AsyncGenerator<RunStreamEvent> {
    let [stream, after]: [Response | undefined, string] = [begun, '-1'];
    while (stream !== undefined) {
      let hasLapsed = false;
      for await (const event of runStreamEvents(readTextPieces(stream))) {
        hasLapsed = isLostRight(event);
        if (hasLapsed) break;
        after = event.id ?? after;
        yield event;
      }
      const { run } = followed;
      // Without the run's id, the reader of the thread finds the run as that of somebody else.
      stream =
        hasLapsed && run !== undefined
          ? await this.#joinRun({ ...followed, run }, after)
          : undefined;
    }
  }

  async cancel(id: string, run: string): Promise<void> {
    await this.#fetchJson(
      `threads/${encodeURIComponent(id)}/runs/${encodeURIComponent(run)}/cancel`,
      { method: 'POST' },
    );
  }

  async fetchGraph(assistant: string, signal: AbortSignal): Promise<DrawnGraph> {
    const query = { xray: 'true' };
    return readDrawnGraph(
      await this.#fetchJson(`assistants/${encodeURIComponent(assistant)}/graph`, { query, signal }),
    );
  }

  /** Returns the schema of an assistant's input; undefined where it has none. */
  async fetchInputSchema(assistant: string, signal: AbortSignal): Promise<unknown> {
    return (
      await this.#fetchJson<{ input_schema?: unknown } | null>(
        `assistants/${encodeURIComponent(assistant)}/schemas`,
        { signal },
      )
    )?.input_schema;
  }

  async fetchStateJson(id: string, checkpoint: string, signal: AbortSignal): Promise<ScannedJson> {
    return this.fetchScanned(
      `threads/${encodeURIComponent(id)}/state/${encodeURIComponent(checkpoint)}`,
      { signal },
    );
  }

  async fetchScanned(path: string, asked: ApiRequest): Promise<ScannedJson> {
    return new ScannedJson(await PiecedText.readBody(await this.#open(path, asked)));
  }

  /** Returns the last steps of a thread, the newest first; none where states of so many letters are too large. */
  async fetchLastSteps(id: string, letters: number, signal: AbortSignal): Promise<TimedStep[]> {
    const limit = Math.min(STEPS, Math.floor(STEP_LETTERS / Math.max(1, letters)));
    if (limit === 0) return [];
    const body = { limit, select: STEP_FIELDS };
    return readPastSteps(
      await this.fetchScanned(`threads/${encodeURIComponent(id)}/history`, {
        method: 'POST',
        body,
        signal,
      }),
      signal,
    );
  }

  /** Returns the messages in the state of a graph within the graph; none where there is none. */
  async fetchNestedMessages(id: string, namespace: string, signal: AbortSignal): Promise<Fields[]> {
    const body = { checkpoint: { checkpoint_ns: namespace }, select: ['values'] };
    const json = await this.fetchScanned(`threads/${encodeURIComponent(id)}/state/checkpoint`, {
      method: 'POST',
      body,
      signal,
    });
    return (await readSlicedState(json, signal)).messages.map(readAnswerFields);
  }

  /** Writes into the state at a checkpoint, through the reducers of the graph. That makes another checkpoint. */
  async writeState(id: string, checkpoint: string, values: unknown): Promise<void> {
    await this.#fetchJson(`threads/${encodeURIComponent(id)}/state`, {
      method: 'POST',
      body: { values, checkpoint_id: checkpoint },
    });
  }

  /** Copies a thread with its checkpoints. Returns the id of the copy. */
  async copy(id: string): Promise<string> {
    return toStudioThread(
      await this.#fetchJson(`threads/${encodeURIComponent(id)}/copy`, { method: 'POST' }),
    ).id;
  }

  /** Runs from a checkpoint on, with the thread's own assistant or another one. Returns when the run has ended. */
  async runFrom(
    thread: StudioThread,
    checkpoint: string,
    { assistant, version }: Replay,
  ): Promise<void> {
    const path = `threads/${encodeURIComponent(thread.id)}/runs`;
    const chosen = version === undefined ? {} : { assistant_version: version };
    const body = {
      assistant_id: assistant === '' ? readThreadAssistant(thread) : assistant,
      checkpoint_id: checkpoint,
      input: null,
      ...chosen,
    };
    const run = await this.#fetchJson(path, { method: 'POST', body });
    const { id } = toStudioRun(run);
    if (version !== undefined && readRunVersion(run) !== version) {
      await this.cancel(thread.id, id);
      throw new Error(NO_VERSIONS);
    }
    // A wait ends with its pass, and the run goes on.
    while (hasLostWait(await this.#fetchJson(`${path}/${encodeURIComponent(id)}/join`, {})));
  }

  async #fetchJson<Answer>(path: string, asked: ApiRequest): Promise<Answer> {
    const text = await (await this.#open(path, asked)).text();
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }
}

function readNextPlace(headers: Headers): PlaceInThreads | undefined {
  const cursor = headers.get('x-pagination-cursor');
  if (cursor !== null) return { cursor };
  const offset = Number(headers.get('x-pagination-next') ?? NaN);
  return Number.isSafeInteger(offset) ? { offset } : undefined;
}

/** A run whose events are read. `run`: undefined where its id is not known. */
type RunFollowed = { id: string; run: string | undefined; signal: AbortSignal };

const hasLostWait = (answer: unknown): boolean =>
  (answer as { __error__?: { message?: unknown } } | null | undefined)?.__error__?.message ===
  LOST_WAIT;
