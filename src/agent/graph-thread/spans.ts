import type { RunSpec, Span } from '../../schema/wire/wall/run-in-thread.ts';
import { buildContentAttribute, createSpanId } from '../tracing/span.ts';
import { readAnswerUsage } from './read-usage.ts';
import { toJson } from './serialise.ts';

/*
 * This file makes the spans of a graph's parts, below the run's own: its nodes, and the models, tools and retrievers
 * that they call. LangChain's callbacks report them to a handler, which is a plain object because the user's graph
 * brings its own copy of the library.
 */

/** The most spans of one run; a loop of thousands of steps is not worth a collector's memory. */
const MOST = 1000;
/** The most spans that cross to the server in one message. */
const MESSAGE = 100;

type Attributes = Span['attributes'];
/** A call under way: the span that it is, or the one that it happens in. */
type Call = { spanId: string; span?: Omit<Span, 'end'> };
/** `shown` is the call as a span; a call without it belongs to the span around it. */
type CallStart = {
  runId: string;
  parentRunId: string | undefined;
  shown: { name: string; attributes: Attributes } | undefined;
  input: unknown;
};
type PlaceOfRun = NonNullable<RunSpec['trace']>;
/** `contents`: spans hold inputs and outputs, too. */
type SpanOptions = { send: (spans: Span[]) => void; contents?: boolean | undefined };

const readClock = (): number => performance.timeOrigin + performance.now();

/** Returns whether an error is a failure. LangGraph throws to stop a graph that waits for a person, which is none. */
const isFailure = (error: unknown): boolean =>
  (error as { is_bubble_up?: boolean } | undefined)?.is_bubble_up !== true;

class GraphSpans {
  readonly #traceId: string;
  readonly #root: string;
  readonly #send: (spans: Span[]) => void;
  readonly #contents: boolean;
  readonly #calls = new Map<string, Call>();
  #done: Span[] = [];
  #made = 0;

  constructor({ trace_id, span_id }: PlaceOfRun, { send, contents = false }: SpanOptions) {
    this.#traceId = trace_id;
    this.#root = span_id;
    this.#send = send;
    this.#contents = contents;
  }

  begin({ runId, parentRunId, shown, input }: CallStart): void {
    const parentSpanId = this.#calls.get(parentRunId ?? '')?.spanId ?? this.#root;
    if (shown === undefined || this.#made >= MOST)
      return void this.#calls.set(runId, { spanId: parentSpanId });
    this.#made += 1;
    const spanId = createSpanId();
    const attributes = { ...shown.attributes, ...this.#buildContent('input', input) };
    this.#calls.set(runId, {
      spanId,
      span: {
        traceId: this.#traceId,
        spanId,
        parentSpanId,
        start: readClock(),
        name: shown.name,
        attributes,
      },
    });
  }

  end(
    runId: string,
    { output, more = {}, error }: { output?: unknown; more?: Attributes; error?: unknown } = {},
  ): void {
    const { span } = this.#calls.get(runId) ?? {};
    this.#calls.delete(runId);
    if (span === undefined) return;
    const failed = error !== undefined && isFailure(error);
    const { name = 'Error', message = String(error) } = (error ?? {}) as Partial<Error>;
    const attributes = {
      ...span.attributes,
      ...more,
      ...this.#buildContent('output', output),
      ...(failed && { 'error.type': name }),
    };
    this.#done.push({ ...span, end: readClock(), attributes, ...(failed && { error: message }) });
    if (this.#done.length >= MESSAGE) this.flush();
  }

  /** Returns nothing of a call that gave nothing, or something that has no JSON, which is the graph's own affair. */
  #buildContent(of: 'input' | 'output', value: unknown): Attributes {
    if (!this.#contents || value === undefined) return {};
    try {
      return buildContentAttribute(of, toJson(value));
    } catch {
      return {};
    }
  }

  findSpanId(runId: string): string | undefined {
    return this.#calls.get(runId)?.spanId;
  }

  flush(): void {
    if (this.#done.length > 0) this.#send(this.#done);
    this.#done = [];
  }

  /** Ends the calls that the run's end has cut off. */
  close(): void {
    for (const runId of this.#calls.keys()) this.end(runId);
    this.flush();
  }
}

type Metadata = Record<string, unknown>;
/**
 * The arguments of LangChain's callback at the beginning of a call: `[serialized, input, runId, parentRunId, ...]`; the
 * order of the rest depends on the kind of call.
 */
type CallbackArgs = unknown[];
type Kind = {
  metadata: number;
  name: number;
  tell: (
    name: string,
    metadata: Metadata,
    args: CallbackArgs,
  ) => { name: string; attributes: Attributes } | undefined;
};

const TOOL_LIKE = { metadata: 5, name: 6 };
const MODEL_LIKE = { metadata: 6, name: 7 };

const NODE: Kind = {
  metadata: 5,
  name: 7,
  // Everything inside a node carries the node's name; the node itself is the call of that name.
  tell: (name, { langgraph_node: node, langgraph_step: step }, [, , , , tags]) =>
    node === name && (tags as string[] | undefined)?.includes('langsmith:hidden') !== true
      ? {
          name: `node ${name}`,
          attributes: { 'gx.node': name, ...(typeof step === 'number' && { 'gx.step': step }) },
        }
      : undefined,
};
const TOOL: Kind = {
  ...TOOL_LIKE,
  tell: (name) => ({ name: `tool ${name}`, attributes: { 'gen_ai.tool.name': name } }),
};
const RETRIEVER: Kind = {
  ...TOOL_LIKE,
  tell: (name) => ({ name: `retriever ${name}`, attributes: {} }),
};
const MODEL: Kind = {
  ...MODEL_LIKE,
  tell: (name, { ls_model_name: model, ls_provider: provider }) => ({
    name: `model ${name}`,
    attributes: {
      ...(typeof model === 'string' && { 'gen_ai.request.model': model }),
      ...(typeof provider === 'string' && { 'gen_ai.provider.name': provider }),
    },
  }),
};

/** Returns the name that the call was given, or else the name of its class. */
const chooseName = ([what, ...rest]: CallbackArgs, kind: Kind): string =>
  (rest[kind.name - 1] ?? (what as { id?: string[] } | undefined)?.id?.at(-1) ?? '') as string;

/**
 * Returns a callback handler for the config of a graph, the span of a call, and the function to call at the end of the
 * run.
 */
export function createGraphSpans(
  place: PlaceOfRun,
  options: SpanOptions,
): { handler: object; spanOf: (runId: string) => string | undefined; close: () => void } {
  const spans = new GraphSpans(place, options);
  const begin =
    (kind: Kind) =>
    (...args: CallbackArgs): void => {
      const [, input] = args;
      const [, , runId, parentRunId] = args as (string | undefined)[];
      const shown = kind.tell(
        chooseName(args, kind),
        (args[kind.metadata] ?? {}) as Metadata,
        args,
      );
      spans.begin({ runId: String(runId), parentRunId, shown, input });
    };
  const end = (output: unknown, runId: string): void => spans.end(runId, { output });
  const fail = (error: unknown, runId: string): void => spans.end(runId, { error });
  const handler = {
    name: 'gx-spans',
    awaitHandlers: true,
    raiseError: false,
    copy: () => handler,
    handleChainStart: begin(NODE),
    handleChainEnd: end,
    handleChainError: fail,
    handleToolStart: begin(TOOL),
    handleToolEnd: end,
    handleToolError: fail,
    handleRetrieverStart: begin(RETRIEVER),
    handleRetrieverEnd: end,
    handleRetrieverError: fail,
    handleLLMStart: begin(MODEL),
    handleChatModelStart: begin(MODEL),
    handleLLMEnd: (
      output: unknown,
      runId: string,
      _parent?: string,
      _tags?: string[],
      extra?: { cached?: boolean },
    ) =>
      spans.end(runId, {
        output: readModelAnswer(output),
        more: readUsage(output, extra?.cached),
      }),
    handleLLMError: fail,
  };
  return { handler, spanOf: (runId) => spans.findSpanId(runId), close: () => spans.close() };
}

/** Returns a model's answer: a message, or the text of a model that writes no messages. */
function readModelAnswer(output: unknown): unknown {
  const { generations } = output as { generations?: { text?: string; message?: object }[][] };
  const [first] = generations?.[0] ?? [];
  return first?.message ?? first?.text;
}

/** Returns the usage that a model's answer reports, by OpenTelemetry's names (semantic-conventions-genai). */
function readUsage(output: unknown, isCacheHit?: boolean): Attributes {
  const { tokens, model, cost_usd } = readAnswerUsage(output, isCacheHit);
  const written = (tokens?.cache_write ?? 0) + (tokens?.cache_write_1h ?? 0);
  const reported = {
    'gen_ai.response.model': model,
    'gen_ai.usage.input_tokens': tokens?.input,
    'gen_ai.usage.output_tokens': tokens?.output,
    'gen_ai.usage.cache_read.input_tokens': tokens?.cache_read,
    'gen_ai.usage.cache_write.input_tokens': written > 0 ? written : undefined,
    'gen_ai.usage.reasoning.output_tokens': tokens?.reasoning,
    'gx.cost_usd': cost_usd,
  };
  return Object.fromEntries(
    Object.entries(reported).filter(
      (entry): entry is [string, string | number] => entry[1] !== undefined,
    ),
  );
}
