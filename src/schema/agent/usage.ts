import { Type, type Static } from 'typebox';
import { buildLimitSchema } from './agent-types.ts';
import { buildEnumSchema, buildNullableSchema } from '../types.ts';

/* The usage of models, summed over the calls of runs. */

/** The fields by which calls can be grouped: each value has sums of its own. */
export const USAGE_GROUPS = [
  'day',
  'assistant',
  'graph',
  'user',
  'revision',
  'provider',
  'model',
  'node',
] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

const WORDS = USAGE_GROUPS.join('|');

const buildMomentSchema = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', maxLength: 40, description }));

export const UsageQuery = Type.Object({
  from: buildMomentSchema('The earliest beginning of a call. Default: 30 days ago.'),
  to: buildMomentSchema('The time before which a call has begun. Default: now.'),
  group_by: Type.Optional(
    Type.String({
      pattern: `^(${WORDS})(,(${WORDS}))*$`,
      maxLength: 100,
      description: `One or more of ${USAGE_GROUPS.join(', ')}, separated by commas. Days are those of UTC.`,
    }),
  ),
  limit: buildLimitSchema(100),
  offset: Type.Integer({ minimum: 0, maximum: 1_000_000, default: 0 }),
});
export type UsageQuery = Static<typeof UsageQuery>;

const buildCountSchema = (description: string) => Type.Integer({ minimum: 0, description });

export const UsageSums = Type.Object({
  calls: buildCountSchema('Calls of models, also those that failed.'),
  failed: buildCountSchema('Calls that failed, or were cut off by the end of their run.'),
  cached: buildCountSchema("Calls that LangChain's own cache has answered."),
  unreported: buildCountSchema(
    'Calls that report no tokens: their tokens are in none of these sums, and are not zero.',
  ),
  unpriced: buildCountSchema('Calls whose price nobody knows.'),
  input: buildCountSchema('Tokens of prompts, with those of caches.'),
  output: buildCountSchema('Tokens of answers, with those of reasoning.'),
  cache_read: buildCountSchema('Tokens of prompts that a cache of the provider had.'),
  cache_write: buildCountSchema('Tokens of prompts that were written to a cache.'),
  reasoning: buildCountSchema('Tokens of reasoning.'),
  unreported_models: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Names of models that report no tokens, of a run or of a thread.',
    }),
  ),
  cost_usd: buildNullableSchema(
    Type.Number({
      description: 'The price of the calls whose price is known. Null where none is known.',
    }),
  ),
});
export type UsageSums = Static<typeof UsageSums>;

/** A call of a model, as it was recorded. */
export const RecordedCall = Type.Object({
  call_id: Type.String({
    description: "LangChain's id of the call, which the id of its message ends with.",
  }),
  run_id: Type.String(),
  node: buildNullableSchema(Type.String()),
  provider: buildNullableSchema(Type.String()),
  model: buildNullableSchema(Type.String()),
  started_at: Type.String({ format: 'date-time' }),
  seconds: Type.Number({ minimum: 0 }),
  status: buildEnumSchema(['ok', 'error', 'cut']),
  cached: Type.Boolean(),
  reported: Type.Boolean({ description: 'Whether the model reported its tokens.' }),
  input: buildCountSchema('Tokens of the prompt.'),
  output: buildCountSchema('Tokens of the answer.'),
  cache_read: buildCountSchema('Tokens of the prompt that a cache had.'),
  cost_usd: buildNullableSchema(Type.Number({ description: 'Null where nobody knows the price.' })),
});
export type RecordedCall = Static<typeof RecordedCall>;

export const ThreadUsageQuery = Type.Object({
  calls: Type.Integer({
    minimum: 0,
    maximum: 1000,
    default: 0,
    description: 'The number of the last calls that come with the sums.',
  }),
});

/** The sums of a thread, with its last calls where they were asked for. */
export const ThreadUsage = Type.Object({
  ...UsageSums.properties,
  recorded: Type.Optional(Type.Array(RecordedCall)),
});
export type ThreadUsage = Static<typeof ThreadUsage>;

const buildGroupSchema = () => Type.Optional(buildNullableSchema(Type.String()));

/** Sums of one group, with the values that make it one. */
export const UsageRow = Type.Object({
  ...UsageSums.properties,
  day: buildGroupSchema(),
  assistant: buildGroupSchema(),
  graph: buildGroupSchema(),
  user: buildGroupSchema(),
  revision: buildGroupSchema(),
  provider: buildGroupSchema(),
  model: buildGroupSchema(),
  node: buildGroupSchema(),
});
export type UsageRow = Static<typeof UsageRow>;

export const UserToForget = Type.Object(
  {
    user_id: Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'The identity of the caller, as `auth.path` gave it.',
    }),
  },
  { additionalProperties: false },
);
export type UserToForget = Static<typeof UserToForget>;

export const ForgottenUser = Type.Object({
  calls: buildCountSchema('Calls of models that had the user.'),
});
