import type { Server } from 'node:http';
import type { AgentConfig } from '../config/agent.ts';
import { openApiDocument } from '../http/openapi.ts';
import { createApp } from '../http/server.ts';
import { serveSockets, type Sockets } from '../http/websocket.ts';
import type { GxJson } from '../schema/gx-json.ts';
import { cors, permitsOrigin } from './cors.ts';
import type { AgentDeps } from './deps.ts';
import { createMetrics } from './metrics.ts';
import type { Feature } from './routes/feature.ts';
import { withSmallIds } from './routes/ids.ts';
import type { AgentRoute, AgentCaller } from './routes/route.ts';
import { healthRoute, systemRoutes, type ServerInfo } from './routes/system.ts';

type AppSettings = {
  config: Pick<AgentConfig, 'mountPrefix' | 'bodyLimit' | 'cors' | 'privateNetwork'>;
  settings: GxJson;
  features: readonly Feature[];
  info: Omit<ServerInfo, 'flags'>;
};

const PROBLEM = { type: 'object', required: ['detail'], properties: { detail: { type: 'string' } } };

/** Returns the prefix of every path: that of gx.json, else that of the environment. */
export const mountPrefix = (config: Pick<AgentConfig, 'mountPrefix'>, { http }: GxJson): string =>
  (http?.mount_prefix ?? config.mountPrefix).replace(/\/$/, '');

/** Lets everybody do everything until a deployment configures authentication. */
const authenticate = (): AgentCaller => ({ identity: 'anonymous' });

/** Serves what the agent server serves by WebSocket, with the same checks as its routes. */
export function agentSockets(deps: AgentDeps, server: Server, { config, settings, features }: Omit<AppSettings, 'info'>): Sockets {
  const routes = features.flatMap(({ sockets }) => sockets?.(deps) ?? []);
  const prefix = mountPrefix(config, settings);
  return serveSockets(server, {
    routes: routes.map((route) => ({ ...route, path: prefix + route.path })),
    log: deps.log,
    authenticate,
    permits: permitsOrigin(settings.http?.cors ?? config.cors),
    messageLimit: config.bodyLimit,
  });
}

/** Makes an application of the agent server's routes. */
export function agentApp(deps: AgentDeps, { config, settings, features, info }: AppSettings): ReturnType<typeof createApp> {
  const metrics = createMetrics(deps, info);
  const http = settings.http ?? {};
  const routes: AgentRoute[] = [];
  const document = (): unknown =>
    openApiDocument(
      routes,
      { title: 'Agent server', version: info.version, description: 'Assistants, threads, runs, streams and the store of one deployment.' },
      {},
      { invalid: PROBLEM, problem: PROBLEM },
    );
  const flags = Object.fromEntries(features.flatMap(({ flag }) => (flag === undefined ? [] : [[flag, true]])));
  const own: AgentRoute[] = [
    ...features.flatMap((feature) => feature.routes?.(deps) ?? []),
    ...(http.disable_meta === true ? [] : systemRoutes(deps, { info: { ...info, flags }, metrics, document })),
    healthRoute(deps, '/ok'),
  ];
  const prefix = mountPrefix(config, settings);
  routes.push(...own.map((one) => withSmallIds({ ...one, path: prefix + one.path })));
  // Probes are written without the prefix.
  if (prefix !== '') routes.push({ ...healthRoute(deps, '/ok'), id: 'health_at_root' });
  return createApp<AgentCaller>({
    routes,
    log: deps.log,
    invalid: 'sentence',
    authenticate,
    bodyLimit: config.bodyLimit,
    middleware: [cors(http.cors ?? config.cors, config)],
    onAnswer: metrics.answered,
  });
}
