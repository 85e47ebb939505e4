import { toError, StartError } from '../../errors.ts';
import type { SettingsReader } from '../env.ts';
import { type Json, isObject } from '../../schema/json.ts';

/** The config and the context that runs of a graph's own assistant get where they give none. */
export type AssistantDefaults = { config: Json; context: Json };

export const ASSISTANT_DEFAULTS = 'LANGGRAPH_CONFIG';

const refuse = (problem: string): never => {
  throw new StartError(`${ASSISTANT_DEFAULTS} ${problem}.`);
};

/**
 * Reads the setting: a JSON object, graph id -> config of a run, with `context` beside its other fields. Settings of
 * the graph are in `context` or in `configurable`, which are two names for them. Throws a `StartError` for anything
 * else.
 */
export function parseAssistantDefaults(text: string | undefined): Map<string, AssistantDefaults> {
  const given = parseJson(text ?? '{}');
  if (!isObject(given)) return refuse('must be a JSON object: graph id -> config');
  return new Map(
    Object.entries(given).map(([graph, config]) => [graph, readGraphDefaults(graph, config)]),
  );
}

/** Returns the setting as it is written, and adds its faults to the problems. */
export function readAssistantDefaultsText(read: SettingsReader): string | undefined {
  const text = read.readOptional([ASSISTANT_DEFAULTS]);
  try {
    parseAssistantDefaults(text);
  } catch (error) {
    read.addProblem(toError(error).message.replace(/\.$/, ''));
  }
  return text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse('is not valid JSON');
  }
}

function readGraphDefaults(graph: string, given: unknown): AssistantDefaults {
  if (!isObject(given)) return refuse(`must have an object for the graph "${graph}"`);
  const { context, configurable, ...config } = given;
  if (context !== undefined && configurable !== undefined)
    refuse(`must not give both context and configurable to the graph "${graph}"`);
  const settings = context ?? configurable ?? {};
  if (!isObject(settings))
    return refuse(`must have an object as context or configurable of the graph "${graph}"`);
  return {
    config: { ...config, ...(Object.keys(settings).length > 0 && { configurable: settings }) },
    context: settings,
  };
}
