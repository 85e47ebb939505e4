import { randomUUID } from 'node:crypto';
import { isObject, type Json } from '../../schema/json.ts';
import { dropUndefined } from '../../schema/json.ts';
import type { AskedCall, CallRefusal } from '../../schema/wire/wall/admission.ts';
import { MAX_CALL_COUNT } from '../../schema/wire/wall/model-call.ts';
import type { Graph } from './load.ts';
import { readName } from './read-usage.ts';

/*
 * The budgets of a run, as its graph meets them. Before a model is called, a handler of LangChain's callbacks asks the
 * server. A call that is refused is held: an error would be caught by middleware that retries models or falls back to
 * others. Once nothing else of its node is under way, the node's own task ends with LangGraph's interrupt, which nobody
 * between the two can catch. Other tasks of the step come to their ends.
 */

/** Milliseconds between two looks whether a node has other work, and the looks that must find none. */
const LOOK_MILLISECONDS = 10;
const QUIET_LOOKS = 3;
/** Milliseconds after which a node is stopped though it has other work. */
const LONGEST_WORK_MILLISECONDS = 60_000;

/** Work of the graph that has begun. `task`: the task of the outermost graph that it is of. */
type OpenWork = { parent: string | undefined; task: string | undefined };
/** Stops a task of the outermost graph. */
type Gate = { stop: (error: Error) => void };
type Task = {
  id: string;
  writes: unknown[];
  proc: { invoke: (...args: unknown[]) => Promise<unknown> };
};
type Loop = { tick: (...args: unknown[]) => Promise<boolean>; tasks: Record<string, Task> };
type RunLoop = (params: { loop: Loop }) => Promise<void>;

type Asking = {
  ask: (call: AskedCall) => Promise<CallRefusal | undefined>;
  /** Hears of a call that does not begin, by the id that LangChain gave it. */
  refused: (id: string) => void;
};

/** The admissions of one run. */
export class Admissions {
  readonly #asking: Asking;
  readonly #open = new Map<string, OpenWork>();
  readonly #held = new Set<string>();
  #gates = new Map<string, Gate>();
  #isGated = false;
  #refusal: CallRefusal | undefined;
  #watch: NodeJS.Timeout | undefined;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /** The handler for the config of a graph. */
  createHandler(): object {
    const begin = (id: string, parent: string | undefined, metadata: unknown): void => {
      this.#open.set(id, { parent, task: readTask(metadata) });
    };
    const end = (_output: unknown, id: string): void => {
      this.#open.delete(id);
    };
    // LangChain's own order of the arguments: the model or the part, its input, id, parent.
    const beginWork = (...[, , id, parent, , metadata]: unknown[]): void =>
      begin(String(id), parent as string | undefined, metadata);
    const beginModel = async (...args: unknown[]): Promise<void> => {
      const [, prompts, id, parent, extra, , metadata] = args;
      begin(String(id), parent as string | undefined, metadata);
      await this.#admit(String(id), describeCall(String(id), { prompts, extra, metadata }));
    };
    const handler = {
      name: 'gx-budgets',
      awaitHandlers: true,
      raiseError: true,
      copy: () => handler,
      handleChainStart: beginWork,
      handleChainEnd: end,
      handleChainError: end,
      handleToolStart: beginWork,
      handleToolEnd: end,
      handleToolError: end,
      handleRetrieverStart: beginWork,
      handleRetrieverEnd: end,
      handleRetrieverError: end,
      handleLLMStart: beginModel,
      handleChatModelStart: beginModel,
      handleLLMEnd: end,
      handleLLMError: end,
    };
    return handler;
  }

  /** Returns the graph so that its tasks can be stopped. One without LangGraph's loop fails at a refused call. */
  wrapGraph(graph: Graph): Graph {
    const { _runLoop: run } = graph as { _runLoop?: RunLoop };
    if (typeof run !== 'function') return graph;
    this.#isGated = true;
    const runLoop: RunLoop = (params) => {
      const { loop } = params;
      const tick = loop.tick.bind(loop);
      loop.tick = async (...args) => {
        const goesOn = await tick(...args);
        if (goesOn) this.#gateTasks(Object.values(loop.tasks));
        return goesOn;
      };
      return run.call(graph, params);
    };
    return Object.create(graph, { _runLoop: { value: runLoop } }) as Graph;
  }

  /** The run is over. */
  close(): void {
    clearInterval(this.#watch);
  }

  #gateTasks(tasks: Task[]): void {
    this.#gates = new Map();
    for (const task of tasks.filter(({ writes }) => writes.length === 0)) {
      const { promise, reject } = Promise.withResolvers<never>();
      promise.catch(() => undefined);
      const { proc } = task;
      const invoke = (...args: unknown[]): Promise<unknown> =>
        Promise.race([proc.invoke(...args), promise]);
      task.proc = Object.create(proc, { invoke: { value: invoke } }) as Task['proc'];
      this.#gates.set(task.id, { stop: reject });
    }
  }

  async #admit(id: string, call: AskedCall): Promise<void> {
    const refusal = this.#refusal ?? (await this.#asking.ask(call));
    if (refusal === undefined) return;
    // One refusal is the run's: calls that are asked for later do not begin either.
    this.#refusal ??= refusal;
    this.#asking.refused(id);
    if (!this.#isGated) {
      this.#open.delete(id);
      throw buildStop(this.#refusal);
    }
    this.#held.add(id);
    this.#watch ??= this.#watchHeld(this.#refusal);
    await new Promise(() => undefined);
  }

  #watchHeld(refusal: CallRefusal): NodeJS.Timeout {
    const quiet = new Map<string | undefined, number>();
    const until = Date.now() + LONGEST_WORK_MILLISECONDS;
    return setInterval(() => {
      const around = this.#listAround();
      for (const task of new Set([...this.#held].map((id) => this.#open.get(id)?.task))) {
        const looks = this.#hasOther(task, around) ? 0 : (quiet.get(task) ?? 0) + 1;
        quiet.set(task, looks);
        if (looks >= QUIET_LOOKS || Date.now() > until) this.#stop(task, refusal);
      }
    }, LOOK_MILLISECONDS);
  }

  /** Returns the held calls and all work that they are parts of. */
  #listAround(): Set<string> {
    const around = new Set<string>();
    for (const id of this.#held)
      for (let at: string | undefined = id; at !== undefined && !around.has(at);) {
        around.add(at);
        at = this.#open.get(at)?.parent;
      }
    return around;
  }

  #hasOther(task: string | undefined, around: Set<string>): boolean {
    return [...this.#open].some(([id, work]) => work.task === task && !around.has(id));
  }

  /** Stops a task; where nobody knows which one a call is of, all of them. */
  #stop(task: string | undefined, refusal: CallRefusal): void {
    const gate = task === undefined ? undefined : this.#gates.get(task);
    for (const { stop } of gate === undefined ? this.#gates.values() : [gate])
      stop(buildStop(refusal));
  }
}

/** Returns the error that LangGraph takes for its own interrupt, or the one by which the run fails. */
function buildStop({ question, error }: CallRefusal): Error {
  if (question === undefined)
    return Object.assign(new Error(error?.message), { name: error?.error ?? 'Error' });
  const stop = new Error('A budget is spent.');
  return Object.assign(stop, {
    name: 'GraphInterrupt',
    is_bubble_up: true,
    interrupts: [question],
  });
}

/** Returns the id of the task of the outermost graph that some work is of. */
function readTask(metadata: unknown): string | undefined {
  const { langgraph_checkpoint_ns: place }: Json = isObject(metadata) ? metadata : {};
  return typeof place === 'string' ? place.split('|')[0]?.split(':').at(-1) : undefined;
}

type Prompted = { prompts: unknown; extra: unknown; metadata: unknown };

function describeCall(id: string, { prompts, extra, metadata }: Prompted): AskedCall {
  const about: Json = isObject(metadata) ? metadata : {};
  const { invocation_params: given }: Json = isObject(extra) ? extra : {};
  const params: Json = isObject(given) ? given : {};
  const most = [
    about['ls_max_tokens'],
    params['max_tokens'],
    params['max_completion_tokens'],
    params['max_output_tokens'],
    params['maxOutputTokens'],
  ].find((count) => Number.isSafeInteger(count) && (count as number) >= 0);
  return {
    id: readName(id) ?? randomUUID(),
    characters: Math.min(countCharacters(prompts), MAX_CALL_COUNT),
    ...dropUndefined({
      provider: readName(about['ls_provider']),
      model: readName(about['ls_model_name']),
      most_output: most === undefined ? undefined : Math.min(most as number, MAX_CALL_COUNT),
    }),
  };
}

/** Counts the characters of prompts: texts, or messages with contents and calls of tools. */
function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (Array.isArray(value))
    return value.reduce((sum: number, one) => sum + countCharacters(one), 0);
  if (!isObject(value)) return 0;
  const { content, text, tool_calls: calls } = value;
  const called = Array.isArray(calls) && calls.length > 0 ? JSON.stringify(calls).length : 0;
  return countCharacters(content ?? text) + called;
}
