import { AsyncLocalStorage } from 'node:async_hooks';
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import { createGraphLog, type Log } from '../../log.ts';
import type { RunSpec } from '../../schema/wire/wall/run-in-thread.ts';
import { isComposite } from '../../schema/json.ts';
import { runFields } from '../kernel/run-fields.ts';

/** Carries out the work of a run so that the log lines of its graph have the run's ids. */
export type DuringRun = <T>(spec: RunSpec, work: () => Promise<T>) => Promise<T>;

/** The words of `@langchain/langgraph-sdk/logging` with our levels. */
const LEVELS = {
  error: 'error',
  warn: 'warn',
  help: 'info',
  data: 'info',
  info: 'info',
  debug: 'debug',
  prompt: 'debug',
  http: 'debug',
  verbose: 'debug',
  input: 'debug',
  silly: 'trace',
} as const;

type GraphLogger = Record<
  keyof typeof LEVELS,
  (message: unknown, ...more: unknown[]) => GraphLogger
>;
type Ids = Record<string, string>;

/** The place where `getLogger` of every copy of the SDK looks. */
const LOGGER = Symbol.for('langgraph.api.sdk-logger');

/** Returns how a run is carried out, and the ids of the one under way, which all lines of this thread's log have. */
export function createRunLogging(): { duringRun: DuringRun; idsNow: () => Ids } {
  const ids = new AsyncLocalStorage<Ids>();
  return {
    duringRun: (spec, work) => ids.run({ ...runFields(spec), graph_id: spec.graph_id }, work),
    // The log adds the other fields of a line to it.
    idsNow: () => ({ ...ids.getStore() }),
  };
}

/**
 * Serves `getLogger()` of `@langchain/langgraph-sdk/logging` in this thread. Each record that a graph logs becomes a
 * line of our log, with the name of its node.
 */
export function serveLogger(log: Log): void {
  const lines = createGraphLog(log);
  const write = (word: keyof typeof LEVELS, message: unknown, more: unknown[]): void => {
    const { text, data } = toLogLine(message, more);
    lines[LEVELS[word]]({ ...getCurrentNode(), ...data }, text);
  };
  const logger = {} as GraphLogger;
  for (const word of Object.keys(LEVELS) as (keyof typeof LEVELS)[])
    logger[word] = (message, ...more) => {
      write(word, message, more);
      return logger;
    };
  Object.assign(globalThis, { [LOGGER]: logger });
}

/** Returns the node that the asking code is a part of, as far as LangGraph knows it. */
export function getCurrentNode(): { node?: string } {
  const config = AsyncLocalStorageProviderSingleton.getRunnableConfig() as
    | { metadata?: { langgraph_node?: string } }
    | undefined;
  const node = config?.metadata?.langgraph_node;
  return node === undefined ? {} : { node };
}

/**
 * Returns the sentence of a line, and its data under a key of its own, because a field named `level` must not change
 * the line's.
 */
function toLogLine(
  message: unknown,
  more: unknown[],
): { text: string; data: { err?: Error; data?: unknown } } {
  if (message instanceof Error)
    return { text: message.message, data: { err: message, ...toLogData(more) } };
  if (!isComposite(message)) return { text: String(message), data: toLogData(more) };
  const { message: text = '', ...fields } = message;
  return {
    text: String(text),
    data: toLogData([...(Object.keys(fields).length > 0 ? [fields] : []), ...more]),
  };
}

function toLogData(more: unknown[]): { err?: Error; data?: unknown } {
  const err = more.find((one) => one instanceof Error);
  const rest = more.filter((one) => one !== err);
  return {
    ...(err && { err }),
    ...(rest.length > 0 && { data: rest.length === 1 ? rest[0] : rest }),
  };
}
