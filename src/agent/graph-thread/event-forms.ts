import { checkpointOf } from './snapshot.ts';
import { isObject, type Json } from '../../schema/json.ts';
import { omitUnshown } from './unshown.ts';

/*
 * This file converts LangGraph.js's own form of checkpoints and tasks to the one that clients of the interface expect.
 */

/** Returns the payload of the mode `checkpoints`: `{config, parent_config, metadata, values, next, tasks}`. */
export function shapeCheckpoint(payload: unknown, unshown: string[]): Json {
  const { config, parentConfig, metadata, ...rest } = payload as Json;
  return {
    ...rest,
    ...(metadata !== undefined && { metadata: isObject(metadata) ? omitUnshown(metadata, unshown) : metadata }),
    config: shown(config, unshown),
    parent_config: shown(parentConfig, unshown),
  };
}

/** Returns the payload of the mode `debug`, where a checkpoint also names itself and its parent. */
export function debugForm(given: unknown, unshown: string[]): unknown {
  const { type, payload, ...rest } = given as Json;
  if (type === 'task_result') return { ...rest, type, payload: taskForm(payload) };
  if (type !== 'checkpoint') return given;
  const { config, parentConfig } = payload as { config?: { configurable?: Json }; parentConfig?: { configurable?: Json } };
  const places = { checkpoint: checkpointOf(config?.configurable), parent_checkpoint: checkpointOf(parentConfig?.configurable) };
  return { ...rest, type, payload: { ...shapeCheckpoint(payload, unshown), ...places } };
}

/** Returns the payload of the mode `tasks`, where a finished task says that it has no error. */
export function taskForm(payload: unknown): unknown {
  return 'result' in (payload as Json) ? { error: null, ...(payload as Json) } : payload;
}

/** Returns a call's configuration without the objects that this server puts there for LangGraph. */
function shown(config: unknown, unshown: string[]): Json | null {
  if (config === undefined || config === null) return null;
  const { configurable = {}, metadata, ...rest } = config as { configurable?: Json; metadata?: Json };
  const own = Object.keys(configurable).filter((name) => name.startsWith('__'));
  return {
    ...rest,
    ...(metadata !== undefined && { metadata: omitUnshown(metadata, unshown) }),
    configurable: omitUnshown(configurable, [...own, ...unshown]),
  };
}
