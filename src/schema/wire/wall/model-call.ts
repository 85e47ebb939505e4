import { Type, type Static } from 'typebox';
import { buildEnumSchema, buildOptionalFields } from '../../types.ts';

/* A call of a model, as a graph's own library reported it. */

/** The most tokens, or milliseconds, that a field of a call holds: an integer of Postgres. */
export const MAX_CALL_COUNT = 2_147_483_647;

/** US dollars above which a price is none: no call costs as much. */
export const MAX_CALL_USD = 1_000_000;

/** Characters of a name. */
export const MAX_CALL_NAME = 256;

const Count = Type.Integer({ minimum: 0, maximum: MAX_CALL_COUNT });
const Name = Type.String({ maxLength: MAX_CALL_NAME });

/**
 * The tokens of a call. `input` holds those of `cache_read`, `cache_write` and `cache_write_1h`, and `output` those of
 * `reasoning`, as LangChain's `usage_metadata` has them.
 */
export const TokenCounts = Type.Object({
  input: Count,
  output: Count,
  ...buildOptionalFields({
    cache_read: Count,
    /** Written to a cache for the provider's usual time. */
    cache_write: Count,
    /** Written to a cache for an hour, which costs more. */
    cache_write_1h: Count,
    reasoning: Count,
    audio_in: Count,
    audio_out: Count,
  }),
});
export type TokenCounts = Static<typeof TokenCounts>;

/** No tokens of any kind: sums begin with it, and a kind that a call does not report is so. */
export const NO_TOKENS: Required<TokenCounts> = {
  input: 0,
  output: 0,
  cache_read: 0,
  cache_write: 0,
  cache_write_1h: 0,
  reasoning: 0,
  audio_in: 0,
  audio_out: 0,
};

export const ModelCall = Type.Object({
  /** LangChain's id of the call: a UUID, unless the graph has given it another one. */
  id: Name,
  /** Milliseconds since 1970. */
  start: Type.Number(),
  milliseconds: Count,
  /** `cut`: the run was stopped, or ended, before the model had answered. */
  status: buildEnumSchema(['ok', 'error', 'cut']),
  /** Absent where the model did not say, which is not zero. */
  tokens: Type.Optional(TokenCounts),
  ...buildOptionalFields({
    /** Answered from LangChain's own cache: nobody was asked. */
    cached: Type.Boolean(),
    node: Name,
    /** The place of the node's graph within the run's; absent for the outermost one. */
    ns: Name,
    provider: Name,
    /** The model that has answered, by its provider's word. */
    model: Name,
    /** The model that was asked for, where the answer names another one. */
    asked: Name,
    /** The provider's class of service, such as `flex`; absent for the usual one. */
    tier: Name,
    /** The price in US dollars, where the provider reports one. */
    cost_usd: Type.Number({ minimum: 0, maximum: MAX_CALL_USD }),
  }),
});
export type ModelCall = Static<typeof ModelCall>;
