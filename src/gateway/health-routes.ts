import { Type } from 'typebox';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { Unavailable } from '../errors.ts';
import { json, routeFor, text, type Route } from '../http/route.ts';
import { REPORTS_PATH } from '../schema/work-report.ts';
import type { HeldRequests } from './held-requests.ts';
import type { Waking } from './waking.ts';
import type { Reports } from './reports.ts';

type Parts = {
  reports: Reports;
  deployments: () => number;
  doors: () => number;
  held: Pick<HeldRequests, 'count' | 'refused'>;
  waking: Pick<Waking, 'count'>;
  isReady: () => boolean;
};

/** Returns what the platform itself asks: probes, metrics, and the reports of all deployments. */
export function healthRoutes({ isReady, ...parts }: Parts): Route<undefined>[] {
  const { reports } = parts;
  const registry = new Registry();
  const metrics = metricsIn(registry, parts);
  const route = routeFor<undefined>();
  const shared = { method: 'get', tag: 'System', access: 'open', answers: { 200: { description: 'Well.' } } } as const;
  return [
    route({ ...shared, path: '/healthz', id: 'healthz', summary: 'Is the process alive', handler: () => json({ ok: true }) }),
    route({
      ...shared,
      path: '/readyz',
      id: 'readyz',
      summary: 'Are all deployments known',
      handler: () => {
        if (!isReady()) throw new Unavailable('the deployments are not known yet');
        return json({ ok: true });
      },
    }),
    route({
      ...shared,
      path: '/metrics',
      id: 'metrics',
      summary: 'Prometheus metrics',
      handler: async () => text(await metrics(), registry.contentType),
    }),
    route({
      ...shared,
      path: REPORTS_PATH,
      id: 'reports',
      summary: 'Reports of all deployments since a cursor',
      query: Type.Object({ instance: Type.Optional(Type.String()), cursor: Type.Optional(Type.Integer({ minimum: 0 })) }),
      handler: ({ query }) => json(reports.since(query)),
    }),
  ];
}

/** Registers the metrics of this process. Returns what measures and prints them. */
function metricsIn(registry: Registry, { reports, deployments, doors, held, waking }: Omit<Parts, 'isReady'>): () => Promise<string> {
  collectDefaultMetrics({ register: registry });
  const gaugeOf = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] });
  const known = gaugeOf('gx_gateway_deployments', 'Deployments that the gateway knows.');
  const reporting = gaugeOf('gx_gateway_reporting_deployments', 'Deployments that have reported work here lately.');
  const open = gaugeOf('gx_gateway_doors', 'Deployments that may sleep, for each of which a port is open.');
  const waiting = gaugeOf('gx_gateway_held_requests', 'Requests that wait for a deployment to wake.');
  const woken = new Counter({ name: 'gx_gateway_wakes_total', help: 'Sleeps that a request has ended here.', registers: [registry] });
  const refused = new Counter({
    name: 'gx_gateway_refused_requests_total',
    help: 'Requests answered with 503 because too many waited, or the process ended.',
    registers: [registry],
  });
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
    return registry.metrics();
  };
}
