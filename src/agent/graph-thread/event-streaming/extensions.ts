import { convertToProtocolEvent } from '@langchain/langgraph';
import type { Chunk } from '../events.ts';
import type { MakeTransformer, StreamTransformer, TransformedEvent } from '../load.ts';
import type { ProtocolEvent } from './convert.ts';
import type { Json } from '../../../schema/json.ts';

/*
 * This file runs a graph's own stream transformers on its events. LangGraph.js takes them when a graph is compiled.
 * Values that they push into named channels go to clients, as `custom:<name>`.
 */

/** A channel of a transformer; one without a name stays within the process. */
type Channel = { channelName?: string; _wire(onPush: (item: unknown) => void): void; _close(): void; _fail(error: unknown): void };

const isChannel = (value: unknown): value is Channel => typeof (value as Partial<Channel> | null)?._wire === 'function';
const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as Partial<Promise<unknown>> | null)?.then === 'function';

/** Milliseconds that transformers have for their last events. */
const END_WITHIN = 5000;

/** The transformers of one run. They throw the errors of the user's code. */
export class Extensions {
  readonly #transformers: StreamTransformer[];
  readonly #channels: Channel[] = [];
  /** Promises among the values that transformers show; each is sent when its value is known. */
  readonly #values: [name: string, value: PromiseLike<unknown>][] = [];
  readonly #tell: (event: ProtocolEvent) => void;
  /** The namespace of the event that the transformers see now. */
  #namespace: string[] = [];

  constructor(make: MakeTransformer[], tell: (event: ProtocolEvent) => void) {
    this.#tell = tell;
    this.#transformers = make.map((one) => one()).filter(({ __native: native }) => native !== true);
    for (const transformer of this.#transformers) {
      this.#wire(transformer.init());
      transformer.onRegister?.({ push: (namespace, event) => this.#pushed(namespace, event) });
    }
  }

  /** Shows the transformers a chunk that LangGraph has streamed. Returns false if one of them holds it back. */
  see({ namespace, mode, payload }: Chunk): boolean {
    if (this.#transformers.length === 0) return true;
    // The modes were checked where LangGraph was asked for them; `seq` means nothing outside of LangGraph's own
    // streams.
    const events = convertToProtocolEvent({ namespace, mode: mode as 'values', payload, seq: 0 }) as TransformedEvent[];
    return events.map((event) => this.#show(namespace, event)).every(Boolean);
  }

  /**
   * Ends the transformers of a run that has come to its end. Settles when all their events are sent, or after some
   * seconds.
   */
  async end(): Promise<void> {
    if (this.#transformers.length === 0) return;
    const enough = new AbortController();
    const finalized = this.#transformers.map(async (transformer) => transformer.finalize?.());
    for (const channel of this.#channels) channel._close();
    const values = this.#values.map(async ([name, value]) => {
      const payload = await value;
      if (!enough.signal.aborted) this.#tell(custom([], name, payload));
    });
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, END_WITHIN);
    await Promise.race([Promise.allSettled([...finalized, ...values]), late]);
    clearTimeout(timer);
    enough.abort();
  }

  /**
   * Ends the transformers of a run that has failed, or was stopped. The run keeps that end, even if a transformer fails
   * at it.
   */
  fail(error: unknown): void {
    for (const transformer of this.#transformers) {
      try {
        transformer.fail?.(error);
      } catch {
        continue;
      }
    }
    for (const channel of this.#channels) channel._fail(error);
  }

  #wire(projection: unknown): void {
    for (const [name, value] of Object.entries((projection ?? {}) as Json)) {
      if (isChannel(value)) {
        this.#channels.push(value);
        const { channelName } = value;
        if (channelName !== undefined) value._wire((item) => this.#tell(custom(this.#namespace, channelName, item)));
      } else if (isPromise(value)) {
        // A rejected promise says nothing, and must not end the process.
        Promise.resolve(value).catch(() => undefined);
        this.#values.push([name, value]);
      }
    }
  }

  #pushed(namespace: string[], event: TransformedEvent): void {
    if (!this.#show(namespace, event)) return;
    const { method, params } = event;
    const [channel = method, name] = method.startsWith('custom:') ? ['custom', method.slice('custom:'.length)] : [method];
    this.#tell({ method: channel, name, namespace: params.namespace, node: params.node, data: params.data });
  }

  #show(namespace: string[], event: TransformedEvent): boolean {
    const outer = this.#namespace;
    this.#namespace = namespace;
    try {
      return this.#transformers.map((transformer) => transformer.process(event)).every(Boolean);
    } finally {
      this.#namespace = outer;
    }
  }
}

const custom = (namespace: string[], name: string, payload: unknown): ProtocolEvent => ({
  method: 'custom',
  name,
  namespace,
  data: { name, payload },
});
