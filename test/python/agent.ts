import { inject } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';

/** Starts an agent server whose graphs are among those of test/python/graphs. */
export const startPython = (database: string, env: Record<string, string> = {}, config = 'gx.json'): Promise<AgentProcess> =>
  startAgent({
    database,
    config: `test/python/${config}`,
    env: { GX_PYTHON: `${inject('python')}/python`, ...env },
  });
