import type { RunSpec } from '../../../schema/wire/wall/run-in-thread.ts';
import { eventName } from '../../stream/event-name.ts';
import { stateMessage } from '../../stream/protocol/state-form.ts';
import type { Chunk } from '../events.ts';
import type { MakeTransformer } from '../load.ts';
import { plainMessage, toJson } from '../serialise.ts';
import { PROTOCOL_MODES, ProtocolEventsOfRun, type ProtocolEvent } from './convert.ts';
import { Extensions } from './extensions.ts';
import type { GraphStatus } from './graphs-under-way.ts';

/** Further settings of the graph's call; `version` makes LangGraph.js stream messages in content blocks. */
export const PROTOCOL_CALL = { streamMode: PROTOCOL_MODES, subgraphs: true, version: 'v3' };

type Emit = (event: string, json: string) => void;

/**
 * One run's protocol events on their way out. The end of the run as a whole is sent by the process that writes it down.
 */
export type ProtocolStream = {
  begin(): void;
  /** Says that the graph is made, with which transformers may be registered. */
  made(graph: { streamTransformers?: MakeTransformer[] }): void;
  take(chunk: Chunk): void;
  /**
   * Sends the ends of the subgraphs that the run leaves open, and the last events of transformers. `error` is the one
   * that made the run end.
   */
  end(status: GraphStatus, error?: unknown): Promise<void>;
  /** Ends the transformers of a run that goes on elsewhere, whose readers hear of no end. */
  leave(error: unknown): void;
};

const nothing = (): void => undefined;
const SILENT: ProtocolStream = { begin: nothing, made: nothing, take: nothing, end: () => Promise.resolve(), leave: nothing };

/** Returns the protocol events of a run; one that was started without event streaming sends none. */
export const protocolStream = (spec: RunSpec, emit: Emit): ProtocolStream =>
  spec.kwargs.protocol === true ? new EmittedEvents(spec, emit) : SILENT;

class EmittedEvents implements ProtocolStream {
  readonly #events = new ProtocolEventsOfRun();
  readonly #graphId: string;
  readonly #emit: Emit;
  #isSilent = false;
  #extensions: Extensions | undefined;

  constructor({ graph_id }: Pick<RunSpec, 'graph_id'>, emit: Emit) {
    this.#graphId = graph_id;
    this.#emit = emit;
  }

  begin(): void {
    this.#send([{ method: 'lifecycle', namespace: [], data: { event: 'running', graph_name: this.#graphId } }]);
  }

  made({ streamTransformers = [] }: { streamTransformers?: MakeTransformer[] }): void {
    this.#extensions = new Extensions(streamTransformers, (event) => this.#send([event]));
  }

  take(chunk: Chunk): void {
    const isHeldBack = this.#extensions?.see(chunk) === false;
    // The state of the graphs is sent even if a transformer holds the chunk back.
    this.#send(this.#events.of(chunk).filter(({ method }) => !isHeldBack || method !== chunk.mode));
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
    for (const event of events) this.#emit(eventName(event), eventText(event, now));
  }
}

/** Returns an event as one line of JSON: the `params` of its form on the wire. `timestamp` is in milliseconds. */
export function eventText({ namespace, node, data, whole }: ProtocolEvent, timestamp: number): string {
  const from = node === undefined ? '' : `,"node":${JSON.stringify(node)}`;
  const text = whole === true ? toJson(data) : toJson(data, (message) => stateMessage(plainMessage(message)));
  return `{"namespace":${JSON.stringify(namespace)},"timestamp":${timestamp}${from},"data":${text}}`;
}
