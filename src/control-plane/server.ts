import { Type } from 'typebox';
import { Unavailable } from '../errors.ts';
import { openApiDocument } from '../http/openapi.ts';
import type { Route } from '../http/route.ts';
import { createApp } from '../http/server.ts';
import { Gate } from './auth/authenticate.ts';
import { deploymentRoutes } from './deployments/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { integrationRoutes } from './integrations/routes.ts';
import { refusing } from './kube-refusal.ts';
import { listenerRoutes } from './listeners/routes.ts';
import { logRoutes } from './logs/routes.ts';
import type { Caller, Needs } from './needs.ts';
import { revisionRoutes } from './revisions/routes.ts';
import { createMetrics } from './system/metrics.ts';
import { systemRoutes, type Health } from './system/routes.ts';
import { tracingProjectRoutes } from './tracing-projects/routes.ts';
import { vendorRoutes } from './vendor-words.ts';

type Json = Record<string, unknown>;

const INFO = {
  title: 'gx-platform control plane',
  version: '0.1.0',
  description:
    'Creates and manages deployments of the agent server. X-Api-Key is required; X-Tenant-Id may be sent and must then be the tenant of the key.',
};

const SECURITY = { ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } };

const Loc = Type.Unsafe<string | number>({ oneOf: [{ type: 'string' }, { type: 'integer' }] });
const ValidationError = Type.Object({ loc: Type.Array(Loc), msg: Type.String(), type: Type.String() });
const ERRORS = {
  invalid: Type.Object({ detail: Type.Array(ValidationError) }),
  problem: Type.Object({ detail: Type.String() }),
};

/** Every route of the control plane. */
export function controlPlaneRoutes(needs: Needs): Route<Caller>[] {
  const parts = [deploymentRoutes, revisionRoutes, eventRoutes, logRoutes, listenerRoutes, integrationRoutes, tracingProjectRoutes];
  return parts.flatMap((part) => part(needs)).map(wordingRefusals);
}

/** Refusals of the API server that a handler does not word itself. */
const wordingRefusals = (route: Route<Caller>): Route<Caller> => ({
  ...route,
  handler: (request) => refusing(async () => route.handler(request)),
});

/** The routes as an OpenAPI document. */
export const controlPlaneDocument = (routes: Route<Caller>[]): Json =>
  openApiDocument(routes, INFO, SECURITY, ERRORS as unknown as { invalid: Json; problem: Json });

/** The control plane as a koa application. */
export function controlPlaneApp(needs: Needs, health: Health) {
  const metrics = createMetrics(needs.stored);
  const routes: Route<Caller>[] = controlPlaneRoutes(needs);
  const all: Route<Caller>[] = [...routes, ...systemRoutes({ metrics, health, document: () => controlPlaneDocument(all) })];
  const gate = new Gate({ kube: needs.kube, namespace: needs.config.namespace });
  return createApp<Caller>({
    routes: [...all, ...vendorRoutes(routes)],
    log: needs.log,
    invalid: 'list',
    authenticate: (headers, access) => {
      if (access !== 'open' && !health.synced()) throw new Unavailable('The control plane has not read the cluster yet; try again.');
      return gate.authenticate(headers, access);
    },
    bodyLimit: needs.config.bodyLimit,
    onAnswer: metrics.onAnswer,
  });
}
