import { Problem, Unavailable } from '../../errors.ts';
import type { StreamMode } from '../../schema/agent/stream-event.ts';
import { isLong, type Outcome, type RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import { chooseGraphModes, EventsOfRun, type Chunk, type Emitted } from './events.ts';
import { createDispatchedEvents } from './event-streaming/dispatched-events.ts';
import {
  PROTOCOL_CALL,
  createProtocolStream,
  type ProtocolStream,
} from './event-streaming/protocol-stream.ts';
import { listGraphNodes, type Graph, type MakeGraph, type StreamedEvent } from './load.ts';
import { MemorySteps } from './checkpoints/memory-steps.ts';
import type { Saver } from './checkpoints/saver.ts';
import { UNSHOWN, stripUnshown } from './unshown.ts';
import { toPlainJson, toJson } from './serialise.ts';
import type { Barrier } from '../run-storage/steps-of-run.ts';
import type { GraphStore } from './store.ts';
import { groupInterrupts } from './snapshot.ts';
import { stripCheckpoint, isUnderWay, stopReached } from './resume.ts';
import type { StopOfRun } from './stop-of-run.ts';
import type { Admissions } from './admissions.ts';
import { describeThrown, findFailurePlace } from '../kernel/failure-place.ts';
import { readVersions } from '../kernel/versions.ts';
import { UnknownNode, findUnknownNode } from '../kernel/nodes.ts';
import { completeCheckpoint } from './checkpoint-map.ts';
import { resolveInput } from './command.ts';
import { applyContextDefaults } from './context.ts';
import type { Json } from '../../schema/json.ts';

export type InvokeDeps = {
  make: MakeGraph;
  saver: Saver;
  store: GraphStore;
  /** Emits an event, whose data is JSON text. */
  emit: (event: string, json: string) => void;
  heard: () => boolean;
  /** Settles when clients that come back can read all emitted events. */
  written: Barrier;
  handlers: object[];
  /** Undefined where no budget bounds the run. */
  admissions?: Admissions | undefined;
  stop: StopOfRun;
};

type Config = Record<string, unknown> & {
  configurable: Record<string, unknown>;
  context: Json;
};

const { version, langgraphVersion } = readVersions();

const SERVER = {
  langgraph_version: langgraphVersion,
  langgraph_api_version: version,
  langgraph_plan: 'self_hosted',
  langgraph_host: 'self-hosted',
  langgraph_api_url: null,
};

type Progress = { events: EventsOfRun; protocol: ProtocolStream; graph?: Graph; config?: Config };

function begin(spec: RunSpec, { emit, heard, saver }: InvokeDeps): Progress {
  const events = new EventsOfRun(listPlainModes(spec), {
    listText: (list) => saver.texts.getText(list),
    unshown: spec.kwargs.unshown,
  });
  const progress = { events, protocol: createProtocolStream(spec, emit) };
  if (heard()) emit('metadata', toJson({ run_id: spec.run_id, attempt: spec.attempt }));
  progress.protocol.begin();
  return progress;
}

/**
 * Returns the modes of the plain streams. A run that event streaming started has none: it gets only the events of every
 * run.
 */
const listPlainModes = ({ kwargs }: RunSpec): StreamMode[] =>
  kwargs.protocol === true ? [] : kwargs.stream_mode;

/**
 * Runs one graph to its end, its stop, or its failure; the outcome says how it went. Throws only where the outcome
 * can't be serialised.
 */
export async function invoke(spec: RunSpec, deps: InvokeDeps): Promise<Outcome> {
  const progress = begin(spec, deps);
  try {
    const { config, resumable } = spec.kwargs;
    const metadata = config['metadata'] as object | undefined;
    const handleLoss = (): void => deps.stop.abortLost();
    const storing = {
      ahead: isAhead(spec.kwargs),
      written: resumable ? deps.written : undefined,
      metadata,
      lost: handleLoss,
    };
    const outcome = await deps.saver.steps.runStoring(spec, storing, () =>
      runGraph(spec, deps, progress),
    );
    await progress.protocol.end(progress.events.stopped ? 'interrupted' : 'completed');
    return outcome;
  } catch (error) {
    return handleThrown(error, progress, deps);
  }
}

/** Returns the outcome of a run that has thrown: it was stopped, or goes on elsewhere, or has failed. */
async function handleThrown(
  error: unknown,
  progress: Progress,
  { stop }: InvokeDeps,
): Promise<Outcome> {
  const { protocol, events } = progress;
  const drained = stop.isDrainedBy(error);
  if (drained || stop.goesOn) protocol.leave(error);
  else await protocol.end(stop.signal.aborted ? 'interrupted' : 'failed', error);
  if (drained || stop.isLost)
    return {
      status: 'interrupted',
      waiting: false,
      ...(stop.isLost ? { lost: true } : { drained }),
    };
  if (stop.signal.aborted) return readOutcome(progress, 'interrupted');
  if (error instanceof Unavailable) return { status: 'interrupted', waiting: false, retry: true };
  const node = await findFailedNode(error, progress);
  const failure = { ...(node !== undefined && { node }), ...findFailurePlace(error) };
  return {
    ...buildResult(events),
    status: 'error',
    waiting: false,
    error: describeThrown(error),
    failure,
  };
}

/** Returns the name of the node whose task has thrown, which LangGraph marks by the task's id alone. */
async function findFailedNode(
  thrown: unknown,
  { graph, config }: Progress,
): Promise<string | undefined> {
  const { pregelTaskId: id } = Object(thrown) as { pregelTaskId?: unknown };
  if (typeof id !== 'string' || graph === undefined || config === undefined) return undefined;
  const { thread_id, __pregel_checkpointer } = config.configurable;
  const state = await graph
    .getState({ configurable: { thread_id, __pregel_checkpointer } })
    .catch(() => undefined);
  return state?.tasks.find((task) => task.id === id)?.name;
}

async function runGraph(spec: RunSpec, deps: InvokeDeps, progress: Progress): Promise<Outcome> {
  const goesOn = await isUnderWay(spec, deps.saver);
  const config = goesOn
    ? stripCheckpoint(callConfig(spec, deps))
    : await completeCheckpoint(callConfig(spec, deps), deps.saver);
  progress.config = config;
  const graph = await deps.make(config, {
    accessContext: 'threads.create_run',
    executionRuntime: { context: spec.kwargs.context ?? undefined },
  });
  progress.graph = graph;
  progress.protocol.registerTransformers(graph);
  refuseUnknown(spec, listGraphNodes(graph));
  deps.stop.signal.throwIfAborted();
  const reached = goesOn ? await stopReached(graph, config, spec.kwargs) : undefined;
  if (reached !== undefined) return reached;
  if (spec.attempt > 1 && !(await deps.saver.steps.begin(spec))) deps.stop.abortLost();
  deps.stop.signal.throwIfAborted();
  const input = goesOn ? null : await resolveInput(spec, graph, config);
  const call = {
    ...addDispatchedEvents(config, spec, progress),
    context: applyContextDefaults(graph, config.context),
  };
  return execute(input, {
    spec,
    graph: wrapStops(graph, deps),
    config: call,
    progress,
    deps,
  });
}

/** Returns the graph so that the server, and its budgets, can stop it. */
function wrapStops(graph: Graph, { stop, admissions }: InvokeDeps): Graph {
  const drainable = stop.wrapDrainable(graph);
  return admissions === undefined ? drainable : admissions.wrapGraph(drainable);
}

/** Returns the settings of a call by a page, whose graph may tell it things by LangChain's callbacks. */
function addDispatchedEvents(config: Config, { kwargs }: RunSpec, { protocol }: Progress): Config {
  if (kwargs.protocol !== true || config.configurable['ag-ui'] === undefined) return config;
  const handler = createDispatchedEvents((chunk) => protocol.take(chunk));
  return { ...config, callbacks: [...((config['callbacks'] ?? []) as object[]), handler] };
}

/** Returns whether the graph goes on before a step is stored: "sync" waits for each step. */
const isAhead = ({ durability }: RunSpec['kwargs']): boolean => durability !== 'sync';

/**
 * Refuses goals that the graph does not have. A graph that is made for each call, or that another revision changed,
 * shows its nodes only now.
 */
function refuseUnknown({ kwargs }: RunSpec, nodes: string[] | undefined): void {
  const unknown = nodes && findUnknownNode(kwargs, nodes);
  if (unknown !== undefined) throw new UnknownNode(unknown, nodes!);
}

/** The settings of a call that a client may choose; other keys of its `config` have no meaning. */
type CallSettings = {
  recursion_limit?: number;
  max_concurrency?: number | null;
  run_name?: string | null;
};

function callConfig(
  { run_id, attempt, kwargs, thread_id, bounded }: RunSpec,
  { saver, store, handlers, stop }: InvokeDeps,
): Config {
  const { configurable, recursion_limit, max_concurrency, run_name, tags, metadata } =
    kwargs.config as Config & CallSettings;
  return {
    tags,
    metadata: { ...(metadata as object), run_attempt: attempt, ...SERVER },
    recursionLimit: recursion_limit,
    ...(max_concurrency && { maxConcurrency: max_concurrency }),
    ...(run_name && { runName: run_name }),
    configurable: {
      ...configurable,
      thread_id,
      run_id,
      __pregel_checkpointer: kwargs.temporary ? new MemorySteps(saver) : saver,
      ...(kwargs.unshown !== undefined && { [UNSHOWN]: kwargs.unshown }),
    },
    context: kwargs.context ?? {},
    ...(attempt === 1 && { runId: run_id }),
    ...(handlers.length > 0 && { callbacks: handlers }),
    ...(kwargs.protocol === true
      ? PROTOCOL_CALL
      : { streamMode: chooseGraphModes(kwargs.stream_mode), subgraphs: kwargs.subgraphs }),
    // A step that is over when a budget stops the run must be stored then.
    durability: bounded === true && kwargs.durability === 'exit' ? 'async' : kwargs.durability,
    ...(kwargs.interrupt_before !== null && { interruptBefore: kwargs.interrupt_before }),
    ...(kwargs.interrupt_after !== null && { interruptAfter: kwargs.interrupt_after }),
    store,
    signal: stop.signal,
  };
}

async function execute(
  input: unknown,
  call: Call & { progress: Progress; deps: InvokeDeps },
): Promise<Outcome> {
  const { progress, deps } = call;
  const { events, protocol } = progress;
  // Events that nobody reads are not made into text, which takes long where the state is long.
  const emitEvents = (some: Emitted[]): void => {
    for (const [event, data] of some) if (deps.heard()) deps.emit(event, events.formatData(data));
  };
  let hasStepped = false;
  try {
    for await (const piece of streamPieces(input, call)) {
      hasStepped ||= !('emitted' in piece);
      if (!('emitted' in piece)) protocol.take(piece);
      emitEvents('emitted' in piece ? piece.emitted : events.convertChunk(piece));
    }
  } catch (error) {
    // The step before is over, and nobody else tells what is left of it.
    if (deps.stop.isDrainedBy(error)) emitEvents(events.end());
    throw error;
  }
  deps.stop.signal.throwIfAborted();
  if (!hasStepped) await refuseNothing(call);
  emitEvents(events.end());
  const outcome = await readOutcome(progress, 'success');
  return call.spec.kwargs.keeps_waiting === true && outcome.waiting
    ? keepWaitingRun(outcome, call.config)
    : outcome;
}

/**
 * Throws where a graph with nodes did nothing: it sent no chunk, and its thread has no checkpoint. A step without
 * a change sends none either, but is stored.
 */
async function refuseNothing({ graph, config }: Call): Promise<void> {
  if ((listGraphNodes(graph) ?? []).length === 0) return;
  const { thread_id, __pregel_checkpointer } = config.configurable;
  const state = await graph
    .getState({ configurable: { thread_id, __pregel_checkpointer } })
    .catch(() => undefined);
  if (state?.createdAt === undefined)
    throw new Problem(
      500,
      'The graph took no step and stored nothing: this server may not support its version of LangGraph.',
    );
}

/** Stores where a temporary run waits, so that another run can go on with an answer. Without a question it is over. */
async function keepWaitingRun(outcome: Outcome, { configurable }: Config): Promise<Outcome> {
  const { __pregel_checkpointer: steps } = configurable;
  const asks = Object.keys(JSON.parse(outcome.interrupts ?? '{}') as object).length > 0;
  if (!asks || !(steps instanceof MemorySteps)) return { ...outcome, waiting: false };
  await steps.keep(configurable);
  return outcome;
}

type Call = { spec: RunSpec; graph: Graph; config: Config };

async function* streamPieces(
  input: unknown,
  { spec, graph, config }: Call,
): AsyncGenerator<Chunk | { emitted: Emitted[] }> {
  const toPiece = (chunk: unknown): Chunk => toChunk(chunk, spec.kwargs.subgraphs);
  if (!listPlainModes(spec).includes('events')) {
    for await (const chunk of await graph.stream(input, config)) yield toPiece(chunk);
    return;
  }
  let root: string | undefined;
  for await (const event of graph.streamEvents(input, { ...config, version: 'v2' })) {
    root ??= event.run_id;
    if (event.tags?.includes('langsmith:hidden') === true) continue;
    const own = event.event === 'on_chain_stream' && event.run_id === root;
    // The run's own chunks are sent by their own modes.
    yield own
      ? toPiece(event.data.chunk)
      : { emitted: [['events', stripEvent(event, spec.kwargs.unshown)]] };
  }
}

/** Returns an event of LangChain's callbacks, whose metadata has the settings of the run. */
const stripEvent = (event: StreamedEvent, unshown: string[] | undefined): StreamedEvent =>
  unshown === undefined || event.metadata === undefined
    ? event
    : { ...event, metadata: stripUnshown(event.metadata, unshown) };

function toChunk(chunk: unknown, subgraphs: boolean): Chunk {
  const parts = chunk as unknown[];
  if (!subgraphs) return { namespace: [], mode: parts[0] as string, payload: parts[1] };
  return { namespace: parts[0] as string[], mode: parts[1] as string, payload: parts[2] };
}

const buildResult = (events: EventsOfRun): Pick<Outcome, 'values' | 'plain'> =>
  events.values === undefined ? {} : toStateText(events.values, events.formatData(events.values));

const toStateText = (state: unknown, values: string): Pick<Outcome, 'values' | 'plain'> => ({
  values,
  ...(isLong(values) && { plain: toPlainJson(state as object) }),
});

/** Returns how the run ended. A graph that stopped on the way is asked for its open questions. */
async function readOutcome(
  { events, graph, config }: Progress,
  status: 'success' | 'interrupted',
): Promise<Outcome> {
  if (graph === undefined || config === undefined || (!events.stopped && status === 'success'))
    return { ...buildResult(events), status, waiting: false, interrupts: '{}' };
  const { thread_id, __pregel_checkpointer } = config.configurable;
  const state = await graph
    .getState({ configurable: { thread_id, __pregel_checkpointer } })
    .catch(() => undefined);
  if (state === undefined) return { ...buildResult(events), status, waiting: false };
  // A run that was stopped before it sent any state is where the last checkpoint of its thread is.
  const values =
    events.values === undefined && state.createdAt !== undefined
      ? toStateText(state.values, toJson(state.values))
      : buildResult(events);
  return {
    ...values,
    status,
    waiting: state.next.length > 0,
    interrupts: toJson(groupInterrupts(state)),
  };
}
