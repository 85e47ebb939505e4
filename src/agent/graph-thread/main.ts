import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { getHeapStatistics } from 'node:v8';
import { setImmediate as turn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { register } from 'tsx/esm/api';
import { asError, StartError } from '../../errors.ts';
import { createLog, type Log } from '../../log.ts';
import { collectAtRest } from '../at-rest.ts';
import { openDatabase, type Database } from '../db/pool.ts';
import { describeSchemas, describeSubgraphs, drawGraph } from './describe.ts';
import { loadEmbed } from '../gx-json/embed.ts';
import { failureOf, invoke } from './invoke.ts';
import { loadGraphs, type LoadedGraph, type MakeGraph } from './load.ts';
import { SemanticSearch } from '../gx-json/semantic-search.ts';
import type { FromThread, Operation, Outcome, ThreadStart, ToThread } from '../threads/protocol.ts';
import { Saver } from './checkpoints/saver.ts';
import { graphSpans } from './spans.ts';
import { toJson } from './serialise.ts';
import { readHistory, readState, writeState, writeSupersteps } from './state.ts';
import { PgStore } from './store.ts';

/* The thread that users' graphs run in. It owns no decision about runs: it is told to run, to stop, to answer, and tells what came of it. */

const BEAT_MILLISECONDS = 500;

/** Shares of a processor's time between two beats, and of the heap, above which another thread should take what comes. */
const BUSY = 0.9;
const HEAP_IN_USE = 0.5;

type Embed = Awaited<ReturnType<typeof loadEmbed>>;
type Deps = {
  graphs: Map<string, LoadedGraph>;
  saver: Saver;
  reader: Saver;
  store: PgStore;
  embed: Embed | undefined;
  traced: boolean;
  log: Log;
};

const port = parentPort!;
const tell = (message: FromThread): void => port.postMessage(message);

/** Collects what is emitted in one turn of the event loop, so that a burst of events crosses in one message. */
function batching(run_id: string): { emit: (event: string, json: string) => void; flush: () => void } {
  let batch: [string, string][] = [];
  let scheduled: NodeJS.Immediate | undefined;
  const flush = (): void => {
    clearImmediate(scheduled);
    scheduled = undefined;
    if (batch.length > 0) tell({ kind: 'events', run_id, batch });
    batch = [];
  };
  const emit = (event: string, json: string): void => {
    batch.push([event, json]);
    scheduled ??= setImmediate(flush);
  };
  return { emit, flush };
}

/** Asks the one who gave the runs whether their events are kept; answers come by message. */
function keeping(): { written(run_id: string): Promise<void>; answered(wait_id: number): void } {
  const waiting = new Map<number, () => void>();
  let last = 0;
  return {
    written: (run_id) => {
      last += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.set(last, resolve);
      tell({ kind: 'wait', wait_id: last, run_id });
      return promise;
    },
    answered: (wait_id) => {
      waiting.get(wait_id)?.();
      waiting.delete(wait_id);
    },
  };
}

function serve(deps: Deps): void {
  const kept = keeping();
  const running = new Map<string, AbortController>();
  const run = async (spec: Extract<ToThread, { kind: 'run' }>['spec']): Promise<void> => {
    const stop = new AbortController();
    running.set(spec.run_id, stop);
    const { emit, flush } = batching(spec.run_id);
    const written = async (): Promise<void> => {
      // What the graph has emitted is still on its way through its stream.
      await turn();
      flush();
      await kept.written(spec.run_id);
    };
    const tracing = deps.traced ? graphSpans(spec, (spans) => tell({ kind: 'spans', run_id: spec.run_id, spans })) : undefined;
    const outcome = await invoke(spec, {
      ...deps,
      make: graphOf(deps, spec.graph_id),
      emit,
      written,
      handler: tracing?.handler,
      signal: stop.signal,
    }).catch(broken);
    tracing?.close();
    running.delete(spec.run_id);
    flush();
    tell({ kind: 'done', run_id: spec.run_id, outcome });
  };
  const call = async ({ call_id, operation, args }: Extract<ToThread, { kind: 'call' }>): Promise<void> => {
    try {
      tell({ kind: 'result', call_id, json: toJson(await answer(operation, args as Args, deps)) });
    } catch (thrown) {
      const error = asError(thrown);
      deps.log.debug({ err: error, operation }, 'graph call failed');
      tell({ kind: 'failed', call_id, status: 400, message: error.message });
    }
  };
  port.on('message', (message: ToThread) => {
    if (message.kind === 'run') void run(message.spec);
    else if (message.kind === 'written') kept.answered(message.wait_id);
    else if (message.kind === 'abort') running.get(message.run_id)?.abort(new Error('the run was stopped'));
    else void call(message);
  });
}

/** A result that can't be told (it has cycles, or its parts throw when they are read) is the graph's failure. */
const broken = (thrown: unknown): Outcome => ({ status: 'error', waiting: false, error: failureOf(thrown) });

function graphOf({ graphs }: Deps, graphId: string): MakeGraph {
  return graphs.get(graphId)?.make ?? (() => Promise.reject(new Error(`This server has no graph "${graphId}".`)));
}

type Args = { graph_id: string; xray: boolean | number; namespace?: string; recurse?: boolean; texts: string[] };

function answer(operation: Operation, args: Args, deps: Deps): Promise<unknown> {
  const own = { ...deps, make: graphOf(deps, args.graph_id) };
  switch (operation) {
    case 'state':
      return readState(args as never, own);
    case 'history':
      return readHistory(args as never, own);
    case 'update':
      return writeState(args as never, own);
    case 'supersteps':
      return writeSupersteps(args as never, own);
    case 'schemas':
      return describeSchemas(own.make, args.graph_id);
    case 'graph':
      return drawGraph(own.make, args.xray);
    case 'subgraphs':
      return describeSubgraphs(own.make, args);
    case 'embed':
      return deps.embed!(args.texts);
  }
}

/** What a graph leaves behind (a timer that throws, a promise nobody waits for) is told and ends neither its neighbours nor their thread. */
function survive(log: Log): void {
  process.on('unhandledRejection', (thrown) => log.error({ err: asError(thrown) }, 'unhandled rejection in a graph'));
  process.on('uncaughtException', (thrown) => log.error({ err: asError(thrown) }, 'uncaught exception in a graph'));
  process.exit = (code): never => {
    throw new Error(`process.exit(${code ?? ''}) was called: a graph ends by returning or throwing.`);
  };
}

/** Says that the thread lives, and whether it can take more. What it waits for (a model, the database, a processor that others use) keeps it from nothing. */
function beat(): void {
  let before = { at: performance.now(), used: process.threadCpuUsage() };
  const tick = (): void => {
    const now = { at: performance.now(), used: process.threadCpuUsage() };
    const { user, system } = process.threadCpuUsage(before.used);
    const share = (user + system) / 1000 / (now.at - before.at);
    before = now;
    const { used_heap_size: heap, heap_size_limit: limit } = getHeapStatistics();
    tell({ kind: 'beat', full: share > BUSY || heap > limit * HEAP_IN_USE });
  };
  setInterval(tick, BEAT_MILLISECONDS);
}

async function start({ graphs: sources, index, database, logLevel, env, traced }: ThreadStart): Promise<void> {
  const log = createLog({ level: logLevel, process: 'graph-thread' });
  // oxlint-disable-next-line node/no-process-env -- the user's code reads its settings there; gx.json's `env` yields to the real environment
  for (const [name, value] of Object.entries(env)) process.env[name] ??= value;
  survive(log);
  register();
  const db: Database = openDatabase({ ...database, name: 'gx-graph-thread' }, log);
  const embed = index && (await loadEmbed(index));
  const store = new PgStore(db, index && embed && new SemanticSearch({ db, index, embed }));
  const deps = { graphs: await loadGraphs(sources, ''), saver: new Saver(db), reader: new Saver(db, 'records'), store, embed, traced, log };
  serve(deps);
  beat();
  collectAtRest();
  flushCompileCache();
  tell({ kind: 'ready', nodes: [...deps.graphs].map(([graphId, { nodes }]) => [graphId, nodes]) });
}

start(workerData as ThreadStart).catch((thrown: unknown) => {
  const error = asError(thrown);
  tell({ kind: 'broken', sentence: error instanceof StartError ? error.message : (error.stack ?? error.message) });
});
