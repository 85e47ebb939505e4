import { RUN_DONE, type StreamMode, type ThreadStreamMode } from '../../schema/stream-event.ts';
import { checkpointForm, debugForm, taskForm } from './forms.ts';
import { chunkForm, isChunk, isMessage, toJson } from '../graphs/serialise.ts';

/** One event to send: its name and its data. */
export type Emitted = [event: string, data: unknown];

/** A chunk as LangGraph streams it: the namespace of the subgraph, the mode, the payload. */
export type Chunk = { namespace: string[]; mode: string; payload: unknown };

/** The modes to ask LangGraph for. `values` is always among them: the last one is the run's result. */
export function graphModes(wanted: StreamMode[]): string[] {
  const asked = wanted.filter((mode) => mode !== 'events').map((mode) => (mode === 'messages-tuple' ? 'messages' : mode));
  return [...new Set([...asked, 'values'])];
}

const FORMS: Record<string, ((payload: unknown) => unknown) | undefined> = {
  checkpoints: checkpointForm,
  debug: debugForm,
  tasks: taskForm,
};

/** What a reader asked for: kinds of events, and namespaces of graphs as event names carry them (`sub:<task id>|...`, `""` is the root). */
export type Wanted = { modes: StreamMode[] | undefined; namespaces: string[] | undefined };

/** Whether a reader asked for the event: its mode stands before the first pipe of its name, its namespace after it. What is told of the run itself always goes out. */
export function isWanted(event: string, { modes, namespaces }: Wanted): boolean {
  const [name = '', ...namespace] = event.split('|');
  if (name === RUN_DONE) return false;
  if (['metadata', 'error', 'feedback'].includes(name)) return true;
  if (namespaces !== undefined && !namespaces.includes(namespace.join('|'))) return false;
  if (modes === undefined) return true;
  if (name.startsWith('messages/')) return modes.includes('messages');
  return modes.includes(name === 'messages' ? 'messages-tuple' : (name as StreamMode));
}

/** How an event looks in a stream of the whole thread; undefined when it was not asked for. */
export function inThreadStream(event: string, modes: ThreadStreamMode[]): string | undefined {
  if (event === RUN_DONE) return modes.includes('lifecycle') ? 'metadata' : undefined;
  if (event === 'state_update') return modes.includes('state_update') ? event : undefined;
  if (event === 'metadata' && modes.includes('lifecycle')) return event;
  return modes.includes('run_modes') ? event : undefined;
}

/**
 * Turns one run's chunks into its events. It remembers the messages so far, because `messages` mode sends each message whole at every token,
 * and the last state, because an interrupt is told together with it.
 */
export class EventsOfRun {
  readonly #wanted: StreamMode[];
  readonly #messages = new Map<string, { concat(chunk: unknown): unknown }>();
  /** The last state of the graph itself. */
  values: unknown;
  #written: { of: unknown; json: string } | undefined;
  /** True once any part of the graph has stopped to wait. */
  stopped = false;

  constructor(wanted: StreamMode[]) {
    this.#wanted = wanted;
  }

  /** An event's data as JSON text; the last state, which is most often the last event too, is written once. */
  text(data: unknown): string {
    if (data !== this.values || data === undefined) return toJson(data);
    if (this.#written?.of !== data) this.#written = { of: data, json: toJson(data) };
    return this.#written.json;
  }

  of({ namespace, mode, payload }: Chunk): Emitted[] {
    const name = (event: string): string => [event, ...namespace].join('|');
    if (mode === 'values') return this.#values(payload, namespace, name);
    if (mode === 'messages') return this.#messagesOf(payload).map(([event, data]) => [name(event), data]);
    if (!this.#wanted.includes(mode as StreamMode)) return [];
    return [[name(mode), FORMS[mode]?.(payload) ?? payload]];
  }

  #values(payload: unknown, namespace: string[], name: (event: string) => string): Emitted[] {
    const root = namespace.length === 0;
    const interrupts = (payload as Record<string, unknown> | null)?.['__interrupt__'];
    if (interrupts !== undefined) this.stopped = true;
    else if (root) this.values = payload;
    if (!this.#wanted.includes('values')) return [];
    if (interrupts === undefined) return [[name('values'), payload]];
    if ((interrupts as unknown[]).length === 0) return [];
    return [[name('values'), root ? { ...(this.values as object), __interrupt__: interrupts } : payload]];
  }

  #messagesOf(payload: unknown): Emitted[] {
    const [message, metadata] = payload as [unknown, Record<string, unknown>];
    if (!isMessage(message)) return [];
    const events: Emitted[] = [];
    if (this.#wanted.includes('messages-tuple')) events.push(['messages', [chunkForm(message), metadata]]);
    if (this.#wanted.includes('messages')) events.push(...this.#whole(message, metadata));
    return events;
  }

  #whole(message: Parameters<typeof isChunk>[0], metadata: Record<string, unknown>): Emitted[] {
    const id = String((message as { id?: unknown }).id);
    if (!isChunk(message)) return [['messages/complete', [message]]];
    const before = this.#messages.get(id);
    const whole = before === undefined ? message : before.concat(message);
    this.#messages.set(id, whole as { concat(chunk: unknown): unknown });
    const first: Emitted[] = before === undefined ? [['messages/metadata', { [id]: { metadata } }]] : [];
    return [...first, ['messages/partial', [whole]]];
  }
}
