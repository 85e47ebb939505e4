import {
  MAX_CALL_COUNT,
  MAX_CALL_NAME,
  MAX_CALL_USD,
  type ModelCall,
  type TokenCounts,
} from '../../schema/wire/wall/model-call.ts';
import { isObject, type Json } from '../../schema/json.ts';

/*
 * The usage that a model's answer tells, as LangChain's packages write it: one reading for all of them, which Python's
 * runner has, too (python/gx_runner/telemetry/usage.py). Both read the same recorded answers in their tests.
 */

/** The part of a call that its answer tells. */
export type AnswerUsage = Pick<ModelCall, 'tokens' | 'cached' | 'model' | 'tier' | 'cost_usd'>;

/** Classes of service that are no special ones, by the words of OpenAI, Anthropic and Bedrock. */
const USUAL_TIERS: ReadonlySet<string> = new Set(['default', 'standard', 'auto', 'on_demand']);

/** Returns the usage that the answer of a model reports, an `LLMResult` of LangChain. */
export function readAnswerUsage(output: unknown, isCacheHit = false): AnswerUsage {
  const { generations, llmOutput } = readObject(output);
  const first = readObject((generations as unknown[][] | undefined)?.[0]?.[0]);
  const message = readObject(first['message']);
  const metadata = {
    ...readObject(first['generationInfo']),
    ...readObject(message['response_metadata']),
  };
  const reported = readObject(message['usage_metadata']);
  const raw = readObject(metadata['usage'] ?? metadata['token_usage']);
  const model = readName(
    metadata['model_name'] ?? metadata['model'] ?? readObject(llmOutput)['model_name'],
  );
  const tier = readTier(reported, metadata['service_tier'] ?? raw['service_tier']);
  const about = { ...(model !== undefined && { model }), ...(tier !== undefined && { tier }) };
  // Python's core puts the price into the counts of an answer from its cache, and leaves the counts as they were.
  if (isCacheHit || reported['total_cost'] === 0)
    return { ...about, tokens: { input: 0, output: 0 }, cached: true };
  const tokens = readTokens(reported, raw) ?? readOldTokens(readObject(llmOutput), metadata);
  const cost = readCost(metadata['cost'] ?? raw['cost']);
  return {
    ...about,
    ...(tokens !== undefined && { tokens }),
    ...(cost !== undefined && { cost_usd: cost }),
  };
}

/** Returns the counts of a `usage_metadata`; undefined where it tells none, and not zero. */
export function readTokens(reported: Json, raw: Json = {}): TokenCounts | undefined {
  const [given, made] = [readCount(reported['input_tokens']), readCount(reported['output_tokens'])];
  // Packages write zeros where the provider has reported nothing.
  if ((given ?? 0) + (made ?? 0) === 0) return undefined;
  const into = readDetails(reported['input_token_details']);
  const out = readDetails(reported['output_token_details']);
  const hours =
    readCount(
      into['ephemeral_1h_input_tokens'] ??
        readObject(raw['cache_creation'])['ephemeral_1h_input_tokens'],
    ) ?? 0;
  const written = readWritten(into, hours);
  const read = into['cache_read'] ?? 0;
  const cached = read + written + hours;
  // Some packages leave the tokens of caches out of the input.
  const input = cached > (given ?? 0) ? (given ?? 0) + cached : (given ?? 0);
  // A total above its parts has tokens of thinking that a package left out.
  const thought = Math.max(0, (readCount(reported['total_tokens']) ?? 0) - input - (made ?? 0));
  return dropZeros({
    input,
    output: (made ?? 0) + thought,
    cache_read: read,
    cache_write: written,
    cache_write_1h: hours,
    reasoning: (out['reasoning'] ?? 0) + thought,
    audio_in: into['audio'] ?? 0,
    audio_out: out['audio'] ?? 0,
  });
}

/**
 * Returns the tokens that were written to a cache for the usual time. Where an answer splits them by time, its
 * `cache_creation` is zero in one language, and the sum of both in the other.
 */
function readWritten(into: Record<string, number>, hours: number): number {
  const minutes = into['ephemeral_5m_input_tokens'] ?? 0;
  const all = into['cache_creation'] ?? 0;
  return all >= minutes + hours ? all - hours : all + minutes;
}

/** Returns the counts of models without `usage_metadata`: as LangChain had them before, or as Ollama names them. */
function readOldTokens(llmOutput: Json, metadata: Json): TokenCounts | undefined {
  const usage = readObject(llmOutput['tokenUsage'] ?? llmOutput['token_usage']);
  const [prompt, completion] = [metadata['prompt_eval_count'], metadata['eval_count']];
  const input = readCount(usage['promptTokens'] ?? usage['prompt_tokens'] ?? prompt) ?? 0;
  const output =
    readCount(usage['completionTokens'] ?? usage['completion_tokens'] ?? completion) ?? 0;
  return input + output === 0 ? undefined : { input, output };
}

/** Returns the counts of one side. In Python their names begin with OpenAI's class of service: `flex_cache_read`. */
function readDetails(details: unknown): Record<string, number> {
  return Object.fromEntries(
    Object.entries(readObject(details)).flatMap(([name, value]) => {
      const count = readCount(value);
      return count === undefined ? [] : [[name.replace(/^(?:flex|priority)_/, ''), count]];
    }),
  );
}

/** Returns the class of service: by its name, or by the counts that bear it; undefined for the usual one. */
function readTier(reported: Json, named: unknown): string | undefined {
  const tier =
    readName(named) ??
    ['flex', 'priority'].find((name) => name in readObject(reported['input_token_details']));
  return tier === undefined || USUAL_TIERS.has(tier) ? undefined : tier;
}

/** Returns the counts without details that are zero. A sum may be larger than a count can be. */
function dropZeros({ input, output, ...details }: Required<TokenCounts>): TokenCounts {
  const limit = (count: number): number => Math.min(count, MAX_CALL_COUNT);
  const some = Object.entries(details).filter(([, count]) => count > 0);
  return {
    input: limit(input),
    output: limit(output),
    ...Object.fromEntries(some.map(([name, count]) => [name, limit(count)])),
  };
}

/** Returns a count of tokens; undefined for all that is none, such as a negative number. */
const readCount = (value: unknown): number | undefined =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_CALL_COUNT
    ? (value as number)
    : undefined;

/** Returns a price in US dollars; undefined for all that is none. */
export const readCost = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= MAX_CALL_USD ? value : undefined;

/** Returns a name as Postgres takes it, of at most 256 characters; undefined for all that is none. */
export function readName(value: unknown): string | undefined {
  const name = typeof value === 'string' ? value.replaceAll('\0', '').slice(0, MAX_CALL_NAME) : '';
  return name === '' ? undefined : name;
}

const readObject = (value: unknown): Json => (isObject(value) ? value : {});
