import type { AgentConfig } from '../../config/agent/agent.ts';
import type { SocketRoute } from '../../http/server/websocket.ts';
import type { GxJson } from '../../schema/agent/gx-json.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { AgentCaller } from '../auth/caller.ts';
import type { Door } from '../a2a/security-schemes.ts';
import type { AgentRoute } from './route.ts';

/** The settings that turn features on and off: `http` of gx.json, and those of the process. */
export type FeatureSettings = {
  http: NonNullable<GxJson['http']>;
  config: AgentConfig;
};

/**
 * A part of the server that can be turned off, or that works by itself. This value is all that the server knows of it.
 */
export type Feature = {
  isServed: (settings: FeatureSettings) => boolean;
  routes?: (deps: AgentDeps, door: Door) => AgentRoute[];
  sockets?: (deps: AgentDeps) => SocketRoute<AgentCaller>[];
  /** Its name among the `flags` of /info, which say whether it is served. */
  flag?: string;
  /** Does the feature's own work, from the moment in which the server serves until the signal. Never throws. */
  work?: (deps: AgentDeps, signal: AbortSignal) => void;
};
