import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Unavailable } from '../../errors.ts';
import type { ListeningServer } from '../../http/server/listen.ts';
import { probeRoutes, serveProbes } from '../../http/server/probes.ts';
import type { Log } from '../../log.ts';
import type { OperatorMetrics } from './metrics.ts';

/** Nanoseconds. An event loop that is blocked for this long would also miss its Lease. */
const LONGEST_BLOCK = 8e9;

export type HealthOptions = {
  host: string;
  port: number;
  log: Log;
  metrics: OperatorMetrics;
  /** Says what is missing, or returns undefined for a process that is ready. A standby is ready too. */
  missing: () => string | undefined;
  /** Returns true when this process leads and has not renewed its Lease in time. */
  isOverdue: () => boolean;
};

/** Serves /healthz, /readyz and /metrics on one port. */
export async function serveHealth(options: HealthOptions): Promise<ListeningServer> {
  const delay = monitorEventLoopDelay({ resolution: 100 });
  delay.enable();
  const routes = probeRoutes({
    alive: () => {
      const blocked = delay.max > LONGEST_BLOCK;
      delay.reset();
      if (blocked) throw new Unavailable('the event loop was blocked');
      if (options.isOverdue()) throw new Unavailable('the lease is overdue');
    },
    missing: options.missing,
    metrics: async () => options.metrics.print(),
  });
  return serveProbes(routes, options);
}
