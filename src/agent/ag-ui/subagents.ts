import { isObject, type Json } from '../../schema/json.ts';
import type { AgUiEvent, RunOutcome } from './events.ts';
import { readString } from './messages.ts';

/* Agents that a tool of an agent runs. Their events are tagged; those of plain subgraphs are the agent's own. */

export class Subagents {
  readonly #isOld: boolean;
  /** The agents under way, by their graphs; each with the one that it runs in. */
  readonly #open = new Map<string, string | undefined>();

  /** `isOld`: the client does not know of such agents. */
  constructor({ isOld }: { isOld: boolean }) {
    this.#isOld = isOld;
  }

  /** Returns the agent that a graph belongs to; undefined for the outer one. */
  findOwner(namespace: string[]): string | undefined {
    for (let length = namespace.length; length > 0; length -= 1) {
      const key = namespace.slice(0, length).join('|');
      if (this.#open.has(key)) return key;
    }
    return undefined;
  }

  /** Folds an event of a graph's life. `closeMessages` closes the open messages of an agent that has ended. */
  take(
    namespace: string[],
    { event, graph_name: name, cause, error }: Json,
    closeMessages: (id: string) => AgUiEvent[],
  ): AgUiEvent[] {
    const key = namespace.join('|');
    if (event === 'started') {
      const callId = isObject(cause) ? cause['tool_call_id'] : undefined;
      if (typeof callId !== 'string') return [];
      const parent = this.findOwner(namespace.slice(0, -1));
      this.#open.set(key, parent);
      const started = {
        type: 'SUBAGENT_STARTED',
        subagentRunId: key,
        name: readString(name) || 'agent',
        parentToolCallId: callId,
      };
      return this.#isOld
        ? []
        : [{ ...started, ...(parent !== undefined && { parentSubagentRunId: parent }) }];
    }
    if (!this.#open.has(key)) return [];
    const closed = closeMessages(key);
    this.#open.delete(key);
    return this.#isOld ? [] : [...closed, endSubagent(key, event, error)];
  }

  /** Ends the agents that the end of the run leaves open, the inner ones first. */
  closeAll({ type }: RunOutcome): AgUiEvent[] {
    const status =
      type === 'success' ? 'completed' : type === 'interrupt' ? 'interrupted' : 'failed';
    const ended = [...this.#open.keys()]
      .toReversed()
      .map((id) => endSubagent(id, status, 'The run ended.'));
    this.#open.clear();
    return this.#isOld ? [] : ended;
  }
}

function endSubagent(subagentRunId: string, event: unknown, error: unknown): AgUiEvent {
  if (event === 'failed')
    return {
      type: 'SUBAGENT_ERROR',
      subagentRunId,
      message: typeof error === 'string' ? error : 'The agent failed.',
    };
  return {
    type: 'SUBAGENT_FINISHED',
    subagentRunId,
    outcome: { type: event === 'interrupted' ? 'suspended' : 'success' },
  };
}
