import { buildTrusts } from '../http/callers/client.ts';
import { getClient } from '../http/server/in-process.ts';
import { probeRoutes } from '../http/server/probes.ts';
import { createApp, type AppOptions } from '../http/server/server.ts';
import type { Log } from '../log.ts';
import type { ConsoleConfig } from '../config/platform/console.ts';
import type { ControlPlaneDoor } from './control-plane.ts';
import type { BuiltPage } from './files/built-files.ts';
import { COMMON_HEADERS } from './files/security-headers.ts';
import { buildPageHandler } from './files/serve.ts';
import type { ConsoleMetrics } from './metrics.ts';
import { buildAgentForwarder, type AgentPassing } from './passing/agents.ts';
import { buildPlaneForwarder } from './passing/pass.ts';
import { PASSED } from './passing/target.ts';
import { refuseOtherPages } from './session/own-pages.ts';
import { buildSessionRoutes } from './session/routes.ts';
import type { BrowserSessions } from './session/sessions.ts';

/** A body is a key. Those that go on to the control plane are not read here. */
const SMALL_BODIES = { bytes: 4096, selectionBytes: 4096, values: 100, listItems: 10 };

export type ConsoleParts = {
  config: ConsoleConfig;
  page: BuiltPage | undefined;
  sessions: BrowserSessions;
  door: ControlPlaneDoor;
  agents: Pick<AgentPassing, 'door' | 'passes' | 'placeOf'>;
  metrics: ConsoleMetrics;
  isReady: () => boolean;
  log: Log;
};

const shared = { invalid: 'sentence', authenticate: () => undefined, body: SMALL_BODIES } as const;

/** Returns the application of the page: its files, its session, and the ways to the control plane and to agents. */
export function createConsoleApp(parts: ConsoleParts) {
  const { config, page, sessions, door, agents, metrics, log } = parts;
  const { opens } = metrics;
  const probes = buildConsoleProbes(parts).filter(({ id }) => id !== 'metrics');
  return createApp<undefined>({
    ...shared,
    log,
    routes: [...buildSessionRoutes({ sessions, door, signedIn: metrics.signedIn }), ...probes],
    trusts: buildTrusts(config.trustedProxies),
    middleware: [
      refuseForeignPages,
      buildPageHandler(page),
      buildAgentForwarder({ sessions, opens, ...agents }),
      buildPlaneForwarder({ sessions, door, opens }),
    ],
    onAnswer: metrics.onAnswer,
  });
}

/** Returns the routes that the cluster asks. */
export const buildConsoleProbes = ({ metrics, isReady }: ConsoleParts) =>
  probeRoutes({
    missing: () => (isReady() ? undefined : 'the console stops'),
    metrics: metrics.print,
  });

/** Gives every answer its headers, and lets only the console's own page use a session. */
const refuseForeignPages: NonNullable<AppOptions<undefined>['middleware']>[number] = async (
  ctx,
  next,
) => {
  ctx.set(COMMON_HEADERS);
  const usesSession = ctx.path.startsWith(PASSED) || ctx.path === '/console/session';
  if (usesSession)
    refuseOtherPages(ctx.method, { headers: ctx.headers, forwarded: getClient(ctx).forwarded });
  return next();
};
