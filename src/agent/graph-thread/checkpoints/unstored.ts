/*
 * Values that have no stored form: a BigInt, or an object whose own form (`toJSON`, a getter) throws. LangGraph stores
 * a sentence in their place, and the next step would find that instead of the value.
 */

/** Thrown for such a value. The name is that of graphs in Python. */
export class UnstoredError extends TypeError {
  override readonly name = 'UnstoredError';
}

/** The beginning of the text that LangGraph (1.0 to 1.7) stores in the place of a value. */
const REPLACED = '"[unable to serialize';

const decoder = new TextDecoder();

/** Throws where LangGraph's serialiser has replaced the value. */
export function refuseReplaced(
  value: unknown,
  [type, written]: readonly [type: string, written: Uint8Array],
): void {
  if (
    type !== 'json' ||
    typeof value === 'string' ||
    decoder.decode(written.subarray(0, REPLACED.length)) !== REPLACED
  )
    return;
  throw new UnstoredError(explainRefusal(value));
}

function explainRefusal(value: unknown): string {
  try {
    JSON.stringify(value);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'LangGraph knows no form of it.';
}

/** Does the work that stores a field's value; where that has no stored form, the error names the field. */
export async function storeNamed<T>(field: string, store: () => Promise<T>): Promise<T> {
  try {
    return await store();
  } catch (error) {
    throw error instanceof UnstoredError
      ? new UnstoredError(`The value of "${field}" can not be stored: ${error.message}`)
      : error;
  }
}
