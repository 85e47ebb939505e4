import type { Json } from '../../../schema/json.ts';

/*
 * This file knows which graphs of a run are under way (its subgraphs and subagents), from the chunks that LangGraph
 * streams of them.
 */

/** The states that a graph goes through; only graphs within another are `started`. */
export type GraphStatus = 'started' | 'completed' | 'failed' | 'interrupted';

export type LifecycleEvent = { namespace: string[]; data: Json };

type Child = { namespace: string[]; name: string };

const buildKey = (namespace: string[]): string => namespace.join('|');

/** Returns the parts of a segment, which is `<node>:<task id>`. */
function splitSegment(segment = ''): { node: string; task: string } {
  const at = segment.indexOf(':');
  return at === -1
    ? { node: segment, task: '' }
    : { node: segment.slice(0, at), task: segment.slice(at + 1) };
}

/** Returns true for a namespace that is the outer one, or lies below it. */
export const isNamespaceWithin = (namespace: string[], outer: string[]): boolean =>
  outer.every((segment, at) => namespace[at] === segment);

export class GraphsUnderWay {
  /** Namespaces that are graphs, and not just tasks of one. */
  readonly #graphs = new Set<string>(['']);
  readonly #open = new Map<string, Child>();
  /** The name that an agent's tasks carry, by the namespace of the agent. */
  readonly #agents = new Map<string, string | undefined>();
  /** Calls of tools that are running, by the namespace of their task. */
  readonly #calls = new Map<string, string[]>();

  /** Notes a graph. Only graphs tell of states, updates, tasks and checkpoints. */
  addGraph(namespace: string[]): void {
    this.#graphs.add(buildKey(namespace));
  }

  /**
   * Returns the graph that a task belongs to. LangGraph.js tells of models and tools under the namespace of the task
   * that runs them.
   */
  findGraph(task: string[]): string[] {
    for (let length = task.length - 1; length > 0; length -= 1) {
      const outer = task.slice(0, length);
      if (this.#graphs.has(buildKey(outer))) return outer;
    }
    return [];
  }

  addTool(task: string[], callId: string): void {
    const key = buildKey(task);
    this.#calls.set(key, [...(this.#calls.get(key) ?? []), callId]);
  }

  removeTool(task: string[], callId: string): void {
    const key = buildKey(task);
    const left = (this.#calls.get(key) ?? []).filter((other) => other !== callId);
    if (left.length > 0) this.#calls.set(key, left);
    else this.#calls.delete(key);
  }

  noteTask(namespace: string[], payload: Json): LifecycleEvent[] {
    if ('result' in payload || 'error' in payload) return this.#endTask(namespace, payload);
    return this.#handleStart(namespace, payload['metadata']);
  }

  /** Ends the graphs that are left of the run, because the run has ended. */
  end(status: GraphStatus): LifecycleEvent[] {
    return this.#close([], status);
  }

  #handleStart(namespace: string[], metadata: unknown): LifecycleEvent[] {
    const key = buildKey(namespace);
    if (this.#agents.has(key)) return [];
    const agent = (metadata as Json | undefined)?.['lc_agent_name'];
    this.#agents.set(key, typeof agent === 'string' ? agent : undefined);
    if (namespace.length === 0) return [];
    const { node, task } = splitSegment(namespace.at(-1));
    // A graph within an agent inherits the agent's metadata, and with it a name that is not its own.
    const named =
      typeof agent === 'string' && agent !== this.#agents.get(buildKey(this.findGraph(namespace)));
    const child: Child = { namespace, name: named ? agent : node };
    this.#open.set(key, child);
    const call = this.#calls.get(key)?.[0];
    const cause = call === undefined ? {} : { cause: { type: 'toolCall', tool_call_id: call } };
    return [
      {
        namespace,
        data: {
          event: 'started',
          namespace,
          graph_name: child.name,
          trigger_call_id: task,
          ...cause,
        },
      },
    ];
  }

  #endTask(namespace: string[], { id, name, error, interrupts }: Json): LifecycleEvent[] {
    const child = [...namespace, `${String(name)}:${String(id)}`];
    const waits = Array.isArray(interrupts) && interrupts.length > 0;
    return this.#close(child, waits ? 'interrupted' : error ? 'failed' : 'completed');
  }

  /** Closes graphs, the innermost first. */
  #close(outer: string[], event: GraphStatus): LifecycleEvent[] {
    const ended = [...this.#open.values()]
      .filter(({ namespace }) => isNamespaceWithin(namespace, outer))
      .toReversed();
    for (const { namespace } of ended) {
      this.#open.delete(buildKey(namespace));
      // The graph may begin again under the same name, when the run goes on after an interrupt.
      this.#agents.delete(buildKey(namespace));
    }
    return ended.map(({ namespace, name }) => ({ namespace, data: { event, graph_name: name } }));
  }
}
