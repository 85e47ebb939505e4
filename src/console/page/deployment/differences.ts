import { isComposite } from '../../../schema/json.ts';

/** A field in which two values differ. An absent one has no text. */
export type Difference = { path: string; before: string | undefined; after: string | undefined };

/** Returns each field of a value, by its path, as text. Null counts as absent. */
export function listFlatFields(value: unknown, path = ''): Map<string, string> {
  if (value === null || value === undefined) return new Map();
  if (!isComposite(value))
    return new Map([[path, typeof value === 'string' ? value : JSON.stringify(value)]]);
  const buildPath = (key: string): string =>
    path === '' ? key : Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`;
  return new Map(
    Object.entries(value).flatMap(([key, one]) => [...listFlatFields(one, buildPath(key))]),
  );
}

/** Returns the fields in which two values differ, sorted by their paths. */
export function listDifferences(before: unknown, after: unknown): Difference[] {
  const [one, other] = [listFlatFields(before), listFlatFields(after)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .sort()
    .map((path) => ({ path, before: one.get(path), after: other.get(path) }))
    .filter((field) => field.before !== field.after);
}
