import type { RolloutCheck } from '../../schema/platform/rollout-trial.ts';
import { boundOf, bucketOf, BUCKETS, type RunCounts } from '../../schema/wire/run-counts.ts';
import { chanceOf, type HitsOf } from './chance.ts';

/** EndCounts of the runs of one revision that have ended: counts that only grow. */
export type EndCounts = { done: number; errors: number; lost: number; durations: readonly number[] };

const EMPTY: readonly number[] = Array.from({ length: BUCKETS }, () => 0);
export const NO_RUNS: EndCounts = { done: 0, errors: 0, lost: 0, durations: EMPTY };

/** Returns the counts of a report, or their growth since the last report of the same process. */
export function grown({ done, errors, lost, durations }: RunCounts, before?: RunCounts): EndCounts {
  const now = histogramOf(durations);
  for (const [bucket, count] of before?.durations ?? []) now[bucket] = (now[bucket] ?? 0) - count;
  return { done: done - (before?.done ?? 0), errors: errors - (before?.errors ?? 0), lost: lost - (before?.lost ?? 0), durations: now };
}

/** Returns the counts of all buckets. */
export function histogramOf(filled: readonly (readonly [bucket: number, count: number])[]): number[] {
  const all = [...EMPTY];
  for (const [bucket, count] of filled) all[bucket] = (all[bucket] ?? 0) + count;
  return all;
}

const combined = (one: EndCounts, other: EndCounts, sign: 1 | -1): EndCounts => ({
  done: one.done + sign * other.done,
  errors: one.errors + sign * other.errors,
  lost: one.lost + sign * other.lost,
  durations: one.durations.map((count, at) => count + sign * (other.durations[at] ?? 0)),
});
export const plus = (one: EndCounts, other: EndCounts): EndCounts => combined(one, other, 1);

/** The same of both revisions. */
type Both<T> = { candidate: T; stable: T };

/**
 * One check: where its present window began, how often in a row it was worse, or fine at this share, and whether it was
 * ever worse at it.
 */
type CheckState = { from: Both<EndCounts>; since: number; failures: number; fine: number; isDoubted: boolean; found: string };

/** How a revision that is tried out stands. Each check has windows of its own. */
export type VerdictState = { of: string; share: number; checks: CheckState[]; failed?: string };

export type VerdictSituation = Both<EndCounts> & {
  /** Their runs under way, by the time since they began. */
  ages: Both<readonly number[]>;
  /** Both revisions and the checks, as one text: with others it begins again. */
  of: string;
  share: number;
  checks: readonly RolloutCheck[];
  everySeconds: number;
  now: number;
};

/** Runs of each revision without which a check tells nothing, and failures in a row, unless it says otherwise. */
export const LEAST_RUNS = 50;
/** The same for runs that do not end, or lose their worker: those hold up all others, so few are seen. */
const LEAST_HOLDING_UP = 5;
/** A run is stuck that takes this many times as long as 95 of 100 runs of the revision that serves. */
const STUCK_AFTER = 3;
export const MOST_FAILURES = 2;
/** The chance beyond which a difference counts as an accident. */
const BY_CHANCE = 0.01;

/**
 * Compares a revision that is tried out with the one that serves, by the runs of both since the last time. A check is
 * worse if its figure is beyond `worseBy` and if that is no accident. With too few runs it waits for more.
 */
export function decideVerdict(before: VerdictState | undefined, situation: VerdictSituation): VerdictState {
  const { of, share, checks, now, candidate, stable } = situation;
  const isSame = before?.of === of;
  if (isSame && before.failed !== undefined) return before;
  const fresh = (failures: number): CheckState => ({
    from: { candidate, stable },
    since: now,
    failures,
    fine: 0,
    isDoubted: failures > 0,
    found: '',
  });
  // Runs of a smaller share say nothing less, but each step is to be looked at for itself.
  const known = checks.map((_, at) => {
    const check = isSame ? before.checks[at] : undefined;
    return check === undefined || before?.share !== share ? fresh(check?.failures ?? 0) : check;
  });
  const next = known.map((state, at) => looked(state, checks[at]!, situation));
  const worst = next.findIndex(({ failures }, at) => failures >= failuresOf(checks[at]!));
  return { of, share, checks: next, ...(worst >= 0 && { failed: next[worst]!.found }) };
}

function looked(state: CheckState, check: RolloutCheck, { candidate, stable, ages, everySeconds, now }: VerdictSituation): CheckState {
  if (now - state.since < everySeconds * 1000) return state;
  const since = { candidate: combined(candidate, state.from.candidate, -1), stable: combined(stable, state.from.stable, -1) };
  const compared = check.figure === 'p95' ? slower(check, since) : oftener(check, { ...since, ages });
  if (compared === undefined) return state;
  const { isWorse, found } = compared;
  const from = { candidate, stable };
  if (isWorse) return { from, since: now, failures: state.failures + 1, fine: 0, isDoubted: true, found };
  return { ...state, from, since: now, failures: 0, fine: state.fine + 1, found };
}

const failuresOf = ({ failures }: RolloutCheck): number => failures ?? MOST_FAILURES;

/**
 * One good look does not outweigh a bad one: a check that was worse must be fine as often in a row as gives the
 * revision up.
 */
const isFine = ({ fine, isDoubted }: CheckState, check: RolloutCheck): boolean => fine >= (isDoubted ? failuresOf(check) : 1);

const leastOf = ({ figure, least }: RolloutCheck): number =>
  least ?? (figure === 'stuck' || figure === 'lost' ? LEAST_HOLDING_UP : LEAST_RUNS);

/** Undefined: there are too few runs to tell anything. */
type Compared = { isWorse: boolean; found: string } | undefined;
type Window = Both<EndCounts> & Pick<VerdictSituation, 'ages'>;

/** Compares how often something happens. `worseBy` is in percentage points. */
function oftener(check: RolloutCheck, window: Window): Compared {
  const parts = partsOf(check, window);
  if (parts === undefined || parts.candidate.of < leastOf(check) || parts.stable.of < leastOf(check)) return undefined;
  const { candidate, stable } = parts;
  const [rate, usual] = [percent(candidate), percent(stable)];
  const isWorse = rate - usual > check.worseBy && chanceOf(candidate, stable) < BY_CHANCE;
  return {
    isWorse,
    found: `${check.figure}: ${rate.toFixed(1)} % of ${candidate.of} runs, and ${usual.toFixed(1)} % of ${stable.of} of the other`,
  };
}

/** Returns how many runs of each revision are counted by a figure. Runs of lost workers have not ended. */
function partsOf(check: RolloutCheck, { candidate, stable, ages }: Window): Both<HitsOf> | undefined {
  if (check.figure === 'errors') return both({ candidate, stable }, ({ done, errors }) => ({ of: done, hits: errors }));
  if (check.figure === 'lost') return both({ candidate, stable }, ({ done, lost }) => ({ of: done + lost, hits: lost }));
  if (sum(stable.durations) < leastOf(check)) return undefined;
  const limit = bucketOf(STUCK_AFTER * boundOf(quantile(stable)));
  const stuckOf = ({ done }: EndCounts, under: readonly number[]): HitsOf => {
    const stuck = sum(under.slice(limit + 1));
    return { of: done + stuck, hits: stuck };
  };
  return { candidate: stuckOf(candidate, ages.candidate), stable: stuckOf(stable, ages.stable) };
}

const both = <T, R>({ candidate, stable }: Both<T>, each: (one: T) => R): Both<R> => ({ candidate: each(candidate), stable: each(stable) });
const percent = ({ of, hits }: HitsOf): number => (100 * hits) / of;

/**
 * Compares how long 95 of 100 successful runs take at most. `worseBy` is in percent. More than 5 % of the runs must
 * take longer than the limit that this makes, and more of them than of the other revision.
 */
function slower(check: RolloutCheck, { candidate, stable }: Both<EndCounts>): Compared {
  if (sum(candidate.durations) < leastOf(check) || sum(stable.durations) < leastOf(check)) return undefined;
  const [one, other] = [quantile(candidate), quantile(stable)];
  const limit = bucketOf(boundOf(other) * (1 + check.worseBy / 100));
  const partOf = ({ durations }: EndCounts): HitsOf => ({ of: sum(durations), hits: sum(durations.slice(limit + 1)) });
  const isWorse = one > limit && chanceOf(partOf(candidate), partOf(stable)) < BY_CHANCE;
  const words = (bucket: number, { durations }: EndCounts): string => `${boundOf(bucket).toPrecision(2)} s in ${sum(durations)} runs`;
  return { isWorse, found: `p95: ${words(one, candidate)}, and ${words(other, stable)} of the other` };
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** Returns the bucket in which 95 of 100 have ended. */
function quantile({ durations }: EndCounts): number {
  const wanted = 0.95 * sum(durations);
  let seen = 0;
  return Math.max(
    0,
    durations.findIndex((count) => (seen += count) >= wanted),
  );
}

/** The result of the checks: all are fine at this share, one has failed, or it waits for the reason of the message. */
export type Verdict = { state: 'fine' | 'failed' | 'waits'; message: string };
/** The same with the revision and the share that it is about. */
export type VerdictOnShare = Verdict & { candidate: string; share: number };

/** Returns the result of the checks. */
export function verdictOf({ checks, failed }: VerdictState, asked: readonly RolloutCheck[]): Verdict {
  if (failed !== undefined) return { state: 'failed', message: failed };
  const open = checks.findIndex((state, at) => !isFine(state, asked[at]!));
  if (open < 0) return { state: 'fine', message: checks.map(({ found }) => found).join('; ') };
  const check = asked[open]!;
  const { failures, fine, found } = checks[open]!;
  const doubted = fine > 0 ? `was worse, and is fine since (${found})` : `needs ${leastOf(check)} runs of each revision`;
  const why = failures > 0 ? `is worse (${found})` : doubted;
  return { state: 'waits', message: `The check of ${check.figure} ${why}.` };
}
