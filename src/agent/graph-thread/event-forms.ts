import { toCheckpointRef } from './snapshot.ts';
import { isObject, type Json } from '../../schema/json.ts';
import { stripUnshown } from './unshown.ts';

/*
 * This file converts LangGraph.js's own form of checkpoints and tasks to the one that clients of the interface expect.
 */

/** Returns the payload of the mode `checkpoints`: `{config, parent_config, metadata, values, next, tasks}`. */
export function toCheckpointPayload(payload: unknown, unshown: string[]): Json {
  const { config, parentConfig, metadata, ...rest } = payload as Json;
  return {
    ...rest,
    ...(metadata !== undefined && {
      metadata: isObject(metadata) ? stripUnshown(metadata, unshown) : metadata,
    }),
    config: toShownConfig(config, unshown),
    parent_config: toShownConfig(parentConfig, unshown),
  };
}

/** Returns the payload of the mode `debug`, where a checkpoint also names itself and its parent. */
export function toDebugPayload(given: unknown, unshown: string[]): unknown {
  const { type, payload, ...rest } = given as Json;
  if (type === 'task_result') return { ...rest, type, payload: toTaskPayload(payload) };
  if (type !== 'checkpoint') return given;
  const { config, parentConfig } = payload as {
    config?: { configurable?: Json };
    parentConfig?: { configurable?: Json };
  };
  const places = {
    checkpoint: toCheckpointRef(config?.configurable),
    parent_checkpoint: toCheckpointRef(parentConfig?.configurable),
  };
  return { ...rest, type, payload: { ...toCheckpointPayload(payload, unshown), ...places } };
}

/** Returns the payload of the mode `tasks`, where a finished task says that it has no error. */
export function toTaskPayload(payload: unknown): unknown {
  return 'result' in (payload as Json) ? { error: null, ...(payload as Json) } : payload;
}

/** Returns a call's configuration without the objects that this server puts there for LangGraph. */
function toShownConfig(config: unknown, unshown: string[]): Json | null {
  if (config === undefined || config === null) return null;
  const {
    configurable = {},
    metadata,
    ...rest
  } = config as { configurable?: Json; metadata?: Json };
  const own = Object.keys(configurable).filter((name) => name.startsWith('__'));
  return {
    ...rest,
    ...(metadata !== undefined && { metadata: stripUnshown(metadata, unshown) }),
    configurable: stripUnshown(configurable, [...own, ...unshown]),
  };
}
