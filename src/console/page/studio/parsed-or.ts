/** Returns the value of a JSON text, or another one where it has none. */
export function parsedOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return otherwise;
  }
}
