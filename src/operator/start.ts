import { buildNamespaces } from '../config/platform/builder.ts';
import type { OperatorConfig } from '../config/platform/operator.ts';
import { readPlatformVersion } from '../config/own-version.ts';
import { toError } from '../errors.ts';
import { buildGitPlaces } from '../git/places.ts';
import { Lookups } from '../http/outgoing/lookups.ts';
import type { ConnectedKube, CountedKube, Kube } from '../kube/kube.ts';
import { buildObjectKey } from '../kube/cache.ts';
import { createRecorder } from '../kube/events.ts';
import { Election, type LeaseOptions } from '../kube/lease.ts';
import type { WatchTimings } from '../kube/watch.ts';
import type { Log } from '../log.ts';
import { openTracing } from '../tracing/open.ts';
import type { Tracing } from '../tracing/spans.ts';
import { OPERATOR, OPERATOR_VERSION } from '../schema/platform/objects/labels.ts';
import { BranchFollower } from './branches/branch-follower.ts';
import { BuildLooks } from './branches/build-looks.ts';
import { findBranchPlace, trackFollowers, lookAtBranch } from './deployment/look-at-branch.ts';
import { Limiter } from '../http/limits/limiter.ts';
import { BuildTurns } from './view/build-turns.ts';
import { TakenTurns } from './view/taken-turns.ts';
import { MissingKinds } from './view/missing-kinds.ts';
import { RouteParents } from './view/route-parents.ts';
import { buildAccountLookup } from './pods/account-secrets.ts';
import { createCaches, listWrittenKinds, type Caches } from './view/caches.ts';
import { createControllers } from './controllers.ts';
import { listFaultyObjects, reportFaultyObjects } from './faulty.ts';
import type { OperatorDeps } from './view/deps.ts';
import type { KindTable } from './kinds/row.ts';
import { OPERATOR_KINDS } from './kinds/table.ts';
import { serveHealth } from './kernel/health.ts';
import { OperatorMetrics } from './kernel/metrics.ts';
import { WorkQueue } from './kernel/queue.ts';
import { Writer } from './kernel/writer.ts';
import { sweepBackups } from './backup/sweep.ts';
import { sweepBuilds } from './revision/build/sweep.ts';
import { listGatewayUrls } from './scale/gateways.ts';
import { exportObjects } from './series/export-objects.ts';
import { sweepSecrets, type SweepOptions } from './secrets/sweep.ts';
import { registerWakeUps, type Queues } from './wake.ts';
import { createGatewayTalk } from './gateway-talk.ts';
import { describeDeadWatches, createWatches } from './watches.ts';

/** Milliseconds after which Secrets and builds that nothing refers to are removed. */
const SWEEP_EVERY = 600_000;
/** Milliseconds after which a leader that did not renew counts as stuck, so that the probe restarts it. */
const OVERDUE = 30_000;

export type OperatorOptions = {
  config: OperatorConfig;
  kube: CountedKube & Partial<ConnectedKube>;
  log: Log;
  /** Aborted on SIGTERM. */
  signal: AbortSignal;
  /** Returns where the gateways answer, if not where their Service says. */
  gateways?: () => string[];
  /** The kinds of objects that it works with, for tests that have one more. */
  table?: KindTable;
  /** Shorter times than a cluster's, for tests. */
  times?: { watch?: Partial<WatchTimings>; lease?: LeaseOptions['seconds']; sweep?: number };
};

export type Operator = {
  /** The port of /healthz, /readyz and /metrics. */
  port: number;
  /** Resolves when this process leads. */
  leading: Promise<void>;
  /** Resolves with how it ended. A process that lost its Lease must exit, because another one works now. */
  ended: Promise<'stopped' | 'lost'>;
  /** Stops: running reconciles finish, the Lease is released, watches close. */
  stop(): Promise<void>;
};

/** Starts watching at once, and starts working when this process leads. */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const { config, kube, log, signal, times = {} } = options;
  const [metrics, tracing] = [
    createMetrics(kube),
    await openTracing(config.tracing, { name: 'gx-operator', log }),
  ];
  const parts = createParts({ ...options, tracing }, metrics);
  metrics.watchAges(() => parts.reflectors.map(({ state }) => state));
  const state = { synced: false, leads: false };
  const health = await serveHealth({
    host: config.host,
    port: config.port,
    log,
    metrics,
    missing: () =>
      state.synced ? describeDeadWatches(parts.reflectors) : 'the caches are not filled yet',
    isOverdue: () => state.leads && parts.election.renewAge > OVERDUE,
  });
  for (const reflector of parts.reflectors) reflector.start();
  const stopped = new AbortController();
  const stop = (): void => stopped.abort(new Error('the operator was stopped'));
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  const leading = Promise.withResolvers<void>();

  const runAsLeader = async (): Promise<End> => {
    await Promise.all(parts.reflectors.map((reflector) => reflector.synced));
    state.synced = true;
    await parts.election.acquire(stopped.signal);
    state.leads = true;
    metrics.createLeaderObserver(config.leaseName)(true);
    const end = parts.election.hold(stopped.signal);
    await Promise.race([end, startWork()]);
    return end;
  };
  /** Work begins with a view no older than the last leader's, because an older one would undo that leader's work. */
  const startWork = async (): Promise<void> => {
    await Promise.all(
      parts.reflectors.map((reflector) => reflector.waitForVersion(parts.election.since)),
    );
    await parts.deps.routeParents.look(stopped.signal);
    parts.begin(stopped.signal);
    runSweeps(
      { ...parts.deps, log, namespaces: config.namespaces, every: times.sweep ?? SWEEP_EVERY },
      stopped.signal,
    ).catch(stop);
    leading.resolve();
  };
  const close = async (end: End): Promise<End> => {
    stop();
    await Promise.all(parts.controllers.map((controller) => controller.stop()));
    if (end === 'stopped') await parts.election.release();
    await Promise.all(parts.reflectors.map((reflector) => reflector.stop()));
    await Promise.all([health.stop(1000), tracing?.close()]);
    signal.removeEventListener('abort', stop);
    log.info({ end }, 'operator ended');
    return end;
  };
  const ended = waitForEnd(runAsLeader(), stopped.signal, log).then(close);
  return {
    port: health.port,
    leading: leading.promise,
    ended,
    stop: () => (stop(), ended.then(() => undefined)),
  };
}

const runSweeps = (options: SweepOptions, signal: AbortSignal): Promise<unknown> =>
  Promise.all([
    sweepSecrets(options, signal),
    sweepBuilds(options, signal),
    sweepBackups(options, signal),
  ]);

type End = 'stopped' | 'lost';

type TracedOptions = OperatorOptions & { tracing: Tracing | undefined };

/**
 * Milliseconds that an object rests after a reconcile. A pod that starts changes its owners five times within a moment,
 * and the operator's own writes come back as changes.
 */
const PACE = 100;

function createParts(
  { config, kube, log, tracing, times = {}, ...given }: TracedOptions,
  metrics: OperatorMetrics,
) {
  const table = given.table ?? OPERATOR_KINDS;
  const builds = buildNamespaces(config.settings.builder);
  const caches = createCaches({ buildNamespaces: builds, table });
  measure(metrics, caches);
  const resumeQueues = (): void => Object.values(queues).forEach((queue) => queue.resume());
  const election = createElection({ config, kube, log, times }, resumeQueues);
  // Work that could not be written is not begun. It would fail repeatedly and then wait long for its next turn.
  const createQueue = (kind: string): WorkQueue =>
    new WorkQueue(metrics.queue(kind), PACE, () => election.holds);
  const queues = {
    deployments: createQueue('deployment'),
    revisions: createQueue('revision'),
    listeners: createQueue('listener'),
  };
  const missing = new MissingKinds();
  registerWakeUps(caches, queues, { buildNamespaces: builds, table, missing });
  // All writes except those of the Lease go through the fence.
  const door = kube.buildFenced?.(() => election.holds) ?? kube;
  const writer = new Writer(door, listWrittenKinds(caches, table));
  const settings = { ...config.settings, findAccountSecrets: buildAccountLookup(caches.accounts) };
  const gateways = given.gateways ?? (() => listGatewayUrls(caches.gateways.list()));
  const { ports, follower, teller } = createGatewayTalk(
    { caches, settings, queues, log },
    { kube: door, namespace: config.namespace, gateways, metrics },
  );
  const gitPlaces = buildGitPlaces(settings, new Lookups(settings.proxies));
  const looking = { kube: door, caches, settings, gitPlaces };
  const { run: look, ...looks } = createGitLooks(looking, queues, log);
  const routeParents = createRouteParents({ ...looking, queues, log });
  const deps = {
    ...looking,
    table,
    missing,
    routeParents,
    writer,
    ...looks,
    ...createTurns(),
    ports,
    absences: () => election.absences,
    work: follower,
  } satisfies OperatorDeps;
  const record = createRecorder({
    kube: door,
    log,
    controller: `gx.dev/${OPERATOR}`,
    instance: config.identity,
  });
  const tell = reportFaultyObjects(caches, { record, log });
  const controllers = createControllers({ deps, queues, record, log, metrics, config, tracing });
  return {
    deps,
    election,
    controllers,
    begin: (until: AbortSignal): void => {
      tell();
      for (const controller of controllers) controller.start();
      if (settings.gateway !== undefined) {
        void follower.run(until);
        void teller.run(until);
      }
      look(until);
      void routeParents.run(until);
    },
    reflectors: createWatches({
      kube: door,
      log,
      caches,
      table,
      missing,
      observer: metrics.createWatchObserver(),
      config,
      timings: times.watch,
    }),
  };
}

const createTurns = () => ({
  buildTurns: new BuildTurns(),
  backupTurns: new Limiter(1),
  restartTurns: new TakenTurns(),
});

/** The Lease names the version of its holder, so that an operator sees the version before it. */
const createElection = (
  { config, kube, log, times }: Omit<OperatorOptions, 'signal'>,
  renewed: () => void,
): Election =>
  new Election({
    kube,
    log,
    namespace: config.namespace,
    name: config.leaseName,
    identity: config.identity,
    annotations: { [OPERATOR_VERSION]: readPlatformVersion() },
    renewed,
    ...(times?.lease && { seconds: times.lease }),
  });

function createMetrics(kube: OperatorOptions['kube']): OperatorMetrics {
  const metrics = new OperatorMetrics();
  kube.addRequestListener?.(metrics.createRequestObserver());
  return metrics;
}

/** Lets the metrics read the caches, at each change or at each scrape. */
function measure(metrics: OperatorMetrics, caches: Caches): void {
  exportObjects(metrics, caches);
  metrics.measureFaulty(() => listFaultyObjects(caches));
}

const createRouteParents = ({
  kube,
  caches,
  settings: { route },
  queues,
  log,
}: Parameters<typeof createGatewayTalk>[0] & { kube: Kube }): RouteParents =>
  new RouteParents({
    kube,
    parents: route?.kind === 'HTTPRoute' && route.timeouts === 'auto' ? route.parentRefs : [],
    changed: () => {
      for (const { metadata } of caches.deployments.list())
        queues.deployments.add(buildObjectKey(metadata), 'background');
    },
    log,
  });

/** The looks at git hosts: at the branches that deployments follow, and before builds. */
function createGitLooks(looking: Parameters<typeof lookAtBranch>[0], queues: Queues, log: Log) {
  const branches = createBranchFollower(looking, queues, log);
  const buildLooks = new BuildLooks((key) => queues.revisions.add(key));
  const run = (until: AbortSignal): void => {
    if (looking.settings.builder === undefined) return;
    void branches.run(until);
    buildLooks.run(until);
  };
  return { branches, buildLooks, run };
}

function createBranchFollower(
  looking: Parameters<typeof lookAtBranch>[0],
  { deployments }: Queues,
  log: Log,
): BranchFollower {
  const follower: BranchFollower = new BranchFollower({
    followers: trackFollowers(looking.caches, () => follower.searchNow()),
    placeOf: (key) => findBranchPlace(looking, key),
    ask: (key, signal) => lookAtBranch(looking, key, signal),
    wake: (key) => deployments.add(key),
    log,
  });
  return follower;
}

/**
 * Resolves with the signal before leadership, or with how leadership ended. A failure to lead ends the process like a
 * lost lease.
 */
async function waitForEnd(lead: Promise<End>, signal: AbortSignal, log: Log): Promise<End> {
  const stopped = new Promise<End>((resolve) => {
    signal.addEventListener('abort', () => resolve('stopped'), { once: true });
  });
  try {
    return await Promise.race([lead, stopped]);
  } catch (error) {
    if (signal.aborted) return 'stopped';
    log.error({ err: toError(error) }, 'leading failed');
    return 'lost';
  }
}
