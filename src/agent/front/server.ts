import type { IncomingHttpHeaders, Server } from 'node:http';
import type { AgentConfig } from '../../config/agent/agent.ts';
import { buildTrusts, type FromPage, type Trusts } from '../../http/callers/client.ts';
import { InProcess } from '../../http/server/in-process.ts';
import { openApiDocument } from '../../http/routes/openapi.ts';
import { addRequestSpans } from '../../http/server/request-spans.ts';
import { createApp, type Answered, type AppOptions } from '../../http/server/server.ts';
import { serveSockets, type Sockets } from '../../http/server/websocket.ts';
import type { Cors, GxJson } from '../../schema/agent/gx-json.ts';
import { buildSpanStarter } from '../../tracing/request-spans.ts';
import { mergeAppDocument } from './app-document.ts';
import { openToAll, type CallerRequest, type Guarding } from '../auth/authenticate.ts';
import { permitAccess, type AgentCaller } from '../auth/caller.ts';
import { KEY_SCHEMES } from '../auth/closed.ts';
import { KEY_PROTOCOL, mergeSocketKey } from '../../http/callers/shown-key.ts';
import { readRequiredSchemes, readSecuritySchemes, mergeSecurity } from '../auth/document.ts';
import { buildLimitName } from '../auth/callers.ts';
import { hasPass, openToLook } from '../auth/passes.ts';
import {
  buildForeignCookieTest,
  buildCorsMiddleware,
  buildOriginCheck,
  refuseForeignCookies,
} from './cors.ts';
import { AppSockets, type AppSocketSettings } from './app-sockets.ts';
import { buildInProcessFetch } from './calls-inside.ts';
import { buildContextSurrounding } from './context-header.ts';
import { CustomRoutes } from './custom-routes.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { buildLocalCors, buildLocalPageGuard } from './local-pages.ts';
import { createMetrics, type Metrics } from '../parts/metrics.ts';
import type { Feature } from '../routes/feature.ts';
import { wrapWithLowerIds } from '../routes/ids.ts';
import type { AgentRoute } from '../routes/route.ts';
import {
  buildHealthRoute,
  buildMetricsRoute,
  buildSystemRoutes,
  type ServerInfo,
} from '../routes/system.ts';
import { buildLogHeaderFilter } from '../runs/making/headers.ts';
import type { UserCode } from '../user-code/host.ts';

type AppSettings = {
  config: AgentConfig;
  settings: GxJson;
  features: readonly Feature[];
  guard: Guarding;
  /** Identifies the caller; throws for a caller without access. */
  callerOf: (request: CallerRequest) => Promise<AgentCaller> | AgentCaller;
  /** The thread with `http.app`, if there is any. */
  code: UserCode | undefined;
  info: Omit<ServerInfo, 'flags'>;
};

const PROBLEM = {
  type: 'object',
  required: ['detail'],
  properties: { detail: { type: 'string' } },
};
const PROBLEMS = { invalid: PROBLEM, problem: PROBLEM };
const TITLE = {
  title: 'Agent server',
  description: 'Assistants, threads, runs, streams and the store of one deployment.',
};

/** Returns the prefix of every path: that of gx.json, else that of the environment. */
export const mountPrefix = (config: AgentConfig, { http }: GxJson): string =>
  (http?.mount_prefix ?? config.mountPrefix).replace(/\/$/, '');

/** Returns whose pages may call: by gx.json, else by the environment, else by the default of the place. */
const chooseCors = (
  { cors: own, localPages: local }: AppSettings['config'],
  { http }: GxJson,
): Cors => {
  const given = http?.cors ?? own;
  return local === undefined ? given : buildLocalCors(given);
};

/** `custom`: routes of the user's own, whose middleware sees upgrades, too. */
type SocketSettings = Omit<AppSettings, 'info'> & { custom: CustomRoutes | undefined };

/** Returns the trust in the proxies of the settings, and in the gateway where it has signed its word. */
function buildProxyTrust({ reports }: AgentDeps, { trustedProxies }: AgentConfig): Trusts {
  const listed = buildTrusts(trustedProxies);
  return (address, asked) =>
    listed(address) || (asked !== undefined && reports?.gateway.hasSigned(asked) === true);
}

/** Seconds between two checks of credentials that need no code of the user: a hash, or an answer that is remembered. */
const CHEAP_CHECK_SECONDS = 5;

/** Returns the seconds between two checks of the credentials of a caller's streams, waits and connections. */
const buildCheckInterval =
  ({ guard, config: { authCheckSeconds } }: { guard: Guarding; config: AgentConfig }) =>
  ({ byPass }: AgentCaller): number =>
    guard === 'handlers' && byPass !== true
      ? authCheckSeconds
      : Math.min(CHEAP_CHECK_SECONDS, authCheckSeconds);

/** Serves the agent server's WebSockets, with the same checks as its routes. */
export function createAgentSockets(
  deps: AgentDeps,
  server: Server,
  given: SocketSettings,
): Sockets {
  const { config, settings, features, callerOf, custom } = given;
  const routes = features.flatMap(({ sockets }) => sockets?.(deps) ?? []);
  const prefix = mountPrefix(config, settings);
  const pages = chooseCors(config, settings);
  const [permitsPage, isForeign] = [buildOriginCheck(pages), buildForeignCookieTest(pages)];
  const isPagePermitted = (origin: string, request: FromPage): boolean =>
    permitsPage(origin) && !isForeign(request);
  const trusts = buildProxyTrust(deps, config);
  return serveSockets(server, {
    routes: routes.map((route) => ({ ...route, path: prefix + route.path })),
    log: deps.log,
    authenticate: (headers, origin) => {
      const ask = (seen: IncomingHttpHeaders): ReturnType<AppSettings['callerOf']> =>
        callerOf({ headers: mergeSocketKey(seen), access: 'read', ...origin });
      return custom === undefined
        ? ask(headers)
        : custom.authenticateUpgrade({ headers, origin, callerOf: ask });
    },
    secretProtocols: KEY_PROTOCOL,
    surrounding: chooseSurrounding(given),
    opens: (caller) => deps.callers.acquireStream(caller),
    permits: isPagePermitted,
    checksAgainEvery: buildCheckInterval(given),
    trusts,
    body: config.body,
    others: createAppSockets(deps, given, { permits: isPagePermitted, trusts }),
  });
}

function createAppSockets(
  { callers, reports, log }: AgentDeps,
  given: SocketSettings,
  checks: Pick<AppSocketSettings, 'permits' | 'trusts'>,
): AppSockets | undefined {
  const { config, settings, callerOf, code } = given;
  if (code?.app === undefined) return undefined;
  const guarded = settings.http?.enable_custom_route_auth === true;
  const reportUse = (): void => reports?.noteAnswered();
  const prefix = mountPrefix(config, settings);
  return new AppSockets({
    code,
    prefix,
    guarded,
    callerOf,
    callers,
    checksAgainEvery: buildCheckInterval(given),
    messageBytes: config.body.bytes,
    used: reportUse,
    log,
    ...checks,
  });
}

/** Returns how the work of a request is done where a module encrypts. */
const chooseSurrounding = ({
  settings,
  code,
}: {
  settings: GxJson;
  code: UserCode | undefined;
}): ReturnType<typeof buildContextSurrounding> | undefined =>
  settings.encryption === undefined || code === undefined
    ? undefined
    : buildContextSurrounding(code);

/** Returns the middleware of the routes: checks of pages first, and the user's own application last. */
function buildMiddleware({
  pages,
  config,
  custom,
}: {
  pages: Cors;
  custom: CustomRoutes | undefined;
  config: AgentConfig;
}): NonNullable<AppOptions<AgentCaller>['middleware']> {
  const { localPages: local } = config;
  const isUsersOwn = (method: string, path: string): boolean =>
    custom?.isAppRoute(method, path) === true;
  return [
    ...(local === undefined
      ? []
      : [buildLocalPageGuard(pages, { ...local, takesAnyBody: isUsersOwn })]),
    buildCorsMiddleware(pages, config),
    refuseForeignCookies(pages, isUsersOwn),
    ...(custom === undefined ? [] : [custom.middleware]),
  ];
}

/** Paths that monitors ask, with any kind of access to the agent. */
const MONITORED = ['/ok', '/metrics', '/info'];

type AgentAnswer = Answered<AgentCaller>;

/** Returns true for a request that shows that the agent is used. A stranger's does not, nor one that only looks. */
const isOfClient = (answer: AgentAnswer): boolean =>
  answer.status !== 401 &&
  !isLook(answer) &&
  !MONITORED.some((path) => answer.route.endsWith(path));

/** Returns true for a request that reads by a pass: somebody looks at the agent, and nobody needs it. */
const isLook = ({ headers, method, asked }: AgentAnswer): boolean =>
  hasPass(headers) && (asked?.route.access === 'read' || ['GET', 'HEAD'].includes(method));

type CustomSettings = Pick<AppSettings, 'config' | 'callerOf' | 'code' | 'guard'> & {
  http: NonNullable<AppSettings['settings']['http']>;
};

/** Returns the routes of `http.app`, if there is one; webhooks may call them, where gx.json lets them. */
function createCustomRoutes(
  { callers, webhooks, log }: AgentDeps,
  { config, http, callerOf, code, guard }: CustomSettings,
  served: { prefix: string; routes: AgentRoute[] },
): CustomRoutes | undefined {
  if (code?.app === undefined) return undefined;
  const custom = new CustomRoutes({
    code,
    http,
    ...served,
    callerOf,
    callers,
    checksAgainEvery: buildCheckInterval({ guard, config }),
    bodyBytes: config.body.bytes,
    log,
  });
  webhooks.serve(custom);
  return custom;
}

/**
 * Returns the route of the metrics at the port of the API. Who holds a key of an agent that asks for one reads them
 * there. Where they have a port of their own, nobody else does: users of handlers, and strangers of an open agent.
 */
function buildMetricsRoutes(
  metrics: Metrics,
  {
    config,
    guard,
    http,
  }: { http: NonNullable<GxJson['http']>; config: AgentConfig; guard: Guarding },
): AgentRoute[] {
  const isHidden =
    http.disable_meta === true || (config.metricsPort !== undefined && guard !== 'key');
  return isHidden ? [] : [buildMetricsRoute(metrics, guard === 'open' ? 'open' : 'read')];
}

/** Builds the application of the port for metrics, which asks nobody for a key. */
export const createMetricsApp = (
  metrics: Metrics,
  log: AgentDeps['log'],
): ReturnType<typeof createApp> =>
  createApp<AgentCaller>({
    routes: [buildMetricsRoute(metrics, 'open')],
    log,
    invalid: 'sentence',
    authenticate: (_headers, _access, origin) => openToAll(origin),
    body: { bytes: 0, selectionBytes: 0, values: 0, listItems: 0 },
  });

function addRequestTracing(
  { tracing }: AgentDeps,
  app: ReturnType<typeof createApp>,
): ReturnType<typeof createApp> {
  if (tracing !== undefined) addRequestSpans(app, buildSpanStarter(tracing, { roots: false }));
  return app;
}

/** Makes an application of the agent server's routes. */
export function createAgentApp(
  deps: AgentDeps,
  { config, settings, features, guard, callerOf, code, info }: AppSettings,
): { app: ReturnType<typeof createApp>; custom: CustomRoutes | undefined; metrics: Metrics } {
  const metrics = createMetrics(deps, info);
  const { http = {}, auth = {} } = settings;
  const pages = chooseCors(config, settings);
  const routes: AgentRoute[] = [];
  const schemes = guard === 'key' ? KEY_SCHEMES : readSecuritySchemes(auth);
  const door = {
    guarded: guard !== 'open',
    schemes,
    required: guard === 'key' ? undefined : readRequiredSchemes(auth),
  };
  const docsAccess = guard === 'key' ? 'read' : 'open';
  const described = { ...TITLE, version: info.version };
  const buildDocument = (): unknown =>
    mergeAppDocument(
      mergeSecurity(openApiDocument(routes, described, schemes, PROBLEMS), auth),
      code?.document,
      prefix,
    );
  const flags = Object.fromEntries(
    features.flatMap(({ flag }) => (flag === undefined ? [] : [[flag, true]])),
  );
  const measured = buildMetricsRoutes(metrics, { config, guard, http });
  const own: AgentRoute[] = [
    ...features.flatMap((feature) => feature.routes?.(deps, door) ?? []),
    ...(http.disable_meta === true
      ? []
      : buildSystemRoutes(deps, { info: { ...info, flags }, document: buildDocument, docsAccess })),
    ...measured,
    buildHealthRoute(deps, '/ok'),
  ];
  const prefix = mountPrefix(config, settings);
  routes.push(...own.map((one) => wrapWithLowerIds({ ...one, path: prefix + one.path })));
  if (prefix !== '')
    // Probes and scrapers ask without the mount prefix.
    routes.push(
      { ...buildHealthRoute(deps, '/ok'), id: 'health_at_root' },
      ...measured.map((route) => ({ ...route, id: 'metrics_at_root' })),
    );
  const custom = createCustomRoutes(
    deps,
    { config, http, callerOf, code, guard },
    { prefix, routes },
  );
  const checksAgainEvery = buildCheckInterval({ guard, config });
  const app = createApp<AgentCaller>({
    routes,
    log: deps.log,
    invalid: 'sentence',
    authenticate: (headers, access, origin) =>
      access === 'open' ? openToLook(headers, origin) : callerOf({ headers, access, ...origin }),
    permit: permitAccess,
    nameOf: buildLimitName,
    surrounding: chooseSurrounding({ settings, code }),
    opens: (caller) => deps.callers.acquireStream(caller),
    permitsOrigin: buildOriginCheck(pages),
    starts: (caller, count) => deps.callers.acquireRuns(caller, count),
    checksAgainEvery,
    trusts: buildProxyTrust(deps, config),
    body: config.body,
    middleware: buildMiddleware({ pages, config, custom }),
    loggedHeaders: buildLogHeaderFilter(http.logging_headers),
    onAnswer: (answer) => {
      metrics.answered(answer);
      if (isOfClient(answer)) deps.reports?.noteAnswered();
    },
  });
  const inside = buildInProcessFetch(new InProcess(addRequestTracing(deps, app)), prefix);
  custom?.passTo(inside);
  deps.host.serve((asked) => inside(asked));
  return { app, custom, metrics };
}
