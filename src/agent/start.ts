import { availableParallelism, totalmem } from 'node:os';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { AgentConfig } from '../config/agent.ts';
import { asError } from '../errors.ts';
import { listen } from '../http/listen.ts';
import type { Log } from '../log.ts';
import { insertAssistant } from './db/assistants.ts';
import { migrate } from './db/migrate.ts';
import { checkDatabase, openDatabase, type Database } from './db/pool.ts';
import { openSignals, type Signal, type Signals } from './db/signals.ts';
import type { AgentDeps } from './deps.ts';
import { readGraphsFile, type GraphsFile } from './graphs/config-file.ts';
import type { Embed } from './graphs/embed.ts';
import { GraphHost } from './graphs/host.ts';
import { Meaning } from './graphs/meaning.ts';
import { newId, systemAssistantId } from './ids.ts';
import { Pump } from './queue/pump.ts';
import { openTickets } from './queue/tickets.ts';
import { Executor } from './runs/execute.ts';
import { addressOf } from './runs/feedback.ts';
import { passingHeaders } from './runs/headers.ts';
import { Keeper } from './runs/keeper.ts';
import { agentApp, mountPrefix } from './server.ts';
import { Bus, threadKey } from './stream/bus.ts';
import { EventLog } from './stream/log.ts';
import { versions } from './versions.ts';

const FAREWELL_MILLISECONDS = 5000;

export type AgentServer = { port: number; stop(): Promise<void> };

type Start = { config: AgentConfig; log: Log; signal: AbortSignal };

/** What was opened, closed again in reverse when the start fails or the server stops. */
class Opened {
  readonly #closers: (() => Promise<void> | void)[] = [];

  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close();
  }
}

/** Starts the server of one deployment. Whatever prevents it is a `StartError` with one sentence. */
export async function startAgentServer({ config, log, signal }: Start): Promise<AgentServer> {
  const opened = new Opened();
  try {
    return await start({ config, log, signal }, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function start({ config, log, signal }: Start, opened: Opened): Promise<AgentServer> {
  const file = readGraphsFile(config.configPath);
  const db = openDatabase({ ...config.database, name: 'gx-agent-server' }, log);
  opened.add(() => db.close());
  await checkDatabase(db, config.database.uri);
  const host = graphHost(config, file, log);
  opened.add(() => host.close());
  // Loading the graphs takes as long as preparing the database: both at once.
  const loading = host.open();
  loading.catch(() => undefined);
  await migrate(db);
  const deps = await connect({ config, db, host, file, log }, opened);
  await loading;
  await ownAssistants(db, file);
  signal.throwIfAborted();
  const app = agentApp(deps, {
    config,
    settings: file.settings,
    info: { ...versions(), deployment: config.deployment, revision: config.revision },
  });
  const keeper = new Keeper(deps);
  deps.onSignal = (heard) => hear(deps, keeper, heard);
  const listener = await listen(app, config);
  keeper.start();
  deps.pump.start();
  const stopping = new AbortController();
  void indexStore(deps, stopping.signal);
  log.info({ port: listener.port, slots: config.jobs.slots, graphs: deps.graphs }, 'agent server ready');
  const stop = async (): Promise<void> => {
    log.info({ running: deps.executor.count }, 'agent server stopping');
    await drain(deps, config.jobs.graceSeconds * 1000);
    keeper.stop();
    stopping.abort();
    deps.bus.sayAll({ kind: 'end', outcome: undefined });
    await listener.stop(2000);
    // A database that is gone answers no farewell: the process must not wait for it.
    await Promise.race([opened.close(), wait(FAREWELL_MILLISECONDS, undefined, { ref: false })]);
  };
  return { port: listener.port, stop };
}

/** No new runs; those under way finish in the grace, the others are handed back. */
async function drain({ pump, executor }: AgentDeps, grace: number): Promise<void> {
  await pump.stop();
  await executor.idle(grace);
  for (const id of executor.ids()) executor.stop(id, 'shutdown');
  await executor.idle(5000);
}

function graphHost(config: AgentConfig, file: GraphsFile, log: Log): GraphHost {
  return new GraphHost({
    start: {
      graphs: file.graphs,
      index: file.index,
      database: { ...config.database, poolSize: Math.max(2, Math.ceil(config.database.poolSize / 4)) },
      logLevel: config.logLevel,
      env: file.env,
    },
    threads: config.jobs.threads || automaticThreads(),
    slots: Math.max(1, config.jobs.slots),
    log,
  });
}

/** Half a gigabyte a thread, and no more threads than processors: beyond four, another pod serves better. */
function automaticThreads(): number {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.max(1, Math.min(availableParallelism(), 4, Math.floor(memory / (512 * 1024 * 1024))));
}

type Parts = { config: AgentConfig; db: Database; host: GraphHost; file: GraphsFile; log: Log };
type Connected = AgentDeps & { onSignal: (signal: Signal) => void };

/** Queue, signals and the machinery of runs. */
async function connect({ config, db, host, file, log }: Parts, opened: Opened): Promise<Connected> {
  const { jobs } = config;
  const graphs = file.graphs.map(({ graphId }) => graphId);
  const bus = new Bus();
  const tickets = await openTickets(db, { works: jobs.slots > 0 }, log);
  opened.add(() => tickets.close());
  const eventLog = new EventLog({ db, lifeSeconds: config.streams.resumableSeconds, log });
  const hears = {
    signal: (signal: Signal): void => deps.onSignal(signal),
    reconnected: (): void => {
      bus.sayAll({ kind: 'wake' });
      deps.pump.poke();
    },
  };
  const signals: Signals = await openSignals({ db, uri: config.database.uri, processId: newId() }, hears, log);
  opened.add(() => signals.close());
  const freed = (next: string | undefined): void => void deps.pump.freed(next);
  const executor = new Executor({
    db,
    host,
    bus,
    eventLog,
    signals,
    tickets,
    jobs,
    maxEventBytes: config.streams.maxEventBytes,
    log,
    freed,
  });
  const pump = new Pump({
    db,
    tickets,
    jobs,
    worker: signals.processId,
    graphs,
    log,
    running: () => executor.count,
    start: (run) => executor.start(run),
  });
  const deps: Connected = {
    db,
    tickets,
    signals,
    bus,
    eventLog,
    host,
    executor,
    pump,
    graphs,
    meaning: file.index && new Meaning({ db, index: file.index, embed: embedIn(host) }),
    jobs,
    requests: requestRules(config, file),
    log,
    onSignal: () => undefined,
  };
  return deps;
}

/** The user's embedding runs where the user's graphs do. */
const embedIn =
  (host: GraphHost): Embed =>
  async (texts) =>
    texts.length === 0 ? [] : (JSON.parse(await host.call('embed', { texts })) as number[][]);

/** Items that were stored before there was an index, or one of other vectors, are taken up while the server serves. */
async function indexStore({ meaning, pump, log }: AgentDeps, signal: AbortSignal): Promise<void> {
  if (meaning === undefined) return;
  try {
    const by = await meaning.prepare();
    const items = pump.works ? await meaning.catchUp(signal) : 0;
    log.info({ by, items }, 'store can be searched by meaning');
  } catch (error) {
    log.warn({ err: asError(error) }, 'items of the store could not be indexed; the next start tries again');
  }
}

const requestRules = (config: AgentConfig, { settings }: GraphsFile): AgentDeps['requests'] => ({
  passes: passingHeaders(settings.http?.configurable_headers),
  address: addressOf({ publicUrl: config.publicUrl, prefix: mountPrefix(config, settings) }),
});

function hear(deps: AgentDeps, keeper: Keeper, signal: Signal): void {
  switch (signal.about) {
    case 'ticket':
      deps.pump.poke();
      return;
    case 'events':
      for (const key of [...signal.run_ids, ...signal.thread_ids.map(threadKey)]) deps.bus.say(key, { kind: 'wake' });
      return;
    case 'end':
      if (!deps.executor.has(signal.run_id)) deps.bus.say(signal.run_id, { kind: 'end', outcome: undefined });
      return;
    case 'stop':
      keeper.renew().catch((error: unknown) => deps.log.warn({ err: error }, 'stop could not be read; the next heartbeat brings it'));
      return;
    case 'reader':
      deps.executor.addReader(signal.run_id, signal.reader);
      return;
    case 'thread-reader':
      deps.executor.addThreadReader(signal.thread_id, signal.reader);
  }
}

/** Each graph has an assistant of its own, made once. */
async function ownAssistants(db: Database, { graphs }: GraphsFile): Promise<void> {
  for (const { graphId, description } of graphs)
    await insertAssistant(db, {
      assistant_id: systemAssistantId(graphId),
      graph_id: graphId,
      name: graphId,
      description,
      config: {},
      context: {},
      metadata: { created_by: 'system' },
    });
}
