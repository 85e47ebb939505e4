import type { OpenQuestion } from './conversation.ts';
import { serverSentEvents, type ServerSentEvent } from './server-sent-events.ts';

export type ListedAssistant = { assistant_id: string; graph_id: string; name: string; description?: string | null };
export type ListedThread = {
  thread_id: string;
  status: string;
  values?: unknown;
  error?: unknown;
  metadata?: { assistant_id?: string };
};
/** Why a graph, or all of them (null), is not served as its file says. */
export type GraphError = { graph_id: string | null; error: string; serves: string };
export type StateOfThread = { values: Record<string, unknown> | null; tasks: { interrupts?: OpenQuestion[] }[] };
type Run = { run_id: string; status: string };

/** The server refused; the message is its own sentence. */
export class Refused extends Error {}

/** The calls of the page. Each throws an `Error` whose message is for people. */
export class Api {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  /** `base` ends with a slash. `key` is there when the server asks for one. */
  constructor(base: string, key: string | null) {
    this.#base = base;
    this.#headers = key === null ? {} : { 'x-api-key': key };
  }

  assistants = (): Promise<ListedAssistant[]> => this.#json('assistants/search', { limit: 1000 });
  graphErrors = async (): Promise<GraphError[]> => (await this.#json<{ graph_errors?: GraphError[] }>('info')).graph_errors ?? [];
  threads = (): Promise<ListedThread[]> => this.#json('threads/search', { limit: 50, sort_by: 'updated_at', sort_order: 'desc' });
  createThread = (): Promise<ListedThread> => this.#json('threads', {});
  thread = (id: string): Promise<ListedThread> => this.#json(`threads/${id}`);
  state = (id: string): Promise<StateOfThread> => this.#json(`threads/${id}/state`);

  /** Returns the run that the thread is busy with, or that waits to begin on it. */
  async underWay(thread: string): Promise<Run | undefined> {
    const runs = await this.#json<Run[]>(`threads/${thread}/runs?limit=50`);
    return runs.find(({ status }) => status === 'running') ?? runs.findLast(({ status }) => status === 'pending');
  }

  async cancel(thread: string, run: string): Promise<void> {
    await this.#ask(`threads/${thread}/runs/${run}/cancel`, { method: 'POST' });
  }

  /** Starts a run and streams it; it goes on when the page is left. */
  start(thread: string, body: object, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    const stream = { stream_mode: ['messages-tuple', 'values'], stream_resumable: true, on_disconnect: 'continue' };
    return this.#events(`threads/${thread}/runs/stream`, { ...post({ ...stream, ...body }), signal });
  }

  /** Streams a run that was started before, from its beginning. */
  join(thread: string, run: string, signal: AbortSignal): AsyncGenerator<ServerSentEvent> {
    return this.#events(`threads/${thread}/runs/${run}/stream`, { headers: { 'last-event-id': '-1' }, signal });
  }

  async *#events(path: string, init: RequestInit): AsyncGenerator<ServerSentEvent> {
    const { body } = await this.#ask(path, init);
    if (body !== null) yield* serverSentEvents(textsOf(body));
  }

  async #json<T>(path: string, body?: object): Promise<T> {
    const answer = await this.#ask(path, body && post(body));
    return (await answer.json()) as T;
  }

  async #ask(path: string, init?: RequestInit): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(this.#base + path, { ...init, headers: { ...(init?.headers as Record<string, string>), ...this.#headers } });
    } catch (error) {
      if ((error as Error).name === 'AbortError') throw error;
      throw new Error('The server does not answer. Does gx dev still run?', { cause: error });
    }
    if (!answer.ok) throw new Refused(await complaintOf(answer));
    return answer;
  }
}

const post = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

async function complaintOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail : JSON.stringify(detail ?? text);
  } catch {
    return text === '' ? `The server answered ${answer.status}.` : text;
  }
}

/** Yields the texts of a body. A connection that breaks ends them, as a server that stops does. */
async function* textsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const read = (): ReturnType<typeof reader.read> =>
    reader.read().catch((error: Error) => {
      if (error.name === 'AbortError') throw error;
      return { done: true, value: undefined };
    });
  for (let piece = await read(); !piece.done; piece = await read()) yield decoder.decode(piece.value, { stream: true });
}
