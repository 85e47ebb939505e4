import type { AgentConfig } from '../../config/agent/agent.ts';
import type { Log } from '../../log.ts';
import { parseJsonText } from '../../schema/wire/wall/json-text.ts';
import { createSigningKeys } from '../auth/signing-keys.ts';
import { createBatchedStatements } from '../db/batched-statements.ts';
import type { Database } from '../db/base/pool.ts';
import { createRunInserts } from '../db/runs/run-inserts.ts';
import { toError } from '../../errors.ts';
import { openSignals, type SignalConnection, type Signals } from '../db/base/signals.ts';
import { CronClock } from '../crons/clock.ts';
import { runDueCrons, type FireDeps } from '../crons/fire.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import { readExpirySettings } from '../gx-json/expiry.ts';
import type { Embed } from '../gx-json/embed.ts';
import { readBuiltSchemas } from '../graph-types/built-schemas.ts';
import { TypedSchemas } from '../graph-types/typed-schemas.ts';
import type { GraphHost } from '../graphs/host.ts';
import { PinnedCalls } from '../graphs/pinned-calls.ts';
import { SemanticSearch } from '../gx-json/semantic-search.ts';
import { createId } from '../kernel/ids.ts';
import { getPinnedRevision } from '../kernel/pinning.ts';
import { Pump, type PumpDeps } from '../queue/pump.ts';
import { openTickets } from '../queue/tickets.ts';
import { DeadWorkers } from '../runs/executing/dead-workers.ts';
import { EndedRuns } from '../runs/executing/ended-runs.ts';
import { RunBudgets } from '../budgets/budgets.ts';
import { openPrices, type Prices } from '../prices/table.ts';
import { PlatformBudgets } from '../budgets/platform-budgets.ts';
import { ReportedSums } from '../usage/reported-sums.ts';
import type { TenantBudget } from '../../schema/wire/reported-usage.ts';
import { UsageLedger } from '../runs/executing/usage-ledger.ts';
import { Executor } from '../runs/executing/executor.ts';
import { buildAddressResolver } from '../runs/making/feedback.ts';
import { buildHeaderFilter, pickHeaders } from '../runs/making/headers.ts';
import { Keeper } from '../runs/executing/keeper.ts';
import { Readers } from '../runs/reading/readers.ts';
import { QueuedRuns } from '../runs/making/queued-runs.ts';
import { Callers } from '../auth/callers.ts';
import { Reencryption } from '../db/encryption/reencryption.ts';
import { mountPrefix } from '../front/server.ts';
import { handleReconnect, handleSignal } from '../parts/signal-handler.ts';
import { Bus } from '../stream/bus.ts';
import { Publisher } from '../stream/publisher.ts';
import { openEventLog, type OpenedLog } from '../stream/valkey/open.ts';
import type { Logging } from '../tracing/agent-log.ts';
import { openTracing } from '../../tracing/open.ts';
import type { Bundles } from '../ui/main.ts';
import { buildNotification } from '../a2a/notification.ts';
import { WorkReports } from '../queue/work-reports.ts';
import { openWebhooks } from '../webhooks/open.ts';

/** Closes everything that was opened, in reverse order, when the start fails or the server stops. */
export class Opened {
  readonly #closers: (() => Promise<void> | void)[] = [];

  add(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close();
  }
}

type AgentParts = {
  config: AgentConfig;
  db: Database;
  preparing: Database;
  /** The key that encrypts new values; undefined where nothing does. */
  keyId: string | undefined;
  host: GraphHost;
  bundles: Bundles;
  file: GraphsFile;
  callerFor: FireDeps['callerFor'];
  graphFaults: AgentDeps['graphFaults'];
} & Logging;

/** Opens the parts that have a connection or a timer. `opened` closes them in reverse order. */
async function openConnectedParts(
  { config, db, preparing, file, log }: AgentParts,
  opened: Opened,
) {
  const { jobs } = config;
  const graphs = file.graphs.map(({ graphId }) => graphId);
  const pinning = { revision: config.revision, pin: config.pin };
  const tickets = await openTickets(
    db,
    { works: jobs.slots > 0, preparing, revision: getPinnedRevision(pinning), graphs },
    log,
  );
  opened.add(() => tickets.close());
  const signals = openSignals(
    { db, uri: config.database.uri, processId: createId(), revision: config.revision },
    log,
  );
  opened.add(() => signals.close());
  const tracing = await openTracing(config.tracing, { name: 'gx-agent-server', log });
  opened.add(async () => tracing?.close());
  const { bus, eventLog, publisher, ...streaming } = await openStreams(
    { db, settings: config.streams, signals, log },
    opened,
  );
  const batched = createBatchedStatements(db);
  const readers = new Readers({ db, batched, bus, signals, eventLog });
  opened.add(() => readers.leaveThreads());
  const typedSchemas = createTypedSchemas(config, file, log);
  opened.add(() => typedSchemas.close());
  const { webhooks, courier } = openWebhooks({
    ...file,
    db,
    worker: signals.processId,
    config,
    notification: buildNotification,
    log,
  });
  opened.add(() => courier.close());
  return {
    graphs,
    pinning,
    tickets,
    signals,
    tracing,
    eventLog,
    publisher,
    streaming,
    batched,
    readers,
    typedSchemas,
    webhooks,
    courier,
  };
}

/**
 * Assembles the queue, the signals and the machinery of runs, each from finished parts. Listening to signals comes
 * last: nobody signals a process that has taken nothing yet, and the first look at the queue finds the runs announced
 * before.
 */
export async function createAgentDeps(parts: AgentParts, opened: Opened): Promise<AgentDeps> {
  const { config, db, host, bundles, file, callerFor, graphFaults, log, lines } = parts;
  const { jobs } = config;
  const connected = await openConnectedParts(parts, opened);
  const { graphs, pinning, tickets, signals, tracing, eventLog, publisher, streaming } = connected;
  const { batched, readers, typedSchemas, webhooks, courier } = connected;
  const usage = await openUsageParts(parts);
  const apart = { ...createIndependentParts(parts, signals, usage), tracing };
  const shared = {
    ...apart,
    db,
    tickets,
    signals,
    readers,
    host,
    jobs,
    webhooks,
    graphFaults,
    shipped: { lines, spans: tracing },
    ...usage,
    log,
  };
  const executor = new Executor({
    ...shared,
    publisher,
    eventLog,
    tracing,
    traces: config.tracing,
    tellsStacks: config.localPages !== undefined,
  });
  const pump = new Pump({
    db,
    tickets,
    jobs,
    log,
    graphs,
    ...buildClaiming(config, signals),
    ...buildExecution(executor, host, jobs),
  });
  const keeper = new Keeper({ ...shared, eventLog, executor, pump });
  const asked = {
    graphs,
    pinning,
    pinnedCalls: new PinnedCalls({ ...shared, pinning }),
    requests: buildRequestRules(config, file),
  };
  const making = {
    ...shared,
    callerFor,
    courier,
    batched,
    insertRuns: createRunInserts(db, tickets, { rich: config.richThreads, pinning }),
    executor,
    pump,
    ...asked,
  };
  const deps: AgentDeps = {
    ...making,
    keeper,
    clock: new CronClock({ ...making, fire: (slow) => runDueCrons(making, slow) }),
    expiry: readExpirySettings(file.settings),
    keepUsageDays: config.usage.keepDays,
    signing: createSigningKeys(config, log),
    streamed: { publisher, store: streaming.counts },
    typedSchemas,
    bundles,
    semanticSearch:
      file.index && new SemanticSearch({ db, index: file.index, embed: buildEmbed(host) }),
  };
  // A process that takes no runs has none to lose.
  const deadWorkers =
    jobs.slots > 0 ? createDeadWorkers({ db, worker: signals.processId, log }, keeper) : undefined;
  await streaming.listen(readers);
  await signals.listen(
    { signal: (signal) => handleSignal(deps, signal), reconnected: () => handleReconnect(deps) },
    deadWorkers,
  );
  return deps;
}

async function openStreams(
  deps: Parameters<typeof openEventLog>[0],
  opened: Opened,
): Promise<OpenedLog & { bus: Bus; publisher: Publisher }> {
  const bus = new Bus();
  const streaming = await openEventLog(deps);
  opened.add(() => streaming.close());
  const { settings, log } = deps;
  return {
    ...streaming,
    bus,
    publisher: new Publisher({
      bus,
      eventLog: streaming.eventLog,
      maxEventBytes: settings.maxEventBytes,
      log,
    }),
  };
}

/** Returns the parts that record the calls of models, and bound them. Prices are read where somebody needs them. */
async function openUsageParts({
  config,
  db,
  file,
  log,
}: AgentParts): Promise<Pick<AgentDeps, 'ledger' | 'bounds'>> {
  let read: Prices | undefined;
  const prices = (): Prices => (read ??= openPrices(file.settings.usage, log));
  const { usage, budgets: owner } = config;
  const measured = file.graphs
    .filter(({ language }) => usage.isMeasured ?? language === 'python')
    .map(({ graphId }) => graphId);
  if (measured.length > 0) prices();
  const ledger = new UsageLedger({ db, prices, measured, log });
  const author = file.settings.budgets ?? [];
  const tenants = new PlatformBudgets(db);
  // Outside of a platform there are none.
  if (config.reports !== undefined) await tenants.load();
  const budgets = new RunBudgets({ db, owner, author, tenants, prices, log });
  return { ledger: measured.length > 0 ? ledger : undefined, bounds: { db, budgets, ledger, log } };
}

function createIndependentParts(
  { config, db, keyId, log }: AgentParts,
  signals: SignalConnection,
  { ledger, bounds: { budgets } }: Pick<AgentDeps, 'ledger' | 'bounds'>,
): Pick<AgentDeps, 'callers' | 'queued' | 'reencryption' | 'endedRuns' | 'reports'> {
  const worker = signals.processId;
  const callers = new Callers(config.callers);
  const endedRuns = new EndedRuns();
  const { reports: to, crons, jobs } = config;
  const announcePlan = (): void =>
    void signals
      .send({ about: 'plan' })
      .catch((error: unknown) =>
        log.debug({ err: toError(error) }, 'other processes learn of the plan later'),
      );
  const counted = {
    runCounts: () => endedRuns.byRevision,
    compared: (isCompared: boolean) => endedRuns.compare(isCompared),
  };
  const sums = new ReportedSums(db);
  const hasCalls = (): boolean =>
    ledger !== undefined || budgets.all.length > 0 || budgets.tenants.length > 0;
  const costs = {
    readUsage: async (isLast: boolean) => (hasCalls() ? sums.read({ isLast }) : undefined),
    heardBudgets: (heard: TenantBudget[]) => budgets.hearTenants(heard),
  };
  const asking = { isAsked: () => callers.areHere, planned: announcePlan, ...counted, ...costs };
  const reports =
    to && new WorkReports({ to, db, worker, slots: jobs.slots, crons, ...asking, log });
  const queued = new QueuedRuns(db, jobs.maxQueued, () => reports?.noteChange());
  return {
    callers,
    queued,
    reencryption: new Reencryption({ db, keyId, worker, log }),
    endedRuns,
    reports,
  };
}

const createDeadWorkers = (
  looks: { db: Database; worker: string; log: Log },
  keeper: Keeper,
): DeadWorkers => new DeadWorkers({ ...looks, takeOver: (dead) => keeper.takeOver(dead) });

function createTypedSchemas(
  { typesWithin, buildFolder }: AgentConfig,
  file: GraphsFile,
  log: Log,
): TypedSchemas {
  const graphs = file.graphs.filter(({ language }) => language === 'javascript');
  return new TypedSchemas(
    { graphs, folder: file.folder, within: typesWithin, log },
    readBuiltSchemas(buildFolder),
  );
}

const buildClaiming = (
  { revision }: AgentConfig,
  signals: Signals,
): Pick<PumpDeps, 'worker' | 'revision' | 'tell'> => ({
  worker: signals.processId,
  revision,
  tell: (other) => signals.send({ about: 'ticket', revisions: [other] }),
});

/** Returns the part of the executor that the pump uses. A process that can't load the graphs takes no runs. */
const buildExecution = (
  executor: Executor,
  host: GraphHost,
  { slots }: AgentConfig['jobs'],
): Pick<PumpDeps, 'running' | 'execute'> => ({
  running: () => (host.well ? executor.count : slots),
  execute: (run) => executor.execute(run),
});

/** Runs the user's embedding where the user's graphs run. */
const buildEmbed =
  (host: GraphHost): Embed =>
  async (texts) =>
    texts.length === 0 ? [] : parseJsonText(await host.call('embed', { texts }));

function buildRequestRules(config: AgentConfig, { settings }: GraphsFile): AgentDeps['requests'] {
  const below = mountPrefix(config, settings);
  const passes = buildHeaderFilter(settings.http?.configurable_headers);
  return {
    pickConfigurable: (headers) => pickHeaders(headers, passes),
    address: buildAddressResolver({ ...config, prefix: below }),
    below,
  };
}
