import { Type } from 'typebox';
import { Unavailable } from '../../errors.ts';
import { json, text, type Route } from '../../http/route.ts';
import type { Caller } from '../caller.ts';
import type { ControlPlaneMetrics } from '../metrics.ts';
import { DOCS_PAGE } from './docs-page.ts';
import { restRoutes } from './route.ts';

const restRoute = restRoutes('system');
const Ok = Type.Object({ ok: Type.Boolean() });

/**
 * `synced` is true once the cluster has been read, so that answers are complete. `stopping` is true once the process is
 * to end.
 */
export type Health = { synced: () => boolean; stopping: () => boolean };

export type SystemParts = { metrics: ControlPlaneMetrics; health: Health; document: () => unknown };

export const controlPlaneSystemRoutes = (parts: SystemParts): Route<Caller>[] => [...probes(parts), ...documentPages(parts)];

const probes = ({ metrics, health }: SystemParts): Route<Caller>[] => [
  restRoute({
    method: 'get',
    path: '/healthz',
    id: 'healthz',
    summary: 'The process is alive.',
    access: 'open',
    answers: { 200: { description: 'Alive.', schema: Ok } },
    handler: () => json({ ok: true }),
  }),
  restRoute({
    method: 'get',
    path: '/readyz',
    id: 'readyz',
    summary: 'The process has read the cluster and takes requests.',
    access: 'open',
    answers: { 200: { description: 'Ready.', schema: Ok }, 503: { description: 'Starting or stopping.' } },
    handler: () => {
      if (!health.synced() || health.stopping()) throw new Unavailable('The control plane is starting or stopping.');
      return json({ ok: true });
    },
  }),
  restRoute({
    method: 'get',
    path: '/metrics',
    id: 'metrics',
    summary: 'Metrics in Prometheus format.',
    access: 'open',
    answers: { 200: { description: 'Metrics.', contentType: 'text/plain', schema: Type.String() } },
    handler: async () => text(await metrics.registry.metrics(), metrics.registry.contentType),
  }),
];

const documentPages = ({ document }: SystemParts): Route<Caller>[] => [
  restRoute({
    method: 'get',
    path: '/openapi.json',
    id: 'openapi',
    summary: 'This interface as an OpenAPI document.',
    access: 'open',
    answers: { 200: { description: 'OpenAPI 3.0.3.', schema: Type.Object({}) } },
    handler: () => json(document()),
  }),
  restRoute({
    method: 'get',
    path: '/docs',
    id: 'docs',
    summary: 'This interface as a page.',
    access: 'open',
    answers: { 200: { description: 'A page.', contentType: 'text/html', schema: Type.String() } },
    handler: () => text(DOCS_PAGE, 'text/html; charset=utf-8'),
  }),
];
