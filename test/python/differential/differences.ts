/* Compares two answers. Ids, times and versions differ by nature, so they are masked. */

export type Answer = { status: number; body: unknown };

/** `ours` and `theirs` are undefined where the answer has no such field. */
export type Difference = { request: string; field: string; ours: unknown; theirs: unknown };

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const HASH = /\b[0-9a-f]{32}\b/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)/g;
const VERSION = /\b\d{10,32}\.[0-9a-z.]+\b/g;

const maskedText = (text: string): string =>
  text
    .replaceAll(UUID, '<id>')
    .replaceAll(HASH, '<id>')
    .replaceAll(TIME, '<time>')
    .replaceAll(VERSION, '<version>');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value with its ids, times and versions masked, in keys, too. */
export function masked(value: unknown): unknown {
  if (typeof value === 'string') return maskedText(value);
  if (Array.isArray(value)) return value.map(masked);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [maskedText(key), masked(inner)]),
  );
}

/** Returns where two masked values differ. Items of a list have the place `*`; those that only one has are counted. */
export function differencesOf(
  request: string,
  ours: unknown,
  theirs: unknown,
  field = '',
): Difference[] {
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    const both = ours
      .slice(0, theirs.length)
      .flatMap((item, at) => differencesOf(request, item, theirs[at], `${field}.*`));
    return [...both, ...differencesOf(request, ours.length, theirs.length, `${field}.length`)];
  }
  if (isObject(ours) && isObject(theirs))
    return [...new Set([...Object.keys(ours), ...Object.keys(theirs)])].flatMap((key) =>
      differencesOf(request, ours[key], theirs[key], `${field}.${key}`),
    );
  return JSON.stringify(ours) === JSON.stringify(theirs) ? [] : [{ request, field, ours, theirs }];
}
