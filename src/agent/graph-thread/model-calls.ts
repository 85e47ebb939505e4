import { randomUUID } from 'node:crypto';
import { MAX_CALL_COUNT, type ModelCall } from '../../schema/wire/wall/model-call.ts';
import { dropUndefined, isObject, type Json } from '../../schema/json.ts';
import { readAnswerUsage, readCost, readName, readTokens } from './read-usage.ts';

/*
 * The calls of a run's models. LangChain's callbacks report them to a handler, which is a plain object because the
 * user's graph brings its own copy of the library. It hears of nothing but models, and of the event `gx.usage` by which
 * a graph reports a call that LangChain knows nothing of.
 */

/** The custom event of LangChain by which a graph reports the usage of a call. */
export const USAGE_EVENT = 'gx.usage';

/** The most calls of a run that cross to the server in one message. */
const MESSAGE_CALLS = 100;

type UnderWay = Pick<ModelCall, 'id' | 'start' | 'node' | 'ns' | 'provider' | 'asked'>;

/** Calls that have ended go to `send`, those of one turn of the event loop together. */
export class ModelCalls {
  readonly #send: (calls: ModelCall[]) => void;
  readonly #underWay = new Map<string, UnderWay>();
  #ended: ModelCall[] = [];
  #scheduled: NodeJS.Immediate | undefined;

  constructor(send: (calls: ModelCall[]) => void) {
    this.#send = send;
  }

  /** The handler for the config of a graph. */
  createHandler(): object {
    const start = (...args: unknown[]): void => {
      // LangChain's own order: serialized, input, runId, parentRunId, extraParams, tags, metadata.
      const [, , runId, , , , metadata] = args;
      const id = String(runId);
      this.#underWay.set(id, {
        id: readName(id) ?? randomUUID(),
        start: performance.timeOrigin + performance.now(),
        ...readPlace(metadata),
      });
    };
    const handler = {
      name: 'gx-usage',
      awaitHandlers: true,
      raiseError: false,
      ignoreChain: true,
      ignoreAgent: true,
      ignoreRetriever: true,
      copy: () => handler,
      handleLLMStart: start,
      handleChatModelStart: start,
      handleLLMEnd: (
        output: unknown,
        id: string,
        _parent?: string,
        _tags?: string[],
        extra?: { cached?: boolean },
      ) => this.#end(id, { status: 'ok', ...readAnswerUsage(output, extra?.cached) }),
      handleLLMError: (error: unknown, id: string) =>
        this.#end(id, {
          status: (error as Error | undefined)?.name === 'AbortError' ? 'cut' : 'error',
        }),
      handleCustomEvent: (
        name: string,
        data: unknown,
        _id: string,
        _tags?: string[],
        metadata?: Json,
      ) => {
        if (name === USAGE_EVENT && isObject(data)) this.#add(buildReportedCall(data, metadata));
      },
    };
    return handler;
  }

  /** Forgets a call that did not begin. */
  drop(id: string): void {
    this.#underWay.delete(id);
  }

  /** Sends all that is left, also the calls that the run's end has cut off. */
  close(): void {
    for (const id of this.#underWay.keys()) this.#end(id, { status: 'cut' });
    this.flush();
  }

  #end(id: string, ended: Omit<ModelCall, 'id' | 'start' | 'milliseconds'>): void {
    const call = this.#underWay.get(id);
    if (call === undefined) return;
    this.#underWay.delete(id);
    const milliseconds = Math.round(performance.timeOrigin + performance.now() - call.start);
    const model = ended.model ?? call.asked;
    const { asked, ...about } = call;
    this.#add({
      ...about,
      milliseconds: Math.min(milliseconds, MAX_CALL_COUNT),
      ...ended,
      ...(model !== undefined && { model }),
      ...(asked !== undefined && asked !== model && { asked }),
    });
  }

  #add(call: ModelCall): void {
    this.#ended.push(call);
    if (this.#ended.length >= MESSAGE_CALLS) this.flush();
    else this.#scheduled ??= setImmediate(() => this.flush());
  }

  /** Sends the calls that have ended. */
  flush(): void {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    if (this.#ended.length > 0) this.#send(this.#ended);
    this.#ended = [];
  }
}

/** Returns the place of a call and the model that is asked for, by the metadata of LangGraph and of the class. */
function readPlace(metadata: unknown): Omit<UnderWay, 'id' | 'start'> {
  const fields: Json = isObject(metadata) ? metadata : {};
  // The last part of the namespace is the node's own task.
  const { langgraph_checkpoint_ns: place } = fields;
  const ns = typeof place === 'string' ? place.split('|').slice(0, -1).join('|') : undefined;
  return dropUndefined({
    node: readName(fields['langgraph_node']),
    ns: readName(ns),
    provider: readName(fields['ls_provider']),
    asked: readName(fields['ls_model_name']),
  });
}

/** Returns the call that a graph reports: by the names of `usage_metadata`, with `model`, `provider` and `cost_usd`. */
function buildReportedCall(data: Json, metadata: unknown): ModelCall {
  const { node, ns } = readPlace(metadata);
  return {
    id: randomUUID(),
    start: performance.timeOrigin + performance.now(),
    milliseconds: 0,
    status: 'ok',
    ...dropUndefined({
      node,
      ns,
      model: readName(data['model']),
      provider: readName(data['provider']),
      tokens: readTokens(data),
      cost_usd: readCost(data['cost_usd']),
    }),
  };
}
