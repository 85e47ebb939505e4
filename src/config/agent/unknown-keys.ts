import type { TSchema } from 'typebox';
import { isObject } from '../../schema/json.ts';
import { findNearestName } from '../../nearest-name.ts';

/** A key that a schema does not have: its path, and the key of the schema that may be meant. */
export type UnknownKey = { name: string; pattern: string; nearest: string | undefined };

type Schema = {
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
};
type Place = { at: string; pattern: string; root: Schema };

/** Returns a value without the keys that a schema does not allow, and these keys with the nearest that it has. */
export function splitUnknownKeys(
  value: unknown,
  schema: TSchema,
): { value: unknown; unknown: UnknownKey[] } {
  const unknown: UnknownKey[] = [];
  return {
    value: pickKnownKeys(value, schema, { at: '', pattern: '', root: schema }, unknown),
    unknown,
  };
}

function pickKnownKeys(
  value: unknown,
  schema: Schema,
  place: Place,
  unknown: UnknownKey[],
): unknown {
  if (Array.isArray(value))
    return schema.items === undefined
      ? value
      : value.map((each) => pickKnownKeys(each, schema.items!, place, unknown));
  if (!isObject(value)) return value;
  const { properties = {}, additionalProperties } = schema;
  const kept: [string, unknown][] = [];
  for (const [key, field] of Object.entries(value)) {
    const isNamed = Object.hasOwn(properties, key);
    const below = isNamed ? properties[key] : additionalProperties;
    const at = joinPath(place.at, key);
    const inside = {
      ...place,
      at,
      pattern: joinPath(place.pattern, isNamed || below === false ? key : '*'),
    };
    if (below === false)
      unknown.push({
        name: at,
        pattern: inside.pattern,
        nearest: findNearestKey(key, schema, place),
      });
    else
      kept.push([
        key,
        typeof below === 'object' ? pickKnownKeys(field, below, inside, unknown) : field,
      ]);
  }
  return Object.fromEntries(kept);
}

const joinPath = (at: string, key: string): string => (at === '' ? key : `${at}.${key}`);

/** Returns the key beside an unknown one that is spelled almost so, or else the one of that name elsewhere. */
export function findNearestKey(
  key: string,
  beside: Schema,
  { at, root }: Place,
): string | undefined {
  const sibling = findNearestName(key, Object.keys(beside.properties ?? {}));
  if (sibling !== undefined) return joinPath(at, sibling);
  return listPaths(root).find((path) => path.split('.').at(-1) === key);
}

const listPaths = (schema: Schema, at = ''): string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, below]) => [
    joinPath(at, name),
    ...listPaths(below, joinPath(at, name)),
  ]);
