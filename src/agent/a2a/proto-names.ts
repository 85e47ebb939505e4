import type { TSchema } from 'typebox';
import { Rejected } from '../../errors.ts';
import { isObject } from '../../schema/json.ts';
import { toCamelKey } from '../../schema/types.ts';

/* The protocol's fields have two names: that of its proto files, and that of JSON. */

/**
 * Returns the value with the fields of the schema under their names of JSON: `task_id` becomes `taskId`. Parts that the
 * schema leaves free, such as metadata and data, stay as they are. Throws `Rejected` for a field that has both names.
 */
export function toJsonNames(schema: TSchema, value: unknown, at: string[] = []): unknown {
  const { properties, items } = schema as { properties?: Record<string, TSchema>; items?: TSchema };
  if (Array.isArray(value) && items !== undefined)
    return value.map((item, index) => toJsonNames(items, item, [...at, String(index)]));
  if (!isObject(value) || properties === undefined) return value;
  return Object.fromEntries(
    Object.entries(value).map(([given, field]) => {
      const name = Object.hasOwn(properties, given) ? given : toCamelKey(given);
      if (!Object.hasOwn(properties, name)) return [given, field];
      const path = [...at, given];
      if (name !== given && Object.hasOwn(value, name))
        throw new Rejected(`${path.join('.')}: is there as ${name}, too.`);
      return [name, toJsonNames(properties[name]!, field, path)];
    }),
  );
}
