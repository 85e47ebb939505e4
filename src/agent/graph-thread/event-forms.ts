import { checkpointOf } from './snapshot.ts';

/* LangGraph.js tells of checkpoints and tasks in a form of its own; clients expect the interface's. */

type Json = Record<string, unknown>;

/** `checkpoints`: `{config, parent_config, metadata, values, next, tasks}`. */
export function checkpointForm(payload: unknown): Json {
  const { config, parentConfig, ...rest } = payload as Json;
  return { ...rest, config: shown(config), parent_config: shown(parentConfig) };
}

/** `debug`: a checkpoint tells its place and its parent's, too. */
export function debugForm(told: unknown): unknown {
  const { type, payload, ...rest } = told as Json;
  if (type === 'task_result') return { ...rest, type, payload: taskForm(payload) };
  if (type !== 'checkpoint') return told;
  const { config, parentConfig } = payload as { config?: { configurable?: Json }; parentConfig?: { configurable?: Json } };
  const places = { checkpoint: checkpointOf(config?.configurable), parent_checkpoint: checkpointOf(parentConfig?.configurable) };
  return { ...rest, type, payload: { ...checkpointForm(payload), ...places } };
}

/** `tasks`: a finished one tells that it has no error. */
export function taskForm(payload: unknown): unknown {
  return 'result' in (payload as Json) ? { error: null, ...(payload as Json) } : payload;
}

/** A call's configuration without the objects that this server puts there for LangGraph. */
function shown(config: unknown): Json | null {
  if (config === undefined || config === null) return null;
  const { configurable = {}, ...rest } = config as { configurable?: Json };
  return { ...rest, configurable: Object.fromEntries(Object.entries(configurable).filter(([name]) => !name.startsWith('__'))) };
}
