import type { StreamMode } from '../../schema/stream-event.ts';
import { checkpointForm, debugForm, taskForm } from './event-forms.ts';
import { chunkForm, isChunk, isMessage, toJson } from './serialise.ts';

/** One event to send: its name and its data. */
export type Emitted = [event: string, data: unknown];

/** A chunk as LangGraph streams it: the namespace of the subgraph, the mode, the payload. */
export type Chunk = { namespace: string[]; mode: string; payload: unknown };

/** Returns the modes to ask LangGraph for. `values` is always among them, because the last one is the run's result. */
export function graphModes(wanted: StreamMode[]): string[] {
  const asked = wanted.filter((mode) => mode !== 'events').map((mode) => (mode === 'messages-tuple' ? 'messages' : mode));
  return [...new Set([...asked, 'values'])];
}

const FORMS: Record<string, ((payload: unknown) => unknown) | undefined> = {
  checkpoints: checkpointForm,
  debug: debugForm,
  tasks: taskForm,
};

/**
 * Turns one run's chunks into its events. It remembers the messages so far, because the mode `messages` sends each
 * message whole at every token, and the last state, because an interrupt is sent together with it.
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

  /**
   * Returns an event's data as JSON text. The last state, which most often is the last event too, is serialised once.
   */
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
