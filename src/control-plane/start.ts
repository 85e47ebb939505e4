import { setTimeout as wait } from 'node:timers/promises';
import type { ControlPlaneConfig } from '../config/platform/control-plane.ts';
import { buildGitPlaces } from '../git/places.ts';
import { listen } from '../http/server/listen.ts';
import { Lookups } from '../http/outgoing/lookups.ts';
import { serveProbes } from '../http/server/probes.ts';
import { addRequestSpans } from '../http/server/request-spans.ts';
import type { CountedKube } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import { resolveTenantId } from '../schema/platform/objects/tenant-id.ts';
import { buildSpanStarter } from '../tracing/request-spans.ts';
import { openTracing } from '../tracing/open.ts';
import { ListenerLock } from './listener-lock.ts';
import { LONGEST_PAGE } from './paging.ts';
import { wrapReadsInTurn } from './reads-in-turn.ts';
import { SecretValues } from './secrets.ts';
import { buildControlPlane } from './server.ts';
import { StoredIntegrations } from './stored/integrations.ts';
import { Overview } from './stored/overview.ts';
import { Stored } from './stored/stored.ts';

type StartOptions = {
  config: ControlPlaneConfig;
  kube: CountedKube;
  /** Has connections of its own for looking up API keys, so that no amount of other calls keeps a caller waiting. */
  keys: CountedKube;
  /** Has connections of its own for the logs of pods, which may be long. */
  logs: CountedKube;
  log: Log;
  signal: AbortSignal;
};

/** Builds the function that names in whose turn a namespace is read: of its tenant, of itself, or of nobody. */
const buildTurnNaming =
  (stored: Stored, config: StartOptions['config']) =>
  (namespace = config.namespace): string | undefined => {
    if (namespace === config.namespace) return undefined;
    const owner = stored.getOwners().get(namespace);
    return owner === undefined
      ? `namespace ${namespace}`
      : resolveTenantId(owner.spec, config.defaultTenantId);
  };

/**
 * Listens at once, and is ready when the cluster has been read. When the signal is aborted, it is no longer ready, but
 * it answers until `stop` has given load balancers time to notice. Then streams end, open requests finish, and the port
 * closes.
 */
export async function startControlPlane({
  config,
  kube,
  keys,
  logs,
  log,
  signal,
}: StartOptions): Promise<{ port: number; healthPort: number; stop(): Promise<void> }> {
  const stored = new Stored({ kube, config, log });
  const integrations = new StoredIntegrations({ kube, config, log });
  let synced = false;
  const closing = new AbortController();
  let certificateUntil: Date | undefined;
  const health = {
    synced: () => synced,
    stopping: () => signal.aborted,
    certificateUntil: () => certificateUntil,
  };
  const listenerLock = new ListenerLock({ kube, log, namespace: config.namespace });
  const reads = wrapReadsInTurn(kube, buildTurnNaming(stored, config));
  const secrets = new SecretValues(reads);
  const plane = {
    config,
    kube: reads,
    logs,
    log,
    gitPlaces: buildGitPlaces(config, new Lookups(config.proxies)),
    now: () => new Date(),
    stopping: closing.signal,
    stored,
    overview: new Overview(stored),
    integrations,
    secrets,
    listenerLock,
  };
  const tracing = await openTracing(config.tracing, { name: 'gx-control-plane', log });
  const { app, probes } = buildControlPlane(plane, health, keys);
  if (tracing !== undefined) addRequestSpans(app, buildSpanStarter(tracing, { roots: true }));
  const { host, port: wantedPort, healthPort, tls } = config;
  const noteCertificate = (until: Date): void => void (certificateUntil = until);
  const listener = await listen(app, {
    host,
    port: wantedPort,
    tls: tls && { files: tls, log, served: noteCertificate },
  });
  const cluster = await serveProbes(probes, { host, port: healthPort, log });
  log.info(
    {
      port: listener.port,
      health_port: cluster.port,
      namespaces: config.namespaces,
      hosting: config.hosting,
    },
    'control plane listens',
  );
  const startReading = async (): Promise<void> => {
    await Promise.all([stored.start(), integrations.start()]);
    await secrets.readAhead(stored.listDeployments().slice(0, LONGEST_PAGE));
    synced = true;
    log.info({ deployments: stored.listDeployments().length }, 'control plane is ready');
  };
  void startReading();
  return {
    port: listener.port,
    healthPort: cluster.port,
    stop: async () => {
      listener.sendAway();
      await wait(config.shutdownDelaySeconds * 1000);
      closing.abort();
      await listener.stop(config.graceSeconds * 1000);
      await cluster.stop(0);
      await Promise.all([stored.stop(), integrations.stop()]);
      await tracing?.close();
      await Promise.all([kube, keys, logs].map((one) => one.close()));
      log.info({}, 'control plane stopped');
    },
  };
}
