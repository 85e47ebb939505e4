import { Unavailable } from '../../errors.ts';
import { readBoundedBytes } from './bounded-bytes.ts';

/** An answer of another server, by `fetch` or by Node's own client. */
type Answer = { body?: AsyncIterable<Uint8Array> | null } | AsyncIterable<Uint8Array>;

/**
 * Reads the text of an answer that may have so many bytes. Every process that serves several tenants reads answers by
 * this, because `json()` and `text()` of an answer read whatever comes. Throws `Unavailable` for a larger one.
 */
export async function readText(answer: Answer, maxBytes: number): Promise<string> {
  const pieces = Symbol.asyncIterator in answer ? answer : (answer.body ?? []);
  const bytes = await readBoundedBytes(pieces, maxBytes);
  if (bytes === undefined) throw new Unavailable(`The answer is larger than ${maxBytes} bytes.`);
  return bytes.toString('utf8');
}

/** Does the same with JSON, whose form nobody has checked. Throws a `SyntaxError` for other text. */
export const readJsonAnswer = async (answer: Answer, maxBytes: number): Promise<unknown> =>
  JSON.parse(await readText(answer, maxBytes));
