import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { GatewayConfig } from '../config/platform/gateway.ts';
import { buildTrusts } from '../http/callers/client.ts';
import { listen } from '../http/server/listen.ts';
import type { BeginsSpan } from '../http/server/request-spans.ts';
import { createApp } from '../http/server/server.ts';
import { createClientSigner } from '../http/callers/signed-client.ts';
import type { Kube } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import { names } from '../schema/names.ts';
import { buildSpanStarter } from '../tracing/request-spans.ts';
import { openTracing } from '../tracing/open.ts';
import { openDoor } from './door.ts';
import { Doors } from './doors.ts';
import { serveProbes } from '../http/server/probes.ts';
import { buildHealthRoutes } from './health-routes.ts';
import { HeldRequests } from './held-requests.ts';
import { type KnownDeployment, KnownDeployments } from './known-deployments.ts';
import { Reports } from './reports.ts';
import { type AgentPlace, Waking } from './waking.ts';
import { WakingCallers } from './waking-callers.ts';
import { REPORT_BODIES, buildWorkRoutes } from './work-routes.ts';
import { filterGatewayKeys } from '../schema/wire/gateway-key.ts';
import { TenantWords } from './tenant-words.ts';
import { buildReportRoutes, WORD_BODIES } from './report-routes.ts';

/** Nothing but reports has a body. */
const SMALL_BODIES = { bytes: 4096, selectionBytes: 4096, values: 100, listItems: 10 };

/** Milliseconds that requests under way get when the process stops. */
const GRACE = 5000;

/** Milliseconds in which several changes of deployments become one of the doors. */
const SOON = 20;

type StartOptions = {
  config: GatewayConfig;
  kube: Kube;
  log: Log;
  signal: AbortSignal;
  /** Returns where the api pods of a deployment answer, if not at the Service that leads to them alone. */
  placeOf?: (deployment: KnownDeployment) => AgentPlace;
};

export type Gateway = {
  port: number;
  healthPort: number;
  reportsPort: number;
  stop(): Promise<void>;
};

/** Listens at once, and is ready when all deployments are known and the ports of those that may sleep are open. */
export async function startGateway(options: StartOptions): Promise<Gateway> {
  const { config, kube, log, signal } = options;
  const tracing = await openTracing(config.tracing, { name: 'gx-gateway', log });
  const parts = createParts(options, tracing && buildSpanStarter(tracing, { roots: true }));
  const { known, reports, tenantWords, doors, held, waking } = parts;
  const state = { synced: false };
  const isReady = (): boolean => state.synced && !signal.aborted;
  const shared = {
    log,
    invalid: 'sentence',
    authenticate: () => undefined,
    body: SMALL_BODIES,
  } as const;
  const { host, port, healthPort, reportsPort } = config;
  const working = {
    known,
    reports,
    tenantWords,
    gatewayKeys: parts.gatewayKeys,
    isReady: () => state.synced,
  };
  const work = await listen(
    createApp({ ...shared, body: REPORT_BODIES, routes: buildWorkRoutes(working) }),
    { host, port },
  );
  const measured = {
    deployments: () => known.size,
    doors: () => doors.count,
    held,
    waking,
    watches: () => known.listWatches(),
  };
  const health = await serveProbes(buildHealthRoutes({ reports, isReady, ...measured }), {
    host,
    port: healthPort,
    log,
  });
  const read = await listen(
    createApp({
      ...shared,
      body: WORD_BODIES,
      routes: buildReportRoutes(
        { reports, tenantWords, isOfOperator: (key) => known.isOfOperator(key) },
        parts.key,
      ),
    }),
    {
      host,
      port: reportsPort,
    },
  );
  // Held requests are answered at once; the client is to repeat them, and another process answers.
  const leave = (): void => held.leave();
  signal.addEventListener('abort', leave);
  const startReading = async (): Promise<void> => {
    await known.start();
    parts.keepDoors();
    state.synced = true;
    log.info({ port: work.port, deployments: known.size, doors: doors.count }, 'gateway is ready');
  };
  void startReading();
  return {
    port: work.port,
    healthPort: health.port,
    reportsPort: read.port,
    stop: async () => {
      leave();
      signal.removeEventListener('abort', leave);
      doors.close();
      work.sendAway();
      await Promise.all([work.stop(GRACE), parts.passedOn(GRACE)]);
      doors.end();
      await Promise.all([health.stop(GRACE), read.stop(GRACE)]);
      await known.stop();
      await tracing?.close();
      await kube.close();
      log.info({}, 'gateway stopped');
    },
  };
}

function createParts({ config, kube, log, placeOf }: StartOptions, begins: BeginsSpan | undefined) {
  const {
    host,
    namespaces,
    clusterDomain,
    controlPlaneUrl,
    issuerHosts,
    proxies,
    holdSeconds,
    trustedProxies,
  } = config;
  const known = new KnownDeployments({ kube, log, namespace: config.namespace, namespaces });
  const buildDirectPlace = ({ name, namespace }: KnownDeployment): AgentPlace => ({
    host: `${names.directService(name)}.${namespace}.svc.${clusterDomain}`,
    port: 80,
  });
  const waking = new Waking({
    kube,
    known,
    placeOf: placeOf ?? buildDirectPlace,
    holdSeconds,
    log,
  });
  const held = new HeldRequests(config.held);
  const callers = new WakingCallers({ controlPlaneUrl, issuerHosts, proxies, log });
  const signer = createClientSigner();
  const door = { callers, waking, held, trusts: buildTrusts(trustedProxies), signer, begins, log };
  const doors = new Doors({
    host,
    log,
    open: (key) => openDoor({ ...door, find: () => known.get(key) }),
  });
  let timer: NodeJS.Timeout | undefined;
  const keepDoors = (): void => doors.keep(known.listSleepers());
  known.setSleeperListener(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      keepDoors();
    }, SOON).unref();
  });
  /** Resolves when no request is under way any more, or the time is over. */
  const waitForRequests = async (milliseconds: number): Promise<void> => {
    const until = performance.now() + milliseconds;
    while (performance.now() < until && (await doors.countConnections()) > 0) await wait(SOON);
  };
  const listGatewayKeys = (): string[] => filterGatewayKeys([signer.key, ...known.gatewayKeys]);
  return {
    known,
    reports: new Reports(randomUUID()),
    tenantWords: new TenantWords(),
    waking,
    held,
    doors,
    keepDoors,
    passedOn: waitForRequests,
    key: signer.key,
    gatewayKeys: listGatewayKeys,
  };
}
