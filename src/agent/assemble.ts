import type { AgentConfig } from '../config/agent.ts';
import type { Log } from '../log.ts';
import type { Claimed } from './db/leases.ts';
import { batchedStatements } from './db/batched-statements.ts';
import type { Database } from './db/pool.ts';
import { shareOut, type Shares } from './db/shares.ts';
import { openSignals, type Signal, type Signals } from './db/signals.ts';
import type { AgentDeps } from './deps.ts';
import type { GraphsFile } from './gx-json/read.ts';
import type { Embed } from './gx-json/embed.ts';
import { GraphHost } from './threads/host.ts';
import { threadLimits } from './threads/memory.ts';
import { SemanticSearch } from './gx-json/semantic-search.ts';
import { newId } from './ids.ts';
import { Pump } from './queue/pump.ts';
import { openTickets } from './queue/tickets.ts';
import { Executor } from './runs/execute.ts';
import { addressOf } from './runs/feedback.ts';
import { passingHeaders } from './runs/headers.ts';
import { mountPrefix } from './server.ts';
import { Bus } from './stream/bus.ts';
import { EventLog } from './stream/log.ts';
import { SpanExporter } from './tracing/exporter.ts';

/** What was opened, closed again in reverse when the start fails or the server stops. */
export class Opened {
  readonly #closers: (() => Promise<void> | void)[] = [];

  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close();
  }
}

export function graphHost(config: AgentConfig, file: GraphsFile, log: Log): GraphHost {
  const shares = sharesOf(config);
  return new GraphHost({
    start: {
      graphs: file.graphs,
      index: file.index,
      database: { ...config.database, poolSize: shares.perThread },
      logLevel: config.logLevel,
      env: file.env,
      traced: config.tracing !== undefined,
    },
    ...threadLimits(config.jobs),
    threads: shares.threads,
    // A process that only answers is asked about graphs now and then; one that runs them starts each run at once.
    keep: config.jobs.slots > 0 ? 1 : 0,
    log,
  });
}

/** How the process shares out its connections among its own pool and its threads. */
export const sharesOf = ({ database, jobs }: AgentConfig): Shares => shareOut({ ...database, threads: threadLimits(jobs).threads });

type Parts = { config: AgentConfig; db: Database; preparing: Database; host: GraphHost; file: GraphsFile; log: Log };
type Connected = AgentDeps & { onSignal: (signal: Signal) => void };

/** Queue, signals and the machinery of runs, as one process has them. */
export async function assemble({ config, db, preparing, host, file, log }: Parts, opened: Opened): Promise<Connected> {
  const { jobs } = config;
  const graphs = file.graphs.map(({ graphId }) => graphId);
  const bus = new Bus();
  const tickets = await openTickets(db, { works: jobs.slots > 0, preparing }, log);
  opened.add(() => tickets.close());
  const eventLog = new EventLog({ db, lifeSeconds: config.streams.resumableSeconds, log });
  // Others speak as soon as somebody listens; what is said before all of it stands is found by the first look.
  let whole: Connected | undefined;
  const hears = {
    signal: (signal: Signal): void => whole?.onSignal(signal),
    reconnected: (): void => {
      bus.sayAll({ kind: 'wake' });
      whole?.pump.poke();
    },
  };
  const signals: Signals = await openSignals({ db, uri: config.database.uri, processId: newId() }, hears, log);
  opened.add(() => signals.close());
  const freed = (next: string | undefined): void => void pump.freed(next);
  const shared = { db, bus, tickets, signals, eventLog, host, jobs, log };
  const exporter = config.tracing && new SpanExporter(config.tracing, log);
  opened.add(async () => exporter?.close());
  const executor = new Executor({ ...shared, maxEventBytes: config.streams.maxEventBytes, exporter, freed });
  // Who can't load the graphs takes no runs.
  const running = { running: () => (host.well ? executor.count : jobs.slots), start: (run: Claimed) => executor.start(run) };
  const pump = new Pump({ ...shared, ...running, worker: signals.processId, graphs });
  whole = {
    ...shared,
    batched: batchedStatements(db),
    executor,
    pump,
    graphs,
    semanticSearch: file.index && new SemanticSearch({ db, index: file.index, embed: embedIn(host) }),
    requests: requestRules(config, file),
    onSignal: () => undefined,
  };
  return whole;
}

/** The user's embedding runs where the user's graphs do. */
const embedIn =
  (host: GraphHost): Embed =>
  async (texts) =>
    texts.length === 0 ? [] : (JSON.parse(await host.call('embed', { texts })) as number[][]);

const requestRules = (config: AgentConfig, { settings }: GraphsFile): AgentDeps['requests'] => ({
  passes: passingHeaders(settings.http?.configurable_headers),
  address: addressOf({ publicUrl: config.publicUrl, prefix: mountPrefix(config, settings) }),
});
