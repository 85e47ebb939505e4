import { isObject } from '../../schema/json.ts';

/* A change of a JSON value as operations of RFC 6902. */

export type PatchOperation =
  | { op: 'add' | 'replace'; path: string; value: unknown }
  | { op: 'remove'; path: string };

const formatPointer = (path: string, key: string | number): string =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/**
 * Returns operations that turn the first value into the second. Lists are compared item by item from their beginning,
 * because states mostly append to them.
 */
export function diffJson(before: unknown, after: unknown, path = ''): PatchOperation[] {
  if (isObject(before) && isObject(after)) {
    const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
    return [
      ...removed.map((key): PatchOperation => ({ op: 'remove', path: formatPointer(path, key) })),
      ...Object.entries(after).flatMap(([key, value]): PatchOperation[] =>
        Object.hasOwn(before, key)
          ? diffJson(before[key], value, formatPointer(path, key))
          : [{ op: 'add', path: formatPointer(path, key), value }],
      ),
    ];
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const shared = Math.min(before.length, after.length);
    const changed = Array.from({ length: shared }, (_, at) =>
      diffJson(before[at], after[at], formatPointer(path, at)),
    ).flat();
    const added = after
      .slice(shared)
      .map((value: unknown): PatchOperation => ({ op: 'add', path: `${path}/-`, value }));
    // The last item is removed first, so that the others keep their places.
    const removed = Array.from({ length: before.length - shared }, (_, at): PatchOperation => ({
      op: 'remove',
      path: formatPointer(path, before.length - 1 - at),
    }));
    return [...changed, ...added, ...removed];
  }
  return before === after ? [] : [{ op: 'replace', path, value: after }];
}
