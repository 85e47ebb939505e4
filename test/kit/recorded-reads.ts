import type { KubeObject } from '../../src/kube/kube.ts';

/** One field that was read: `status.conditions[Ready].status`. Entries of lists go by their name, type, key or uid. */
export type Read = { path: string[]; object: KubeObject };
export type Record = (read: Read) => void;

const KEYS = ['name', 'type', 'key', 'uid'] as const;

/** Returns the path segment of a list's entry: what names it, or its index. */
export function segmentOf(entry: unknown, index: string): string {
  if (typeof entry !== 'object' || entry === null) return `[${index}]`;
  const key = KEYS.find((name) => typeof (entry as { [name: string]: unknown })[name] === 'string');
  return key === undefined
    ? `[${index}]`
    : `[${String((entry as { [name: string]: unknown })[key])}]`;
}

/**
 * Returns true for what is not a field of the object: a method, the length of a list, or what JSON.stringify asks for.
 */
const isMachinery = (target: object, name: string, value: unknown): boolean =>
  typeof value === 'function' ||
  name === 'toJSON' ||
  (Array.isArray(target) && !/^\d+$/.test(name));

const isKeyOfEntry = (path: string[], name: string): boolean =>
  path.at(-1)?.startsWith('[') === true && (KEYS as readonly string[]).includes(name);

/**
 * Returns the object, recording each leaf that is read of it. Searching a list for the name of an entry does not count
 * as a read.
 */
export function recorded<T extends object>(whole: T, record: Record): T {
  const object = whole as unknown as KubeObject;
  const known = new WeakMap<object, object>();
  const view = (target: object, path: string[]): object => {
    const before = known.get(target);
    if (before !== undefined) return before;
    const proxy = new Proxy(target, {
      get(_, name, receiver) {
        const value: unknown = Reflect.get(target, name, Array.isArray(target) ? receiver : target);
        if (typeof name === 'symbol' || isMachinery(target, name, value)) return value;
        const next = [...path, Array.isArray(target) ? segmentOf(value, name) : name];
        if (typeof value === 'object' && value !== null) return view(value, next);
        if (!isKeyOfEntry(path, name)) record({ path: next, object });
        return value;
      },
    });
    known.set(target, proxy);
    return proxy;
  };
  return view(object, []) as T;
}

/** Returns the same object with another value at the path, or undefined if the path leads nowhere. */
export function changed(
  object: KubeObject,
  path: string[],
  value: unknown,
): KubeObject | undefined {
  const copy = structuredClone(object);
  let at: unknown = copy;
  for (const [index, segment] of path.entries()) {
    if (typeof at !== 'object' || at === null) return undefined;
    const key = keyOf(at, segment);
    if (key === undefined) return undefined;
    if (index < path.length - 1) at = (at as { [name: string]: unknown })[key];
    else if (value === undefined) delete (at as { [name: string]: unknown })[key];
    else (at as { [name: string]: unknown })[key] = value;
  }
  return copy;
}

const keyOf = (at: object, segment: string): string | undefined =>
  Array.isArray(at)
    ? Object.keys(at).find(
        (index) => segmentOf((at as unknown[])[Number(index)], index) === segment,
      )
    : segment;
