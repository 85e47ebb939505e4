import { Type, type Static, type TUnsafe } from 'typebox';
import { buildClosedSchema, buildDateTimeSchema, buildEnumSchema } from '../types.ts';

/** A hundred years in minutes. */
const LONGEST = 52_560_000;

const buildMinutesSchema = (options: object = {}): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'number', exclusiveMinimum: 0, maximum: LONGEST, ...options });

/** How a thread expires: it goes, or only its older checkpoints do. */
const STRATEGIES = ['delete', 'keep_latest'] as const;

export type ThreadTtl = { strategy: (typeof STRATEGIES)[number]; ttl: number };

/** The life of a thread as clients give it: minutes, or an object with a strategy. */
export const GivenTtl = Type.Unsafe<number | Partial<ThreadTtl> | null>({
  type: ['number', 'object'],
  nullable: true,
  exclusiveMinimum: 0,
  maximum: LONGEST,
  properties: {
    strategy: buildEnumSchema(STRATEGIES, { default: 'delete' }),
    ttl: buildMinutesSchema(),
  },
  required: ['ttl'],
  description: 'Minutes after its last change at which the thread expires, or {strategy, ttl}.',
});

/** Returns the life that was given; undefined when none was. */
export function toThreadTtl(given: Static<typeof GivenTtl> | undefined): ThreadTtl | undefined {
  if (given === undefined || given === null) return undefined;
  return typeof given === 'number'
    ? { strategy: 'delete', ttl: given }
    : { strategy: given.strategy ?? 'delete', ttl: given.ttl! };
}

/** When a thread expires, for clients that ask. */
export const ThreadExpiry = Type.Object({
  strategy: buildEnumSchema(STRATEGIES),
  ttl_minutes: Type.Number(),
  expires_at: buildDateTimeSchema(''),
});
export type ThreadExpiry = Static<typeof ThreadExpiry>;

/** `checkpointer.ttl` of gx.json. */
export const CheckpointerTtl = buildClosedSchema({
  strategy: Type.Optional(buildEnumSchema(STRATEGIES)),
  default_ttl: Type.Optional(buildMinutesSchema()),
  sweep_interval_minutes: Type.Optional(buildMinutesSchema()),
  sweep_limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  include_interrupted: Type.Optional(Type.Boolean()),
});

/** `store.ttl` of gx.json. */
export const StoreTtl = buildClosedSchema({
  refresh_on_read: Type.Optional(Type.Boolean()),
  default_ttl: Type.Optional(buildMinutesSchema()),
  sweep_interval_minutes: Type.Optional(buildMinutesSchema()),
});
