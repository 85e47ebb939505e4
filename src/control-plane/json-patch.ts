import type { JsonPatch } from '../kube/kube.ts';
import { formatCanonicalJson } from '../schema/canonical-json.ts';
import { type Json, isObject } from '../schema/json.ts';

const escapeStep = (step: string): string => step.replaceAll('~', '~0').replaceAll('/', '~1');

/** Returns an own field, because every object inherits names such as `constructor`. */
const getOwn = (record: Json, key: string): unknown =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/**
 * Returns the smallest patch that turns `before` into `after` below `path`. Objects are compared by key, lists as a
 * whole.
 */
export function buildJsonPatch(before: unknown, after: unknown, path: string): JsonPatch {
  if (before === undefined) return after === undefined ? [] : [{ op: 'add', path, value: after }];
  if (after === undefined) return [{ op: 'remove', path }];
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) =>
      buildJsonPatch(getOwn(before, key), getOwn(after, key), `${path}/${escapeStep(key)}`),
    );
  }
  return formatCanonicalJson(before) === formatCanonicalJson(after)
    ? []
    : [{ op: 'replace', path, value: after }];
}
