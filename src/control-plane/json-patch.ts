import type { JsonPatch } from '../kube/kube.ts';
import { canonicalJson } from '../schema/revision-of.ts';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const escaped = (step: string): string => step.replaceAll('~', '~0').replaceAll('/', '~1');

/** The least changes that make `after` of `before` below `path`: objects by key, lists as a whole (pure). */
export function jsonPatchOf(before: unknown, after: unknown, path: string): JsonPatch {
  if (before === undefined) return after === undefined ? [] : [{ op: 'add', path, value: after }];
  if (after === undefined) return [{ op: 'remove', path }];
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => jsonPatchOf(before[key], after[key], `${path}/${escaped(key)}`));
  }
  return canonicalJson(before) === canonicalJson(after) ? [] : [{ op: 'replace', path, value: after }];
}
