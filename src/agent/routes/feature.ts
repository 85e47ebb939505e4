import type { AgentConfig } from '../../config/agent.ts';
import type { SocketRoute } from '../../http/websocket.ts';
import type { GxJson } from '../../schema/gx-json.ts';
import type { AgentDeps } from '../deps.ts';
import type { AgentRoute, AgentCaller } from './route.ts';

/** What turns features on and off: `http` of gx.json, and the settings of the process. */
export type FeatureSettings = { http: NonNullable<GxJson['http']>; config: Pick<AgentConfig, 'eventStreaming'> };

/**
 * A part of the server that can be turned off, or that works by itself. All that the server knows of it is one value.
 */
export type Feature = {
  isServed: (settings: FeatureSettings) => boolean;
  routes?: (deps: AgentDeps) => AgentRoute[];
  sockets?: (deps: AgentDeps) => SocketRoute<AgentCaller>[];
  /** Its name among the `flags` of /info, which say whether it is served. */
  flag?: string;
  /** What it does by itself, from the moment in which the server serves until the signal. Never throws. */
  work?: (deps: AgentDeps, signal: AbortSignal) => void;
};
