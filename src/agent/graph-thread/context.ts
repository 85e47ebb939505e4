import { type Json, isComposite } from '../../schema/json.ts';
import type { Graph } from './load.ts';

/** The part of a zod schema that is used, of any version. It throws where it can check only asynchronously. */
type Checker = { safeParse?(value: unknown): { success: boolean; data?: unknown } };

/**
 * Returns the context of a call with the defaults of the graph's own schema for fields that are not given. LangGraph.js
 * checks a context by that schema, and hands it on as it came. A context that the schema refuses is left to it.
 */
export function applyContextDefaults({ builder }: Graph, given: Json): Json {
  const schema = builder?._configRuntimeSchema as Checker | undefined;
  if (typeof schema?.safeParse !== 'function') return given;
  try {
    const { data } = schema.safeParse(given);
    const whole = isComposite(data) ? { ...data, ...given } : given;
    return schema.safeParse(whole).success ? whole : given;
  } catch {
    return given;
  }
}
