/*
 * The one way of a record's JSON into its column: the place where fields get encrypted once a deployment asks for it.
 */

/** The NUL character, and half of a surrogate pair: JSON.stringify escapes a half, and only a half. */
const REFUSED = /\\u(?:0000|d[89a-f][0-9a-f]{2})/g;

/**
 * Returns JSON text for a `jsonb` column. Postgres refuses the NUL character, which is dropped, as text columns do, and
 * half characters, which become \ufffd.
 */
export function toField(value: unknown): string | null {
  return value === undefined || value === null ? null : fieldText(JSON.stringify(value));
}

/** Does the same for text that is JSON already. An escaped backslash before "u0000" is not a NUL. */
export function fieldText(json: string): string {
  if (!json.includes('\\u0000') && !json.includes('\\ud')) return json;
  return json.replaceAll(REFUSED, (match, at: number) => {
    if (backslashesBefore(json, at) % 2 === 1) return match;
    return match === '\\u0000' ? '' : '\ufffd';
  });
}

function backslashesBefore(text: string, at: number): number {
  let count = 0;
  while (text[at - 1 - count] === '\\') count += 1;
  return count;
}
