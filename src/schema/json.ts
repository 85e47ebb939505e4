/** An object of JSON whose fields nobody has checked yet. */
export type Json = Record<string, unknown>;

/** Returns true for an object or a list: for a value that has parts. */
export const isComposite = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null;

/** Returns true for an object with named fields: neither null nor a list. */
export const isObject = (value: unknown): value is Json =>
  isComposite(value) && !Array.isArray(value);

/** Returns true for a value that is neither absent nor null. */
export const isPresent = <T>(value: T): value is NonNullable<T> =>
  value !== null && value !== undefined;

/** Returns the fields that have a value, as JSON would write them. */
export const dropUndefined = <T extends object>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** Returns the value without fields that are null or absent, at every depth. */
export function stripNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripNulls);
  if (!isObject(value)) return value;
  const present = Object.entries(value).filter(([, field]) => isPresent(field));
  return Object.fromEntries(present.map(([name, field]) => [name, stripNulls(field)]));
}

/** Returns the value of a JSON text, or another one where it has none. */
export function parseJsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return otherwise;
  }
}
