import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { ConsoleConfig } from '../config/platform/console.ts';
import { Problem } from '../errors.ts';
import { listen } from '../http/server/listen.ts';
import { serveProbes } from '../http/server/probes.ts';
import { LEAST_SECRET, readSecretFile } from '../http/callers/secret-file.ts';
import { readClientSigner } from '../http/callers/signed-client.ts';
import type { Log } from '../log.ts';
import { ControlPlaneDoor } from './control-plane.ts';
import { BUILT, readBuiltPage } from './files/built-files.ts';
import { ProcessDoor } from './door.ts';
import { createConsoleMetrics } from './metrics.ts';
import { AgentPasses } from './passing/agent-passes.ts';
import type { AgentPassing } from './passing/agents.ts';
import { resolveAgentAddress } from './passing/target.ts';
import { createConsoleApp, buildConsoleProbes } from './server.ts';
import { Seal } from './session/seal.ts';
import { BrowserSessions } from './session/sessions.ts';

type StartOptions = {
  config: ConsoleConfig;
  log: Log;
  signal: AbortSignal;
  /** The folder of the built page, if it is another one than the build's. */
  folder?: string;
  /** Returns where the host of a Service is reached, if it is elsewhere than at its port. */
  reach?: (host: string) => { host: string; port: number };
};

export type Console = { port: number; healthPort: number; stop(): Promise<void> };

/** Milliseconds that an agent may take to begin an answer. */
const ANSWERS = 60_000;

const buildPort80Address = (host: string): { host: string; port: number } => ({ host, port: 80 });

const buildPlaceFinder =
  (
    { clusterDomain }: ConsoleConfig,
    reach: NonNullable<StartOptions['reach']>,
  ): AgentPassing['placeOf'] =>
  (pass) => {
    const named = resolveAgentAddress(pass, clusterDomain);
    if (named === undefined) throw new Problem(502, 'The names of the agent make no address.');
    return { ...reach(named.host), prefix: named.prefix, isSecure: false };
  };

/** Listens, and is ready at once: whether the control plane answers, the page says itself. */
export async function startConsole({
  config,
  log,
  signal,
  folder = BUILT,
  reach = buildPort80Address,
}: StartOptions): Promise<Console> {
  const page = readBuiltPage(folder);
  if (page === undefined)
    log.warn({ folder }, 'the page of the console is not built: run node dev/console/build.ts');
  const sessions = new BrowserSessions(new Seal(readSessionSecret(config, log)));
  const door = new ControlPlaneDoor(config.controlPlaneUrl, readClientSigner(config.clientKeyFile));
  const agentDoor = new ProcessDoor({ called: 'The agent', within: ANSWERS });
  const agents = {
    door: agentDoor,
    passes: new AgentPasses(door),
    placeOf: buildPlaceFinder(config, reach),
  };
  const parts = {
    config,
    page,
    sessions,
    door,
    agents,
    metrics: createConsoleMetrics(),
    isReady: () => !signal.aborted,
    log,
  };
  const { host, port, healthPort } = config;
  const served = await listen(createConsoleApp(parts), { host, port });
  const health = await serveProbes(buildConsoleProbes(parts), { host, port: healthPort, log });
  log.info({ port: served.port, control_plane: config.controlPlaneUrl.origin }, 'console is ready');
  return {
    port: served.port,
    healthPort: health.port,
    stop: async () => {
      served.sendAway();
      await wait(config.shutdownDelaySeconds * 1000);
      await served.stop(config.graceSeconds * 1000);
      await health.stop(0);
      door.close();
      agentDoor.close();
      log.info({}, 'console stopped');
    },
  };
}

/** Returns the secret that seals sessions. One of this process itself ends with it, and so do its sessions. */
function readSessionSecret({ sessionKeyFile: file }: ConsoleConfig, log: Log): Buffer {
  const secret = readSecretFile(file, 'GX_SESSION_KEY_FILE');
  if (secret !== undefined) return secret;
  log.warn(
    { file },
    'there is no secret for sessions: they end with this process, and other replicas do not know them',
  );
  return randomBytes(LEAST_SECRET);
}
