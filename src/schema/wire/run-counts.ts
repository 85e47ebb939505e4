import { Type, type Static } from 'typebox';
import { buildRevisionNameSchema } from './rollout-plan.ts';
import { buildOptionalFields } from '../types.ts';

/*
 * Counts of the runs that have ended, by which a revision that is tried out is compared with the one that serves. A
 * process counts from its start, so readers take differences.
 */

/** The upper bounds of durations in seconds, from 10 ms to 2 hours; each is a tenth above the one before. */
const FIRST = 0.01;
const GROWTH = 1.1;
export const BUCKETS = 146;

/** Returns the number of the bucket of a duration. The last one has all that are longer. */
export const computeBucket = (seconds: number): number =>
  Math.max(
    0,
    Math.min(BUCKETS - 1, Math.ceil(Math.log(seconds / FIRST) / Math.log(GROWTH) - 1e-9)),
  );

/** Tokens are counted in thousands, so the bounds are 10 of them to 10 million. */
export const computeTokenBucket = (tokens: number): number => computeBucket(tokens / 1000);

/** Returns the longest duration of a bucket. */
export const computeBucketBound = (bucket: number): number => FIRST * GROWTH ** bucket;

/** Returns the schema of a number of runs, or of their errors and losses. */
export const buildCountSchema = (description: string) =>
  Type.Integer({ minimum: 0, maximum: 1_000_000_000, description });
const buildHistogramSchema = (description: string) =>
  Type.Array(
    Type.Tuple([Type.Integer({ minimum: 0, maximum: BUCKETS - 1 }), buildCountSchema('Runs.')]),
    {
      maxItems: BUCKETS,
      description,
    },
  );

export const RunCounts = Type.Object({
  revision: buildRevisionNameSchema('The Revision that the runs belong to.'),
  done: buildCountSchema(
    'Runs that have ended, however they did, but for those that somebody interrupted.',
  ),
  errors: buildCountSchema('Those of them that failed, or took too long.'),
  lost: buildCountSchema('Times that the worker of a run was gone before its end.'),
  durations: buildHistogramSchema(
    'Buckets of the durations of those that succeeded, each by its number and its count. Empty ones are left out.',
  ),
  ...buildOptionalFields({
    waits: buildHistogramSchema(
      'Buckets of the seconds that runs have waited from the time that they were due. Absent: it does not count them.',
    ),
    tokens: buildHistogramSchema(
      'Buckets of thousands of tokens, of those that have ended and whose models report them. Absent: it does not count them.',
    ),
    used: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'All of these tokens.',
    }),
  }),
  ages: buildHistogramSchema(
    'The same of the runs under way in it now, by the time since they began here.',
  ),
});
export type RunCounts = Static<typeof RunCounts>;

export const HISTOGRAMS = ['durations', 'waits', 'tokens', 'ages'] as const;
export type HistogramName = (typeof HISTOGRAMS)[number];

/**
 * Counts as a gateway passes them on. Each histogram is one list: the number of a bucket, its count, the number of the
 * next. JSON of that is read in a third of the time, because a pair is a list of its own.
 */
export type FlatCounts = Omit<RunCounts, HistogramName> & Partial<Record<HistogramName, number[]>>;

export function toFlatCounts({
  durations,
  waits,
  tokens,
  ages,
  ...numbers
}: RunCounts): FlatCounts {
  return {
    ...numbers,
    durations: durations.flat(),
    ...(waits && { waits: waits.flat() }),
    ...(tokens && { tokens: tokens.flat() }),
    ages: ages.flat(),
  };
}

/** Revisions of which a process counts at most. */
export const MOST_COUNTED = 8;
