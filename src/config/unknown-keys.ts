import type { TSchema } from 'typebox';
import { isObject } from '../schema/json.ts';

/** A key that a schema does not have: its path, and the key of the schema that may be meant. */
export type UnknownKey = { name: string; pattern: string; nearest: string | undefined };

type Schema = { properties?: Record<string, Schema>; additionalProperties?: boolean | Schema; items?: Schema };
type Place = { at: string; pattern: string; root: Schema };

/** Returns a value without the keys that a schema does not allow, and these keys with the nearest that it has. */
export function splitUnknownKeys(value: unknown, schema: TSchema): { value: unknown; unknown: UnknownKey[] } {
  const unknown: UnknownKey[] = [];
  return { value: knownPart(value, schema, { at: '', pattern: '', root: schema }, unknown), unknown };
}

function knownPart(value: unknown, schema: Schema, place: Place, unknown: UnknownKey[]): unknown {
  if (Array.isArray(value)) return schema.items === undefined ? value : value.map((each) => knownPart(each, schema.items!, place, unknown));
  if (!isObject(value)) return value;
  const { properties = {}, additionalProperties } = schema;
  const kept: [string, unknown][] = [];
  for (const [key, field] of Object.entries(value)) {
    const isNamed = Object.hasOwn(properties, key);
    const below = isNamed ? properties[key] : additionalProperties;
    const at = joined(place.at, key);
    const inside = { ...place, at, pattern: joined(place.pattern, isNamed || below === false ? key : '*') };
    if (below === false) unknown.push({ name: at, pattern: inside.pattern, nearest: nearestKey(key, schema, place) });
    else kept.push([key, typeof below === 'object' ? knownPart(field, below, inside, unknown) : field]);
  }
  return Object.fromEntries(kept);
}

const joined = (at: string, key: string): string => (at === '' ? key : `${at}.${key}`);

/** Returns the key beside an unknown one that is spelled almost so, or else the one of that name elsewhere. */
export function nearestKey(key: string, beside: Schema, { at, root }: Pick<Place, 'at' | 'root'>): string | undefined {
  const siblings = Object.keys(beside.properties ?? {}).map((name) => ({
    name,
    changes: countChanges(key.toLowerCase(), name.toLowerCase()),
  }));
  const [best] = siblings.toSorted((one, other) => one.changes - other.changes);
  if (best !== undefined && best.changes <= Math.max(1, Math.floor(key.length / 3))) return joined(at, best.name);
  return pathsOf(root).find((path) => path.split('.').at(-1) === key);
}

const pathsOf = (schema: Schema, at = ''): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, below]) => [joined(at, name), ...pathsOf(below, joined(at, name))]);

/** Returns how many letters must be changed, added, removed or swapped to make one word the other. */
function countChanges(one: string, other: string): number {
  const rows = [[...Array(other.length + 1).keys()]];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const changed = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (isSame ? 0 : 1));
      row.push(isSwapped ? Math.min(changed, rows[i - 2]![j - 2]! + 1) : changed);
    }
    rows.push(row);
  }
  return rows[one.length]![other.length]!;
}
