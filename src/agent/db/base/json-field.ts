/*
 * This file is the one way of a record's JSON into its column, and the place to encrypt fields if a deployment asks for
 * it.
 */

/** The NUL character, and half of a surrogate pair: JSON.stringify escapes a half, and only a half. */
const REFUSED = /\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/**
 * Returns JSON text for a `jsonb` column. Postgres refuses two kinds of characters: NUL is dropped, as text columns do,
 * and half a surrogate pair becomes \ufffd.
 */
export function toField(value: unknown): string | null {
  return value === undefined || value === null ? null : toFieldText(JSON.stringify(value));
}

/** Does the same for text that is already JSON. An escaped backslash before "u0000" is not a NUL. */
export function toFieldText(json: string): string {
  if (!json.includes('\\u0000') && !json.includes('\\ud')) return json;
  return json.replaceAll(REFUSED, (match, at: number) => {
    if (countBackslashes(json, at) % 2 === 1) return match;
    return match === '\\u0000' ? '' : '\ufffd';
  });
}

function countBackslashes(text: string, at: number): number {
  let count = 0;
  while (text[at - 1 - count] === '\\') count += 1;
  return count;
}
