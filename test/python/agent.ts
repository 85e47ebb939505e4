import { resolve } from 'node:path';
import { inject } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';

/** Starts an agent server whose graphs are those of test/python/graphs, in a runner of Python. */
export const startPython = (database: string, env: Record<string, string> = {}): Promise<AgentProcess> =>
  startAgent({
    database,
    config: 'test/python/gx.json',
    env: { GX_RUNNER: `${inject('python')}/python -m gx_runner`, PYTHONPATH: resolve('python'), ...env },
  });
