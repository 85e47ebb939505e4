import type { Server } from 'node:http';
import type { AgentConfig } from '../config/agent.ts';
import { openApiDocument } from '../http/openapi.ts';
import { createApp } from '../http/server.ts';
import { serveSockets, type Sockets } from '../http/websocket.ts';
import type { GxJson } from '../schema/gx-json.ts';
import { cors, permitsOrigin } from './cors.ts';
import type { AgentDeps } from './deps.ts';
import { createMetrics } from './metrics.ts';
import { assistantGraphRoutes } from './routes/assistant-graphs.ts';
import { assistantRoutes } from './routes/assistants.ts';
import { eventStreamingRoutes, threadSocket } from './routes/event-streaming.ts';
import { feedbackRoutes } from './routes/feedback.ts';
import { withSmallIds } from './routes/ids.ts';
import type { AgentCaller, AgentRoute } from './routes/route.ts';
import { threadRunRoutes } from './routes/runs.ts';
import { statelessRunRoutes } from './routes/stateless-runs.ts';
import { storeRoutes } from './routes/store.ts';
import { healthRoute, systemRoutes, type ServerInfo } from './routes/system.ts';
import { threadStateRoutes } from './routes/thread-state.ts';
import { threadStreamRoute } from './routes/thread-stream.ts';
import { threadRoutes } from './routes/threads.ts';

type AppSettings = {
  config: Pick<AgentConfig, 'mountPrefix' | 'bodyLimit' | 'cors' | 'privateNetwork' | 'eventStreaming'>;
  settings: GxJson;
  info: Omit<ServerInfo, 'eventStreaming'>;
};

const PROBLEM = { type: 'object', required: ['detail'], properties: { detail: { type: 'string' } } };

/** Returns the prefix of every path: that of gx.json, else that of the environment. */
export const mountPrefix = (config: Pick<AgentConfig, 'mountPrefix'>, { http }: GxJson): string =>
  (http?.mount_prefix ?? config.mountPrefix).replace(/\/$/, '');

/** Event streaming stands on threads and runs. */
const streamsEvents = (http: NonNullable<GxJson['http']>, { eventStreaming }: Pick<AgentConfig, 'eventStreaming'>): boolean =>
  eventStreaming && ![http.disable_threads, http.disable_runs, http.disable_event_streaming].includes(true);

/** Until a deployment configures authentication, everybody may do everything. */
const authenticate = (): AgentCaller => ({ identity: 'anonymous' });

/** Serves what the agent server serves by WebSocket, with the same checks as its routes. */
export function agentSockets(deps: AgentDeps, server: Server, { config, settings }: Omit<AppSettings, 'info'>): Sockets {
  const http = settings.http ?? {};
  const routes = streamsEvents(http, config) ? [threadSocket(deps)] : [];
  const prefix = mountPrefix(config, settings);
  return serveSockets(server, {
    routes: routes.map((route) => ({ ...route, path: prefix + route.path })),
    log: deps.log,
    authenticate,
    permits: permitsOrigin(http.cors ?? config.cors),
    messageLimit: config.bodyLimit,
  });
}

/** Makes an application of the agent server's routes. */
export function agentApp(deps: AgentDeps, { config, settings, info }: AppSettings): ReturnType<typeof createApp> {
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
  const own: AgentRoute[] = [
    ...(http.disable_assistants === true ? [] : [...assistantRoutes(deps), ...assistantGraphRoutes(deps)]),
    ...(http.disable_threads === true ? [] : [...threadRoutes(deps), ...threadStateRoutes(deps), threadStreamRoute(deps)]),
    ...(http.disable_runs === true ? [] : [...threadRunRoutes(deps), ...statelessRunRoutes(deps), ...feedbackRoutes(deps)]),
    ...(streamsEvents(http, config) ? eventStreamingRoutes(deps) : []),
    ...(http.disable_store === true ? [] : storeRoutes(deps)),
    ...(http.disable_meta === true
      ? []
      : systemRoutes(deps, { info: { ...info, eventStreaming: streamsEvents(http, config) }, metrics, document })),
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
