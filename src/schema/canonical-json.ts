import { hash } from 'node:crypto';
import { isComposite } from './json.ts';

/**
 * Returns JSON with sorted keys, so that equal values have equal text. Keys that are numbers come first, by size, as
 * JavaScript itself orders them. It sorts a copy, because JSON.stringify with a replacer takes three times as long, and
 * a busy operator spends most of its time hashing.
 */
export const formatCanonicalJson = (value: unknown): string => JSON.stringify(sortKeys(value));

function sortKeys(value: unknown): unknown {
  if (!isComposite(value) || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(sortKeys);
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key])]));
}

/** Hashes that are kept, some 2 MB of them. */
const REMEMBERED = 10_000;

/**
 * Hashes by a plain hash of the JSON text. Such a look-up takes a tenth of the time of sorting the keys, and an
 * operator asks again and again for the same objects.
 */
// oxlint-disable-next-line house/module-state -- the answers of a pure function: nobody can tell whether they are kept
const remembered = new Map<string, string>();

/** Returns 32 hexadecimal digits, equal for values that are equal as JSON, whatever the order of their keys. */
export function hashJson(value: unknown): string {
  const plain = hash('sha256', JSON.stringify(value));
  const known = remembered.get(plain) ?? hash('sha256', formatCanonicalJson(value)).slice(0, 32);
  remembered.delete(plain);
  remembered.set(plain, known);
  const oldest = remembered.keys().next().value;
  if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  return known;
}
