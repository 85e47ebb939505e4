import type { ApiRequest } from '../api/calls.ts';
import {
  studioCheckpoint,
  listOf,
  stateOfAnswer,
  studioThread,
  type ListedCheckpoint,
  type StudioThread,
  type ShownState,
} from './agent-answers.ts';

/** Where a page of threads begins: at a cursor, or behind so many threads at an agent that knows no cursors. */
export type PlaceInThreads = { cursor: string } | { offset: number };

/** Some threads. `next` is the place of the next ones; undefined where there are none. */
export type PageOfThreads = { threads: StudioThread[]; next: PlaceInThreads | undefined };

const THREADS = 50;
/** The beginning of a conversation. The states themselves may be large, so they stay where they are. */
const FIRST_WORDS = { first: 'values.messages[0].content' };
const CHECKPOINTS = 50;

/** Sends a request to a path of the agent. The answer has begun, and is a success. */
export type AgentDoor = (path: string, asked: ApiRequest) => Promise<Response>;

/** The requests of the studio to one agent. */
export class StudioAgent {
  readonly #open: AgentDoor;

  constructor(open: AgentDoor) {
    this.#open = open;
  }

  /** Returns threads, the last changed one first, from a place that an earlier page named. */
  async threads(asked: { status: string; from: PlaceInThreads | undefined; signal: AbortSignal }): Promise<PageOfThreads> {
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
    const threads = listOf(await response.json()).map(studioThread);
    return { threads, next: nextPlace(response.headers) };
  }

  async thread(id: string, signal: AbortSignal): Promise<StudioThread> {
    return studioThread(await this.#json(`threads/${encodeURIComponent(id)}`, { signal }));
  }

  /** Returns checkpoints without their states, the newest first, older than the one that is named. */
  async checkpoints(id: string, before: string | undefined, signal: AbortSignal): Promise<{ found: ListedCheckpoint[]; more: boolean }> {
    const select = ['checkpoint_id', 'created_at', 'metadata', 'next'];
    const body = { limit: CHECKPOINTS, select, ...(before !== undefined && { before }) };
    const found = listOf(await this.#json(`threads/${encodeURIComponent(id)}/history`, { method: 'POST', body, signal })).map(
      studioCheckpoint,
    );
    return { found, more: found.length === CHECKPOINTS };
  }

  async state(id: string, checkpoint: string, signal: AbortSignal): Promise<ShownState> {
    return stateOfAnswer(await this.#json(`threads/${encodeURIComponent(id)}/state/${encodeURIComponent(checkpoint)}`, { signal }));
  }

  /** Runs the thread's graph from a checkpoint on, and returns when the run has ended. */
  async runFrom({ id, metadata }: StudioThread, checkpoint: string): Promise<void> {
    const path = `threads/${encodeURIComponent(id)}/runs`;
    const body = { assistant_id: metadata['assistant_id'] ?? metadata['graph_id'], checkpoint_id: checkpoint, input: null };
    const run = await this.#json<{ run_id: string }>(path, { method: 'POST', body });
    await this.#json(`${path}/${encodeURIComponent(run.run_id)}/join`, {});
  }

  async #json<Answer>(path: string, asked: ApiRequest): Promise<Answer> {
    const text = await (await this.#open(path, asked)).text();
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }
}

function nextPlace(headers: Headers): PlaceInThreads | undefined {
  const cursor = headers.get('x-pagination-cursor');
  if (cursor !== null) return { cursor };
  const offset = Number(headers.get('x-pagination-next') ?? NaN);
  return Number.isSafeInteger(offset) ? { offset } : undefined;
}
