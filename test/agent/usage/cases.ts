import type { AnswerUsage } from '../../../src/agent/graph-thread/read-usage.ts';

/*
 * Answers of providers as their own pages document the field `usage`, and what a call of each is to be recorded as.
 * `record/main.ts` plays them to the providers' LangChain packages in both languages.
 */

/** The interface that an answer is one of. */
export type Api =
  | 'openai-chat'
  | 'openai-responses'
  | 'openai-completions'
  | 'anthropic'
  | 'gemini'
  | 'bedrock'
  | 'ollama';

export type UsageCase = {
  name: string;
  api: Api;
  /** The model that is asked for. */
  asked?: string;
  /** The model that answers, by its own word. */
  model: string;
  /** The field `usage` of the answer, or that of its interface which has the same place. */
  usage: object | null;
  tier?: string;
  /** Answers that are asked for at once. */
  choices?: number;
  /** Asked a second time, so that LangChain's own cache answers. */
  repeated?: true;
  expected: AnswerUsage;
};

const OPENAI_DETAILS = {
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
};

const buildOpenAi = (prompt: number, completion: number, more: object = {}): object => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: prompt + completion,
  ...more,
});

const buildResponses = (
  [input, cached]: [number, number],
  [output, reasoning]: [number, number],
): object => ({
  input_tokens: input,
  input_tokens_details: { cached_tokens: cached },
  output_tokens: output,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: input + output,
});

const OPENAI: UsageCase[] = [
  {
    name: 'a plain answer',
    api: 'openai-chat',
    model: 'gpt-5.4-2026-03-05',
    usage: buildOpenAi(20, 10, OPENAI_DETAILS),
    expected: { tokens: { input: 20, output: 10 } },
  },
  {
    name: 'a cached prompt and a model that thinks',
    api: 'openai-chat',
    model: 'gpt-5.4-2026-03-05',
    usage: buildOpenAi(2006, 300, {
      prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 256, audio_tokens: 0 },
    }),
    expected: { tokens: { input: 2006, output: 300, cache_read: 1920, reasoning: 256 } },
  },
  {
    name: 'sound in and out',
    api: 'openai-chat',
    model: 'gpt-audio-1.5',
    usage: buildOpenAi(60, 150, {
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 40, text_tokens: 20 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 120, text_tokens: 30 },
    }),
    expected: { tokens: { input: 60, output: 150, audio_in: 40, audio_out: 120 } },
  },
  {
    name: 'the class flex',
    api: 'openai-chat',
    model: 'o4-mini-2025-04-16',
    tier: 'flex',
    usage: buildOpenAi(1500, 200, {
      prompt_tokens_details: { cached_tokens: 1024, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 64, audio_tokens: 0 },
    }),
    expected: {
      tier: 'flex',
      tokens: { input: 1500, output: 200, cache_read: 1024, reasoning: 64 },
    },
  },
  {
    name: 'the class priority',
    api: 'openai-chat',
    model: 'gpt-5.4-2026-03-05',
    tier: 'priority',
    usage: buildOpenAi(800, 40, OPENAI_DETAILS),
    expected: { tier: 'priority', tokens: { input: 800, output: 40 } },
  },
  {
    name: 'the usual class, named',
    api: 'openai-chat',
    model: 'gpt-5.4-2026-03-05',
    tier: 'default',
    usage: buildOpenAi(9, 3, OPENAI_DETAILS),
    expected: { tokens: { input: 9, output: 3 } },
  },
  {
    name: 'a prompt that is written to a cache',
    api: 'openai-chat',
    model: 'gpt-5.4-2026-03-05',
    usage: buildOpenAi(3000, 12, {
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 2900 },
    }),
    expected: { tokens: { input: 3000, output: 12, cache_write: 2900 } },
  },
  {
    name: 'a server that tells no details',
    api: 'openai-chat',
    model: 'qwen3-32b',
    usage: buildOpenAi(33, 44, { prompt_tokens_details: null, completion_tokens_details: null }),
    expected: { tokens: { input: 33, output: 44 } },
  },
  {
    name: 'a server that tells nothing',
    api: 'openai-chat',
    model: 'qwen3-32b',
    usage: null,
    expected: {},
  },
  {
    name: 'a server that tells zeros',
    api: 'openai-chat',
    model: 'local-model',
    usage: buildOpenAi(0, 0),
    expected: {},
  },
  {
    name: 'two answers at once',
    api: 'openai-chat',
    model: 'gpt-5.4-2026-03-05',
    choices: 2,
    usage: buildOpenAi(50, 70, OPENAI_DETAILS),
    expected: { tokens: { input: 50, output: 70 } },
  },
  {
    name: 'a router that says the price',
    api: 'openai-chat',
    asked: 'anthropic/claude-sonnet-4.5',
    model: 'anthropic/claude-sonnet-4.5',
    usage: buildOpenAi(194, 2, {
      cost: 0.000_612,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    }),
    expected: { tokens: { input: 194, output: 2 }, cost_usd: 0.000_612 },
  },
  {
    name: 'a deployment with a name of its own',
    api: 'openai-chat',
    asked: 'our-deployment',
    model: 'gpt-4.1-2025-04-14',
    usage: buildOpenAi(17, 5, OPENAI_DETAILS),
    expected: { tokens: { input: 17, output: 5 } },
  },
  {
    name: 'counts of a cache by other names, too',
    api: 'openai-chat',
    model: 'deepseek-chat',
    usage: buildOpenAi(100, 20, {
      prompt_cache_hit_tokens: 64,
      prompt_cache_miss_tokens: 36,
      prompt_tokens_details: { cached_tokens: 64 },
    }),
    expected: { tokens: { input: 100, output: 20, cache_read: 64 } },
  },
  {
    name: 'an answer from the cache of LangChain',
    api: 'openai-chat',
    model: 'gpt-5.4-2026-03-05',
    repeated: true,
    usage: buildOpenAi(70, 30, OPENAI_DETAILS),
    expected: { tokens: { input: 0, output: 0 }, cached: true },
  },
  {
    name: 'a model that writes no messages',
    api: 'openai-completions',
    model: 'gpt-3.5-turbo-instruct',
    usage: buildOpenAi(15, 25),
    expected: { tokens: { input: 15, output: 25 } },
  },
  {
    name: 'a plain response',
    api: 'openai-responses',
    model: 'gpt-5.4-2026-03-05',
    usage: buildResponses([36, 0], [87, 0]),
    expected: { tokens: { input: 36, output: 87 } },
  },
  {
    name: 'a response with a cached prompt and thinking',
    api: 'openai-responses',
    model: 'gpt-5.4-2026-03-05',
    usage: buildResponses([2100, 1792], [700, 512]),
    expected: { tokens: { input: 2100, output: 700, cache_read: 1792, reasoning: 512 } },
  },
  {
    name: 'a response of the class flex',
    api: 'openai-responses',
    model: 'gpt-5.4-2026-03-05',
    tier: 'flex',
    usage: buildResponses([500, 256], [90, 10]),
    expected: { tier: 'flex', tokens: { input: 500, output: 90, cache_read: 256, reasoning: 10 } },
  },
];

const ANTHROPIC: UsageCase[] = [
  {
    name: 'a plain message',
    api: 'anthropic',
    model: 'claude-sonnet-4-5-20250929',
    usage: {
      input_tokens: 12,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 6,
      service_tier: 'standard',
    },
    expected: { tokens: { input: 12, output: 6 } },
  },
  {
    name: 'a prompt written for five minutes',
    api: 'anthropic',
    model: 'claude-sonnet-4-5-20250929',
    usage: {
      input_tokens: 5,
      cache_creation_input_tokens: 2048,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 2048, ephemeral_1h_input_tokens: 0 },
      output_tokens: 30,
      service_tier: 'standard',
    },
    expected: { tokens: { input: 2053, output: 30, cache_write: 2048 } },
  },
  {
    name: 'a prompt written for an hour, and read',
    api: 'anthropic',
    model: 'claude-opus-4-5-20251101',
    usage: {
      input_tokens: 21,
      cache_creation_input_tokens: 3000,
      cache_read_input_tokens: 18_000,
      cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
      output_tokens: 393,
      service_tier: 'standard',
    },
    expected: {
      tokens: {
        input: 21_021,
        output: 393,
        cache_read: 18_000,
        cache_write: 1000,
        cache_write_1h: 2000,
      },
    },
  },
  {
    name: 'a cached prompt that is not split by time',
    api: 'anthropic',
    model: 'claude-haiku-4-5-20251001',
    usage: {
      input_tokens: 3,
      cache_creation_input_tokens: 400,
      cache_read_input_tokens: 900,
      output_tokens: 11,
    },
    expected: { tokens: { input: 1303, output: 11, cache_read: 900, cache_write: 400 } },
  },
  {
    name: 'a message of the class priority',
    api: 'anthropic',
    model: 'claude-sonnet-4-5-20250929',
    usage: {
      input_tokens: 410,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      output_tokens: 585,
      service_tier: 'priority',
    },
    expected: { tier: 'priority', tokens: { input: 410, output: 585 } },
  },
];

const OTHERS: UsageCase[] = [
  {
    name: 'a plain answer of Gemini',
    api: 'gemini',
    model: 'gemini-2.5-flash',
    usage: { promptTokenCount: 8, candidatesTokenCount: 5, totalTokenCount: 13 },
    expected: { tokens: { input: 8, output: 5 } },
  },
  {
    name: 'Gemini that thinks',
    api: 'gemini',
    model: 'gemini-2.5-pro',
    usage: {
      promptTokenCount: 8,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 300,
      totalTokenCount: 313,
    },
    expected: { tokens: { input: 8, output: 305, reasoning: 300 } },
  },
  {
    name: 'a cached prompt of Gemini',
    api: 'gemini',
    model: 'gemini-2.5-pro',
    usage: {
      promptTokenCount: 5000,
      cachedContentTokenCount: 4096,
      candidatesTokenCount: 40,
      totalTokenCount: 5040,
    },
    expected: { tokens: { input: 5000, output: 40, cache_read: 4096 } },
  },
  {
    name: 'a long prompt of Gemini',
    api: 'gemini',
    model: 'gemini-3-pro-preview',
    usage: { promptTokenCount: 250_000, candidatesTokenCount: 100, totalTokenCount: 250_100 },
    expected: { tokens: { input: 250_000, output: 100 } },
  },
  {
    name: 'a plain answer of Bedrock',
    api: 'bedrock',
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    expected: { tokens: { input: 10, output: 5 } },
  },
  {
    name: 'a cached prompt of Bedrock',
    api: 'bedrock',
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    usage: {
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 165,
      cacheReadInputTokens: 100,
      cacheWriteInputTokens: 50,
    },
    expected: { tokens: { input: 160, output: 5, cache_read: 100, cache_write: 50 } },
  },
  {
    name: 'a model of Ollama',
    api: 'ollama',
    model: 'llama3.2',
    usage: { prompt_eval_count: 26, eval_count: 298 },
    expected: { tokens: { input: 26, output: 298 } },
  },
  {
    name: 'a model of Ollama that has the prompt already',
    api: 'ollama',
    model: 'llama3.2',
    usage: { eval_count: 7 },
    expected: { tokens: { input: 0, output: 7 } },
  },
];

export const CASES: UsageCase[] = [...OPENAI, ...ANTHROPIC, ...OTHERS];

/** How an answer is played and heard. */
export type Playing = { language: 'javascript' | 'python'; streamed: boolean };

/** What the package of a language leaves out of the answers of some interface, or counts otherwise. */
const DIFFERENCES: (Playing & {
  api: Api;
  change: (expected: AnswerUsage) => AnswerUsage;
})[] = [
  // It keeps no class of service of a whole answer.
  { language: 'javascript', streamed: false, api: 'openai-chat', change: dropTier },
  // It adds the count at the beginning of a stream, which is 1 here, to the last one, which holds it.
  { language: 'javascript', streamed: true, api: 'anthropic', change: countFirst },
  // It keeps neither price nor class of service of a stream.
  { language: 'python', streamed: true, api: 'openai-chat', change: dropCost },
  { language: 'python', streamed: true, api: 'anthropic', change: dropTier },
  // Streams of models that write no messages tell nothing in either language.
  { language: 'javascript', streamed: true, api: 'openai-completions', change: () => ({}) },
  { language: 'python', streamed: true, api: 'openai-completions', change: () => ({}) },
];

function dropTier({ tier: _tier, ...expected }: AnswerUsage): AnswerUsage {
  return expected;
}

function dropCost({ cost_usd: _cost, ...expected }: AnswerUsage): AnswerUsage {
  return expected;
}

function countFirst(expected: AnswerUsage): AnswerUsage {
  const { input, output, ...details } = expected.tokens!;
  return { ...expected, tokens: { input, output: output + 1, ...details } };
}

/** Returns what a callback of this language can know of the answer, without the model. */
export function buildExpected({ api, expected }: UsageCase, playing: Playing): AnswerUsage {
  return DIFFERENCES.filter(
    (one) =>
      one.api === api && one.language === playing.language && one.streamed === playing.streamed,
  ).reduce((reported, { change }) => change(reported), expected);
}
