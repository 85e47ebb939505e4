import type { AttributeValue } from '../../schema/wire/wall/run-in-thread.ts';

/** Returns a random id. It takes bytes where graph threads keep some ready, because to ask the system costs 17 us. */
export const createSpanId = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex');

/** Characters of an input or an output in a span. Some thousand spans wait for a collector that is away. */
const MOST_CONTENT = 8192;

/** Returns the input or output of a call, as the attribute that viewers of traces know. Takes JSON text. */
export const buildContentAttribute = (
  of: 'input' | 'output',
  text: string,
): Record<string, string> => ({
  [`${of}.value`]: text.length > MOST_CONTENT ? `${text.slice(0, MOST_CONTENT)}...` : text,
  [`${of}.mime_type`]: text.length > MOST_CONTENT ? 'text/plain' : 'application/json',
});

/** Returns nanoseconds as text, because a number can't hold 64 bits. */
export const formatNanoseconds = (milliseconds: number): string => {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
};

export const toOtlpAttributes = (values: Record<string, AttributeValue>): object[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: toOtlpValue(value) }));

function toOtlpValue(value: AttributeValue): object {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
