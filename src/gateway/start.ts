import { randomUUID } from 'node:crypto';
import type { GatewayConfig } from '../config/gateway.ts';
import { listen } from '../http/listen.ts';
import { createApp } from '../http/server.ts';
import type { Kube } from '../kube/kube.ts';
import type { Log } from '../log.ts';
import { healthRoutes } from './health-routes.ts';
import { KnownDeployments } from './known-deployments.ts';
import { Reports } from './reports.ts';
import { workRoutes } from './work-routes.ts';

/** A report has a dozen values. */
const SMALL_BODIES = { bytes: 4096, selectionBytes: 4096, values: 100, listItems: 10 };
/** Milliseconds that requests under way get when the process stops. */
const GRACE = 2000;

type StartOptions = { config: GatewayConfig; kube: Kube; log: Log; signal: AbortSignal };

export type Gateway = { port: number; healthPort: number; stop(): Promise<void> };

/** Listens at once, and is ready when all deployments are known. */
export async function startGateway({ config, kube, log, signal }: StartOptions): Promise<Gateway> {
  const known = new KnownDeployments({ kube, log, namespaces: config.namespaces });
  const reports = new Reports(randomUUID());
  const state = { synced: false };
  const isReady = (): boolean => state.synced && !signal.aborted;
  const shared = { log, invalid: 'sentence', authenticate: () => undefined, body: SMALL_BODIES } as const;
  const { host, port, healthPort } = config;
  const work = await listen(createApp({ ...shared, routes: workRoutes({ known, reports, isReady: () => state.synced }) }), { host, port });
  const health = await listen(createApp({ ...shared, routes: healthRoutes({ reports, deployments: () => known.size, isReady }) }), {
    host,
    port: healthPort,
  });
  const reading = async (): Promise<void> => {
    await known.start();
    state.synced = true;
    log.info({ port: work.port, deployments: known.size }, 'gateway is ready');
  };
  void reading();
  return {
    port: work.port,
    healthPort: health.port,
    stop: async () => {
      work.sendAway();
      await work.stop(GRACE);
      await health.stop(GRACE);
      await known.stop();
      await kube.close();
      log.info({}, 'gateway stopped');
    },
  };
}
