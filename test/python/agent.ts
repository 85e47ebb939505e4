import { inject } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';

/** An older LangGraph can't load the graphs for event streaming. */
const graphs = (): string =>
  inject('olderLangGraph') === undefined ? 'gx.json' : 'older-langgraph.gx.json';

/** Starts an agent server whose graphs are among those of test/python/graphs. */
export const startPython = (
  database: string,
  env: Record<string, string> = {},
  config = graphs(),
): Promise<AgentProcess> =>
  startAgent({
    database,
    config: `test/python/${config}`,
    env: { GX_PYTHON: `${inject('python')}/python`, ...env },
  });
