import type { RunSpec } from '../../../schema/wire/wall/run-in-thread.ts';
import { buildEventName } from '../../stream/event-name.ts';
import { toStateMessage } from '../../stream/protocol/state-form.ts';
import type { Chunk } from '../events.ts';
import type { MakeTransformer, StreamTransformer, TransformedEvent } from '../load.ts';
import { toPlainMessage, toJson } from '../serialise.ts';
import { PROTOCOL_MODES, ProtocolEventsOfRun, type ProtocolEvent } from './convert.ts';
import type { GraphStatus } from './graphs-under-way.ts';
import { convertToProtocolEvent } from '@langchain/langgraph';
import type { Json } from '../../../schema/json.ts';

/** Further settings of the graph's call; `version` makes LangGraph.js stream messages in content blocks. */
export const PROTOCOL_CALL = { streamMode: PROTOCOL_MODES, subgraphs: true, version: 'v3' };

type Emit = (event: string, json: string) => void;

/**
 * One run's protocol events on their way out. The end of the run as a whole is sent by the process that writes it down.
 */
export type ProtocolStream = {
  begin(): void;
  registerTransformers(graph: { streamTransformers?: MakeTransformer[] }): void;
  take(chunk: Chunk): void;
  /**
   * Sends the ends of the subgraphs that the run leaves open, and the last events of transformers. `error` is the one
   * that made the run end.
   */
  end(status: GraphStatus, error?: unknown): Promise<void>;
  /** Ends the transformers of a run that goes on elsewhere, whose readers hear of no end. */
  leave(error: unknown): void;
};

const skip = (): void => undefined;
const SILENT: ProtocolStream = {
  begin: skip,
  registerTransformers: skip,
  take: skip,
  end: () => Promise.resolve(),
  leave: skip,
};

/** Returns the protocol events of a run; one that was started without event streaming sends none. */
export const createProtocolStream = (spec: RunSpec, emit: Emit): ProtocolStream =>
  spec.kwargs.protocol === true ? new EmittedEvents(spec, emit) : SILENT;

class EmittedEvents implements ProtocolStream {
  readonly #events = new ProtocolEventsOfRun();
  readonly #graphId: string;
  readonly #emit: Emit;
  #isSilent = false;
  #extensions: Extensions | undefined;

  constructor({ graph_id }: RunSpec, emit: Emit) {
    this.#graphId = graph_id;
    this.#emit = emit;
  }

  begin(): void {
    this.#send([
      { method: 'lifecycle', namespace: [], data: { event: 'running', graph_name: this.#graphId } },
    ]);
  }

  registerTransformers({
    streamTransformers = [],
  }: {
    streamTransformers?: MakeTransformer[];
  }): void {
    this.#extensions = new Extensions(streamTransformers, (event) => this.#send([event]));
  }

  take(chunk: Chunk): void {
    const isHeldBack = this.#extensions?.showChunk(chunk) === false;
    // The state of the graphs is sent even if a transformer holds the chunk back.
    this.#send(
      this.#events.convertChunk(chunk).filter(({ method }) => !isHeldBack || method !== chunk.mode),
    );
  }

  async end(status: GraphStatus, error?: unknown): Promise<void> {
    if (error === undefined) await this.#extensions?.end();
    else this.#extensions?.fail(error);
    this.#send(this.#events.end(status));
  }

  leave(error: unknown): void {
    this.#send(this.#events.leave());
    this.#isSilent = true;
    this.#extensions?.fail(error);
  }

  #send(events: ProtocolEvent[]): void {
    if (this.#isSilent) return;
    const now = Date.now();
    for (const event of events) this.#emit(buildEventName(event), formatEventParams(event, now));
  }
}

/** Returns an event as one line of JSON: the `params` of its form on the wire. `timestamp` is in milliseconds. */
export function formatEventParams(
  { namespace, node, data, whole }: ProtocolEvent,
  timestamp: number,
): string {
  const from = node === undefined ? '' : `,"node":${JSON.stringify(node)}`;
  const text =
    whole === true
      ? toJson(data)
      : toJson(data, (message) => toStateMessage(toPlainMessage(message)));
  return `{"namespace":${JSON.stringify(namespace)},"timestamp":${timestamp}${from},"data":${text}}`;
}

/*
 * A graph's own stream transformers. LangGraph.js takes them when a graph is compiled. They are run on its events, and
 * values that they push into named channels go to clients, as `custom:<name>`.
 */

/** A channel of a transformer; one without a name stays within the process. */
type Channel = {
  channelName?: string;
  _wire(onPush: (item: unknown) => void): void;
  _close(): void;
  _fail(error: unknown): void;
};

const isChannel = (value: unknown): value is Channel =>
  typeof (value as Partial<Channel> | null)?._wire === 'function';
const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as Partial<Promise<unknown>> | null)?.then === 'function';

/** Milliseconds that transformers have for their last events. */
const END_WITHIN = 5000;

/** The transformers of one run. They throw the errors of the user's code. */
class Extensions {
  readonly #transformers: StreamTransformer[];
  readonly #channels: Channel[] = [];
  /** Promises among the values that transformers show; each is sent when its value is known. */
  readonly #values: [name: string, value: PromiseLike<unknown>][] = [];
  readonly #tell: (event: ProtocolEvent) => void;
  #namespace: string[] = [];

  constructor(make: MakeTransformer[], tell: (event: ProtocolEvent) => void) {
    this.#tell = tell;
    this.#transformers = make.map((one) => one()).filter(({ __native: native }) => native !== true);
    for (const transformer of this.#transformers) {
      this.#attachChannels(transformer.init());
      transformer.onRegister?.({
        push: (namespace, event) => this.#handlePushed(namespace, event),
      });
    }
  }

  /** Shows the transformers a chunk that LangGraph has streamed. Returns false if one of them holds it back. */
  showChunk({ namespace, mode, payload }: Chunk): boolean {
    if (this.#transformers.length === 0) return true;
    // The modes were checked where LangGraph was asked for them; `seq` means nothing outside of LangGraph's own
    // streams.
    const events = convertToProtocolEvent({
      namespace,
      mode: mode as 'values',
      payload,
      seq: 0,
    }) as TransformedEvent[];
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
      if (!enough.signal.aborted) this.#tell(buildCustomEvent([], name, payload));
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

  #attachChannels(projection: unknown): void {
    for (const [name, value] of Object.entries((projection ?? {}) as Json)) {
      if (isChannel(value)) {
        this.#channels.push(value);
        const { channelName } = value;
        if (channelName !== undefined)
          value._wire((item) => this.#tell(buildCustomEvent(this.#namespace, channelName, item)));
      } else if (isPromise(value)) {
        // A rejected promise says nothing, and must not end the process.
        Promise.resolve(value).catch(() => undefined);
        this.#values.push([name, value]);
      }
    }
  }

  #handlePushed(namespace: string[], event: TransformedEvent): void {
    if (!this.#show(namespace, event)) return;
    const { method, params } = event;
    const [channel = method, name] = method.startsWith('custom:')
      ? ['custom', method.slice('custom:'.length)]
      : [method];
    this.#tell({
      method: channel,
      name,
      namespace: params.namespace,
      node: params.node,
      data: params.data,
    });
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

const buildCustomEvent = (namespace: string[], name: string, payload: unknown): ProtocolEvent => ({
  method: 'custom',
  name,
  namespace,
  data: { name, payload },
});
