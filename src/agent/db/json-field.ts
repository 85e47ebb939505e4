/*
 * The one way of a record's JSON into its column and back: the place where fields get encrypted once a deployment asks for it.
 */

const NUL = /\\u0000/g;

/** JSON text for a `jsonb` column. Postgres refuses the NUL character; it is dropped, as text columns do. */
export function toField(value: unknown): string | null {
  return value === undefined || value === null ? null : fieldText(JSON.stringify(value));
}

/** The same for text that is JSON already. An escaped backslash before "u0000" is not a NUL. */
export function fieldText(json: string): string {
  return json.includes('\\u0000')
    ? json.replaceAll(NUL, (match, at: number) => (backslashesBefore(json, at) % 2 === 0 ? '' : match))
    : json;
}

function backslashesBefore(text: string, at: number): number {
  let count = 0;
  while (text[at - 1 - count] === '\\') count += 1;
  return count;
}
