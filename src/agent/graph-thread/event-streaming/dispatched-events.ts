import { setImmediate as waitForTurn } from 'node:timers/promises';
import type { Chunk } from '../events.ts';
import { USAGE_EVENT } from '../model-calls.ts';
import type { Json } from '../../../schema/json.ts';

/**
 * Returns a callback handler that tells events which code of the graph dispatches by LangChain's callbacks, as those of
 * LangGraph's mode `custom`, which leaves them out. It is a plain object because the user's graph brings its own copy
 * of the library.
 */
export function createDispatchedEvents(take: (chunk: Chunk) => void): object {
  const handler = {
    name: 'gx-events',
    awaitHandlers: true,
    raiseError: false,
    ignoreLLM: true,
    ignoreChain: true,
    ignoreAgent: true,
    ignoreRetriever: true,
    copy: () => handler,
    handleCustomEvent: async (
      name: string,
      payload: unknown,
      _runId: string,
      _tags: string[],
      metadata: Json = {},
    ): Promise<void> => {
      // The usage of models is for the server alone.
      if (name === USAGE_EVENT) return;
      // Everything that LangGraph has streamed by now goes first.
      await waitForTurn();
      const task = metadata['langgraph_checkpoint_ns'];
      const namespace = typeof task === 'string' ? task.split('|').slice(0, -1) : [];
      take({ namespace, mode: 'custom', payload: { name, payload } });
    },
  };
  return handler;
}
