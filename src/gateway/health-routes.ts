import { Type } from 'typebox';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { Unavailable } from '../errors.ts';
import { json, routeFor, text, type Route } from '../http/route.ts';
import { REPORTS_PATH } from '../schema/work-report.ts';
import type { Reports } from './reports.ts';

type Parts = { reports: Reports; deployments: () => number; isReady: () => boolean };

/** Returns what the platform itself asks: probes, metrics, and the reports of all deployments. */
export function healthRoutes({ reports, deployments, isReady }: Parts): Route<undefined>[] {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gaugeOf = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] });
  const known = gaugeOf('gx_gateway_deployments', 'Deployments that the gateway knows.');
  const reporting = gaugeOf('gx_gateway_reporting_deployments', 'Deployments that have reported work here lately.');
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
      handler: async () => {
        known.set(deployments());
        reporting.set(reports.size);
        return text(await registry.metrics(), registry.contentType);
      },
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
