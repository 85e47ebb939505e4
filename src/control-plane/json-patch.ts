import type { JsonPatch } from '../kube/kube.ts';
import { canonicalJson } from '../schema/canonical-json.ts';
import { type Json, isObject } from '../schema/json.ts';

const escaped = (step: string): string => step.replaceAll('~', '~0').replaceAll('/', '~1');

/** Returns an own field, because every object inherits names such as `constructor`. */
const own = (record: Json, key: string): unknown => (Object.hasOwn(record, key) ? record[key] : undefined);

/**
 * Returns the smallest patch that turns `before` into `after` below `path`. Objects are compared by key, lists as a
 * whole.
 */
export function jsonPatchOf(before: unknown, after: unknown, path: string): JsonPatch {
  if (before === undefined) return after === undefined ? [] : [{ op: 'add', path, value: after }];
  if (after === undefined) return [{ op: 'remove', path }];
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => jsonPatchOf(own(before, key), own(after, key), `${path}/${escaped(key)}`));
  }
  return canonicalJson(before) === canonicalJson(after) ? [] : [{ op: 'replace', path, value: after }];
}
