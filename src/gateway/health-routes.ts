import { Measures } from '../http/server/measures.ts';
import { watchMetrics } from '../kube/kube-metrics.ts';
import type { WatchState } from '../kube/watch.ts';
import { probeRoutes } from '../http/server/probes.ts';
import type { Route } from '../http/routes/route.ts';

type GatewayState = {
  reports: { size: number };
  deployments: () => number;
  doors: () => number;
  held: { count: number; refused: number };
  waking: { count: number };
  watches: () => WatchState[];
  isReady: () => boolean;
};

/** Returns the routes of probes and metrics, which the cluster reads. */
export function buildHealthRoutes({ isReady, ...parts }: GatewayState): Route<undefined>[] {
  const measures = new Measures();
  const measured = registerMetrics(measures, parts);
  const printMetrics = async () => ({
    body: await measured(),
    contentType: measures.registry.contentType,
  });
  return probeRoutes({
    missing: () => (isReady() ? undefined : 'the deployments are not known yet'),
    metrics: printMetrics,
  });
}

/** Registers the metrics of this process. Returns the function that measures and prints them. */
function registerMetrics(
  measures: Measures,
  { reports, deployments, doors, held, waking, watches }: Omit<GatewayState, 'isReady'>,
): () => Promise<string> {
  watchMetrics(measures, watches);
  const known = measures.createGauge(
    'gx_gateway_deployments',
    'Deployments that the gateway knows.',
  );
  const reporting = measures.createGauge(
    'gx_gateway_reporting_deployments',
    'Deployments that have reported work here lately.',
  );
  const open = measures.createGauge(
    'gx_gateway_doors',
    'Deployments that may sleep, for each of which a port is open.',
  );
  const waiting = measures.createGauge(
    'gx_gateway_held_requests',
    'Requests that wait for a deployment to wake.',
  );
  const woken = measures.createCounter(
    'gx_gateway_wakes_total',
    'Sleeps that a request has ended here.',
  );
  const refused = measures.createCounter(
    'gx_gateway_refused_requests_total',
    'Requests answered with 503 because too many waited, or the process ended.',
  );
  return () => {
    known.set(deployments());
    reporting.set(reports.size);
    open.set(doors());
    waiting.set(held.count);
    for (const [counter, value] of [
      [woken, waking.count],
      [refused, held.refused],
    ] as const) {
      counter.reset();
      counter.inc(value);
    }
    return measures.registry.metrics();
  };
}
