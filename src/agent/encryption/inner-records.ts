import { isComposite, isObject, type Json } from '../../schema/json.ts';

/*
 * A run's settings and a cron's call hold copies of other records: input, context, `configurable`, metadata. A module
 * that encrypts a key of a record must find it in its copies, so `json` gets each of them as a record of its own.
 */

/** The place of a record in the object that holds it. */
export type Path = string[];

const HOLDERS = new Set(['run.kwargs', 'cron.payload']);

const PLACES: readonly Path[] = [
  ['input'],
  ['context'],
  ['metadata'],
  ['config', 'configurable'],
  ['config', 'metadata'],
  ['command', 'update'],
  ['command', 'resume'],
  ['command', 'goto', 'input'],
];

/** Returns the places of the records that an object of the field holds. */
export function listInnerRecordPaths(of: string, holder: Json): Path[] {
  if (!HOLDERS.has(of)) return [];
  const goto = getValueAt(holder, ['command', 'goto']);
  const targets = Array.isArray(goto)
    ? goto.map((_, at) => ['command', 'goto', String(at), 'input'])
    : [];
  return [...PLACES, ...targets].filter((path) => isObject(getValueAt(holder, path)));
}

/** The place of a value in the same objects that has a field of its own, as the webhook of a run has. */
export const listInnerValuePaths = (of: string, holder: Json): Path[] =>
  HOLDERS.has(of) && typeof holder['webhook'] === 'string' ? [['webhook']] : [];

/** Returns the value at the place; undefined where there is none. */
export const getValueAt = (holder: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, name) => (isComposite(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    holder,
  );

/** Returns a copy of the object with another value at the place. */
export function copyWithValueAt<T>(holder: T, [name, ...rest]: Path, value: unknown): T {
  if (name === undefined) return value as T;
  const copy = (Array.isArray(holder) ? [...(holder as unknown[])] : { ...holder }) as Json;
  copy[name] = copyWithValueAt(copy[name], rest, value);
  return copy as T;
}

/** Returns the kind and the field of the part at a place, as handlers get them. */
export const formatInnerName = (of: string, path: Path): string =>
  `${of.slice(0, of.indexOf('.'))}.${path.at(-1)}`;
