import { isObject } from '../../schema/json.ts';

/** The number that a query gives, or the end of the sentence that says why it gives none. */
export type PromValue = { value: number } | { lacks: string };

/** Characters of the server's own words at most. */
const MOST_WORDS = 200;

const buildMissingValue = (words: string): PromValue => ({ lacks: words });

/** Reads an answer of Prometheus at /api/v1/query, which is to have one number. */
export function parsePromValue(answer: unknown): PromValue {
  const { status, data, error } = isObject(answer) ? answer : {};
  if (status === 'error' && typeof error === 'string')
    return buildMissingValue(`Prometheus refuses it: ${error.slice(0, MOST_WORDS)}`);
  const { resultType, result } = status === 'success' && isObject(data) ? data : {};
  if (resultType === 'scalar') return sampleValue(result);
  if (resultType !== 'vector' || !Array.isArray(result))
    return buildMissingValue('Prometheus answers with something other than numbers');
  if (result.length === 0) return buildMissingValue('Prometheus has no data');
  if (result.length > 1)
    return buildMissingValue(`Prometheus answers with ${result.length} series instead of one`);
  const [series] = result as unknown[];
  return sampleValue(isObject(series) ? series['value'] : undefined);
}

/** Reads a pair of a time and a number as text. A quotient of zeros is no number, and no data. */
function sampleValue(sample: unknown): PromValue {
  const text: unknown = Array.isArray(sample) ? sample[1] : undefined;
  const value = typeof text === 'string' && text !== '' ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? { value } : buildMissingValue('Prometheus has no data');
}
