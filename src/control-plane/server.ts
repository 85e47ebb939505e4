import { Type } from 'typebox';
import { Unavailable } from '../errors.ts';
import { openApiDocument } from '../http/openapi.ts';
import { probeRoutes } from '../http/probes.ts';
import type { Route } from '../http/route.ts';
import { createApp } from '../http/server.ts';
import { whileAllowed } from '../http/while-allowed.ts';
import type { CountedKube } from '../kube/client.ts';
import { auditTo } from './audit.ts';
import { Authenticator, LOGIN_FAILURES, loginFailureOf, permit } from './auth/authenticate.ts';
import { trustedProxiesOf } from './auth/trusted-proxies.ts';
import { BearerTokens } from './auth/bearer.ts';
import { limitingFailures, streamPlaces } from './auth/limits.ts';
import type { Caller } from './caller.ts';
import type { ControlPlane } from './control-plane.ts';
import { refusing } from './kube-refusal.ts';
import { createControlPlaneMetrics, type ControlPlaneMetrics } from './metrics.ts';
import { agentKeyRoutes } from './routes/agent-keys.ts';
import { agentPassRoutes } from './routes/agent-passes.ts';
import { authCheckRoutes } from './routes/auth-check.ts';
import { backupRoutes } from './routes/backups.ts';
import { deploymentRoutes } from './routes/deployments.ts';
import { eventRoutes } from './routes/events.ts';
import { integrationRoutes } from './routes/integrations.ts';
import { listenerRoutes } from './routes/listeners.ts';
import { lifecycleRoutes } from './routes/lifecycle.ts';
import { logRoutes } from './routes/logs.ts';
import { overviewRoutes } from './routes/overview.ts';
import { revisionRoutes } from './routes/revisions.ts';
import { type Health, controlPlaneSystemRoutes } from './routes/system.ts';
import { tracingProjectRoutes } from './routes/tracing-projects.ts';
import { whoamiRoutes } from './routes/whoami.ts';
import { vendorRoutes } from './vendor-words.ts';
import type { Json } from '../schema/json.ts';

const INFO = {
  title: 'gx-platform control plane',
  version: '0.1.0',
  description:
    'Creates and manages deployments of the agent server. An API key in X-Api-Key is required, or a bearer token of the identity provider where one is configured; X-Tenant-Id may be sent and must then be a tenant of the caller.',
};

const SECURITY = {
  ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'Made by the command api-key.' },
  TenantId: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Tenant-Id',
    description:
      'Names the tenant, beside a key or a token; required when a token belongs to several tenants. It gives no access by itself.',
  },
  Bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token of the identity provider that the installation trusts.',
  },
};

const Loc = Type.Unsafe<string | number>({ oneOf: [{ type: 'string' }, { type: 'integer' }] });
const ValidationError = Type.Object({ loc: Type.Array(Loc), msg: Type.String(), type: Type.String() });
const ERRORS = {
  invalid: Type.Object({ detail: Type.Array(ValidationError) }),
  problem: Type.Object({ detail: Type.String() }),
};

/** Returns every route of the control plane. */
export function controlPlaneRoutes(plane: ControlPlane): Route<Caller>[] {
  const parts = [
    deploymentRoutes,
    agentKeyRoutes,
    agentPassRoutes,
    backupRoutes,
    authCheckRoutes,
    whoamiRoutes,
    overviewRoutes,
    lifecycleRoutes,
    revisionRoutes,
    eventRoutes,
    logRoutes,
    listenerRoutes,
    integrationRoutes,
    tracingProjectRoutes,
  ];
  return parts.flatMap((part) => part(plane)).map(wordingRefusals);
}

/** Words those refusals of the API server that a handler does not word itself. */
const wordingRefusals = (route: Route<Caller>): Route<Caller> => ({
  ...route,
  handler: (request) => refusing(async () => route.handler(request)),
});

/** Ends a stream once the credentials that opened it are no longer valid. */
const endingStreams =
  (authenticator: Authenticator) =>
  (route: Route<Caller>): Route<Caller> => ({
    ...route,
    handler: async (request) => {
      const reply = await route.handler(request);
      if (reply.kind !== 'sse') return reply;
      const again = () => authenticator.authenticate(request.headers, route.access);
      return { ...reply, events: (signal) => whileAllowed(reply.events, { signal, again }) };
    },
  });

/** Returns the OpenAPI document of the routes. */
export const controlPlaneDocument = (routes: Route<Caller>[]): Json => openApiDocument(routes, INFO, SECURITY, ERRORS);

type OwnHealth = Health & { certificateUntil: () => Date | undefined };

/** Builds the control plane as a koa application, and the routes of the cluster's port. */
export function buildControlPlane(plane: ControlPlane, health: OwnHealth, keys: CountedKube) {
  const { stored, integrations, config } = plane;
  const metrics = createControlPlaneMetrics({
    stored,
    watches: () => [...stored.watches, integrations.watch].map(({ state }) => state),
    loginFailures: LOGIN_FAILURES,
    certificateUntil: config.tls && health.certificateUntil,
  });
  return { app: controlPlaneApp(plane, { health, keys, metrics }), probes: controlPlaneProbes(health, metrics) };
}

const controlPlaneProbes = (health: Health, { registry }: ControlPlaneMetrics): Route<undefined>[] =>
  probeRoutes({
    missing: () => (health.synced() && !health.stopping() ? undefined : 'the control plane is starting or stopping'),
    metrics: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
  });

type AppParts = { health: Health; keys: CountedKube; metrics: ControlPlaneMetrics };

/** API keys are looked up through `keys`. */
function controlPlaneApp(plane: ControlPlane, { health, keys, metrics }: AppParts) {
  for (const client of new Set([plane.kube, plane.logs, keys])) client.onRequest?.(metrics.onRequest);
  const { config, log } = plane;
  const tokens = config.oidc && new BearerTokens({ config: config.oidc, proxies: config.proxies, log });
  const authenticator = new Authenticator({ kube: keys, namespace: config.namespace, log, tokens });
  const audit = auditTo(log);
  const failed = (error: unknown): void => {
    const reason = loginFailureOf(error);
    if (reason !== undefined) metrics.onFailedLogin(reason);
  };
  const isDeployment = (id: string): boolean => plane.stored.withId(id).length > 0;
  const limited = limitingFailures({ authenticator, isDeployment, perMinute: config.limits.failedLoginsPerMinute, failed });
  const routes: Route<Caller>[] = controlPlaneRoutes(plane).map(endingStreams(authenticator));
  const all: Route<Caller>[] = [...routes, ...controlPlaneSystemRoutes({ health, document: () => controlPlaneDocument(all) })];
  return createApp<Caller>({
    routes: [...all, ...vendorRoutes(routes)],
    log,
    invalid: 'list',
    authenticate: (headers, access, { source }) => {
      if (access !== 'open' && !health.synced()) throw new Unavailable('The control plane has not read the cluster yet; try again.');
      return limited(headers, access, source);
    },
    trusts: trustedProxiesOf(config),
    nameOf: ({ tenantId }) => tenantId,
    opens: streamPlaces(config.limits, metrics.opens),
    body: config.body,
    permit,
    onAnswer: (answer) => {
      metrics.onAnswer(answer);
      audit(answer);
    },
  });
}
