import type { StreamMode } from '../../schema/agent/stream-event.ts';
import { toCheckpointPayload, toDebugPayload, toTaskPayload } from './event-forms.ts';
import { stripUnshown } from './unshown.ts';
import { toMessageChunk, isChunk, isMessage, toStateJson, toJson } from './serialise.ts';

/** One event to send: its name and its data. */
export type Emitted = [event: string, data: unknown];

/** A chunk as LangGraph streams it: the namespace of the subgraph, the mode, the payload. */
export type Chunk = { namespace: string[]; mode: string; payload: unknown };

/** Returns the modes to ask LangGraph for. `values` is always among them, because the last one is the run's result. */
export function chooseGraphModes(wanted: StreamMode[]): string[] {
  const asked = wanted
    .filter((mode) => mode !== 'events')
    .map((mode) => (mode === 'messages-tuple' ? 'messages' : mode));
  return [...new Set([...asked, 'values'])];
}

const FORMS: Record<string, ((payload: unknown, unshown: string[]) => unknown) | undefined> = {
  checkpoints: toCheckpointPayload,
  debug: toDebugPayload,
  tasks: toTaskPayload,
};

type Concat = { concat(chunk: unknown): unknown };

/** Modes whose events tell of a step after its state. */
const AFTER_STATE = ['checkpoints', 'debug', 'events'] as const;

/**
 * Turns one run's chunks into its events. It remembers the messages so far, because the mode `messages` sends each
 * message whole at every token, and once more when its step is over. It also remembers the last state, because an
 * interrupt is sent together with it.
 */
export class EventsOfRun {
  readonly #wanted: StreamMode[];
  readonly #listText: (list: unknown[]) => string | undefined;
  readonly #unshown: string[];
  /** Messages that are being streamed, by id; `end` is the name of the event that ends each. */
  readonly #messages = new Map<string, { whole: Concat; end: string }>();
  /**
   * The ends of streamed messages that are still to be sent, because the last one must be the last event of the run.
   */
  #ends: Emitted[] = [];
  /** The last state of the graph itself. */
  values: unknown;
  #written: { of: unknown; json: string } | undefined;
  /** True once any part of the graph has stopped to wait. */
  stopped = false;

  /** `listText` returns the JSON of a list, where it is known. `unshown` are names of settings that no event has. */
  constructor(
    wanted: StreamMode[],
    {
      listText = () => undefined,
      unshown = [],
    }: { listText?: (list: unknown[]) => string | undefined; unshown?: string[] | undefined } = {},
  ) {
    this.#wanted = wanted;
    this.#listText = listText;
    this.#unshown = unshown;
  }

  /**
   * Returns an event's data as JSON text. The last state is serialised only once, because that is mostly the last
   * event, too.
   */
  formatData(data: unknown): string {
    if (data !== this.values || data === undefined) return toJson(data);
    if (this.#written?.of === data) return this.#written.json;
    const known = toStateJson(data, this.#listText);
    // The known text of a list may become more exact with the step that stores it.
    if (known !== undefined) return known;
    this.#written = { of: data, json: toJson(data) };
    return this.#written.json;
  }

  convertChunk(chunk: Chunk): Emitted[] {
    if (!this.#wanted.includes('messages')) return this.#toEvents(chunk);
    const events = isOfOldStep(chunk)
      ? this.#toEvents(chunk)
      : [...this.end(), ...this.#toEvents(chunk)];
    if (chunk.mode === 'values' && chunk.namespace.length === 0) this.#endMessages();
    return AFTER_STATE.some((mode) => this.#wanted.includes(mode))
      ? events
      : [...events, ...this.end()];
  }

  end(): Emitted[] {
    return this.#ends.splice(0);
  }

  #toEvents({ namespace, mode, payload }: Chunk): Emitted[] {
    const buildName = (event: string): string => [event, ...namespace].join('|');
    if (mode === 'values') return this.#toValueEvents(payload, namespace, buildName);
    if (mode === 'messages') return this.#toMessageEvents(payload, buildName);
    if (!this.#wanted.includes(mode as StreamMode)) return [];
    return [[buildName(mode), FORMS[mode]?.(payload, this.#unshown) ?? payload]];
  }

  #toValueEvents(
    payload: unknown,
    namespace: string[],
    name: (event: string) => string,
  ): Emitted[] {
    const root = namespace.length === 0;
    const interrupts = (payload as Record<string, unknown> | null)?.['__interrupt__'];
    if (interrupts !== undefined) this.stopped = true;
    else if (root) this.values = payload;
    if (!this.#wanted.includes('values')) return [];
    if (interrupts === undefined) return [[name('values'), payload]];
    if ((interrupts as unknown[]).length === 0) return [];
    return [
      [name('values'), root ? { ...(this.values as object), __interrupt__: interrupts } : payload],
    ];
  }

  #toMessageEvents(payload: unknown, name: (event: string) => string): Emitted[] {
    const [message, given] = payload as [unknown, Record<string, unknown>];
    if (!isMessage(message)) return [];
    const metadata = this.#unshown.length === 0 ? given : stripUnshown(given, this.#unshown);
    const events: Emitted[] = [];
    if (this.#wanted.includes('messages-tuple'))
      events.push([name('messages'), [toMessageChunk(message), metadata]]);
    if (this.#wanted.includes('messages'))
      events.push(...this.#toWholeMessage(message, metadata, name));
    return events;
  }

  #toWholeMessage(
    message: Parameters<typeof isChunk>[0],
    metadata: Record<string, unknown>,
    name: (event: string) => string,
  ): Emitted[] {
    const id = String((message as { id?: unknown }).id);
    const end = name('messages/complete');
    if (!isChunk(message)) return [[end, [message]]];
    const before = this.#messages.get(id)?.whole;
    const whole = (before === undefined ? message : before.concat(message)) as Concat;
    this.#messages.set(id, { whole, end });
    const first: Emitted[] =
      before === undefined ? [[name('messages/metadata'), { [id]: { metadata } }]] : [];
    return [...first, [name('messages/partial'), [whole]]];
  }

  /** Ends all messages of the step whose state is now known, because its tasks are over. */
  #endMessages(): void {
    for (const { whole, end } of this.#messages.values()) this.#ends.push([end, [whole]]);
    this.#messages.clear();
  }
}

/** Returns true for a chunk at the end of a step, false for one that may come in the next step. */
const isOfOldStep = ({ mode, payload }: Chunk): boolean =>
  mode === 'values' ||
  mode === 'checkpoints' ||
  (mode === 'debug' && (payload as { type?: string }).type === 'checkpoint');
