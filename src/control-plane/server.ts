import { Type } from 'typebox';
import { Unavailable } from '../errors.ts';
import { openApiDocument } from '../http/routes/openapi.ts';
import { probeRoutes } from '../http/server/probes.ts';
import type { Route } from '../http/routes/route.ts';
import { createApp } from '../http/server/server.ts';
import { streamWhileAllowed } from '../http/routes/while-allowed.ts';
import type { CountedKube } from '../kube/kube.ts';
import { buildAuditor } from './audit.ts';
import { Authenticator, LOGIN_FAILURES, getLoginFailure, permit } from './auth/authenticate.ts';
import { buildTrustedProxies } from './auth/trusted-proxies.ts';
import { BearerTokens } from './auth/bearer.ts';
import { limitFailures, streamPlaces } from './auth/limits.ts';
import type { Caller } from './caller.ts';
import type { ControlPlane } from './control-plane.ts';
import { callKube } from './kube-refusal.ts';
import { createControlPlaneMetrics, type ControlPlaneMetrics } from './metrics.ts';
import { agentKeyRoutes } from './routes/agent-keys.ts';
import { buildAgentPassRoutes } from './routes/agent-passes.ts';
import { authCheckRoutes } from './routes/auth-check.ts';
import { backupRoutes } from './routes/backups.ts';
import { deploymentRoutes } from './routes/deployments.ts';
import { eventRoutes } from './routes/events.ts';
import { buildIntegrationRoutes } from './routes/integrations.ts';
import { listenerRoutes } from './routes/listeners.ts';
import { lifecycleRoutes } from './routes/lifecycle.ts';
import { logRoutes } from './routes/logs.ts';
import { deploymentUsageRoutes } from './routes/usage.ts';
import { buildOverviewRoutes } from './routes/overview.ts';
import { revisionRoutes } from './routes/revisions.ts';
import { type Health, controlPlaneSystemRoutes } from './routes/system.ts';
import { tracingProjectRoutes } from './routes/tracing-projects.ts';
import { whoamiRoutes } from './routes/whoami.ts';
import { buildVendorRoutes } from './vendor-words.ts';
import type { Json } from '../schema/json.ts';

const INFO = {
  title: 'gx-platform control plane',
  version: '0.1.0',
  description:
    'Creates and manages deployments of the agent server. An API key in X-Api-Key is required, or a bearer token of the identity provider where one is configured; X-Tenant-Id may be sent and must then be a tenant of the caller.',
};

const SECURITY = {
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Api-Key',
    description: 'Made by the command api-key.',
  },
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
const ValidationError = Type.Object({
  loc: Type.Array(Loc),
  msg: Type.String(),
  type: Type.String(),
});
const ERRORS = {
  invalid: Type.Object({ detail: Type.Array(ValidationError) }),
  problem: Type.Object({ detail: Type.String() }),
};

/** Returns every route of the control plane. */
export function buildControlPlaneRoutes(plane: ControlPlane): Route<Caller>[] {
  const parts = [
    deploymentRoutes,
    agentKeyRoutes,
    buildAgentPassRoutes,
    backupRoutes,
    authCheckRoutes,
    whoamiRoutes,
    buildOverviewRoutes,
    deploymentUsageRoutes,
    lifecycleRoutes,
    revisionRoutes,
    eventRoutes,
    logRoutes,
    listenerRoutes,
    buildIntegrationRoutes,
    tracingProjectRoutes,
  ];
  return parts.flatMap((part) => part(plane)).map(wrapKubeRefusals);
}

/** Words those refusals of the API server that a handler does not word itself. */
const wrapKubeRefusals = (route: Route<Caller>): Route<Caller> => ({
  ...route,
  handler: (request) => callKube(async () => route.handler(request)),
});

/** Ends a stream once the credentials that opened it are no longer valid. */
const buildStreamLimiter =
  (authenticator: Authenticator) =>
  (route: Route<Caller>): Route<Caller> => ({
    ...route,
    handler: async (request) => {
      const reply = await route.handler(request);
      if (reply.kind !== 'sse') return reply;
      const authenticateAgain = () => authenticator.authenticate(request.headers, route.access);
      return {
        ...reply,
        events: (signal) => streamWhileAllowed(reply.events, { signal, again: authenticateAgain }),
      };
    },
  });

/** Returns the OpenAPI document of the routes. */
export const buildControlPlaneDocument = (routes: Route<Caller>[]): Json =>
  openApiDocument(routes, INFO, SECURITY, ERRORS);

/** Builds the control plane as a koa application, and the routes of the cluster's port. */
export function buildControlPlane(
  plane: ControlPlane,
  health: Health & { certificateUntil: () => Date | undefined },
  keys: CountedKube,
) {
  const { stored, integrations, config } = plane;
  const metrics = createControlPlaneMetrics({
    stored,
    watches: () => [...stored.watches, integrations.watch].map(({ state }) => state),
    loginFailures: LOGIN_FAILURES,
    certificateUntil: config.tls && health.certificateUntil,
  });
  return {
    app: createControlPlaneApp(plane, health, keys, metrics),
    probes: buildControlPlaneProbes(health, metrics),
  };
}

const buildControlPlaneProbes = (
  health: Health,
  { registry }: ControlPlaneMetrics,
): Route<undefined>[] =>
  probeRoutes({
    missing: () =>
      health.synced() && !health.stopping()
        ? undefined
        : 'the control plane is starting or stopping',
    metrics: async () => ({ body: await registry.metrics(), contentType: registry.contentType }),
  });

/** API keys are looked up through `keys`. */
function createControlPlaneApp(
  plane: ControlPlane,
  health: Health,
  keys: CountedKube,
  metrics: ControlPlaneMetrics,
) {
  for (const client of new Set([plane.kube, plane.logs, keys]))
    client.addRequestListener?.(metrics.onRequest);
  const { config, log } = plane;
  const tokens =
    config.oidc && new BearerTokens({ config: config.oidc, proxies: config.proxies, log });
  const authenticator = new Authenticator({ kube: keys, namespace: config.namespace, log, tokens });
  const audit = buildAuditor(log);
  const recordFailure = (error: unknown): void => {
    const reason = getLoginFailure(error);
    if (reason !== undefined) metrics.onFailedLogin(reason);
  };
  const isDeployment = (id: string): boolean => plane.stored.withId(id).length > 0;
  const limited = limitFailures(
    authenticator,
    isDeployment,
    config.limits.failedLoginsPerMinute,
    recordFailure,
  );
  const routes: Route<Caller>[] = buildControlPlaneRoutes(plane).map(
    buildStreamLimiter(authenticator),
  );
  const all: Route<Caller>[] = [
    ...routes,
    ...controlPlaneSystemRoutes({ health, document: () => buildControlPlaneDocument(all) }),
  ];
  return createApp<Caller>({
    routes: [...all, ...buildVendorRoutes(routes)],
    log,
    invalid: 'list',
    authenticate: (headers, access, { source }) => {
      if (access !== 'open' && !health.synced())
        throw new Unavailable('The control plane has not read the cluster yet; try again.');
      return limited(headers, access, source);
    },
    trusts: buildTrustedProxies(config),
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
