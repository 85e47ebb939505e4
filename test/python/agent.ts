import { inject } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';

/** Starts an agent server whose graphs are those of test/python/graphs. */
export const startPython = (database: string, env: Record<string, string> = {}): Promise<AgentProcess> =>
  startAgent({
    database,
    config: 'test/python/gx.json',
    env: { GX_PYTHON: `${inject('python')}/python`, ...env },
  });
