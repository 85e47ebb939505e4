import type { RolloutCheck } from '../../schema/platform/rollout/rollout-trial.ts';
import { computeBucketBound, computeBucket, BUCKETS } from '../../schema/wire/run-counts.ts';
import { estimateHitChance, estimateRankChance, type HitsOf } from './chance.ts';

type Histogram = readonly number[];
/** Counts of the runs of one revision, which only grow. `used`: the tokens of those in the histogram of tokens. */
export type EndCounts = {
  done: number;
  errors: number;
  lost: number;
  used: number;
  durations: Histogram;
  waits: Histogram;
  tokens: Histogram;
};

const EMPTY: Histogram = Array.from({ length: BUCKETS }, () => 0);
export const NO_RUNS: EndCounts = {
  done: 0,
  errors: 0,
  lost: 0,
  used: 0,
  durations: EMPTY,
  waits: EMPTY,
  tokens: EMPTY,
};

const diffCounts = (former: EndCounts, now: EndCounts): EndCounts => ({
  done: now.done - former.done,
  errors: now.errors - former.errors,
  lost: now.lost - former.lost,
  used: now.used - former.used,
  durations: diffHistogram(now.durations, former.durations),
  waits: diffHistogram(now.waits, former.waits),
  tokens: diffHistogram(now.tokens, former.tokens),
});
const diffHistogram = (now: Histogram, former: Histogram): Histogram =>
  now.map((count, at) => count - (former[at] ?? 0));

type Both<T> = { candidate: T; stable: T };

/**
 * One check: where its present window began, how often in a row it was worse, or fine at this share, and whether it was
 * ever worse at it. `lacks`: why its query has no answer.
 */
type CheckState = {
  from: Both<EndCounts>;
  since: number;
  failures: number;
  fine: number;
  isDoubted: boolean;
  found: string;
  lacks?: string;
};

/** The answers to a query about both revisions, asked at a time; or why there is none. */
export type QueryAnswer = { at: number } & (Both<number> | { lacks: string });

/** How a revision that is tried out stands. Each check has windows of its own. */
export type VerdictState = { of: string; share: number; checks: CheckState[]; failed?: string };

export type VerdictSituation = Both<EndCounts> & {
  /** Their runs under way, by the time since they began. */
  ages: Both<readonly number[]>;
  answers: ReadonlyMap<string, QueryAnswer>;
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
export function decideVerdict(
  before: VerdictState | undefined,
  situation: VerdictSituation,
): VerdictState {
  const { of, share, checks, now, candidate, stable } = situation;
  const isSame = before?.of === of;
  if (isSame && before.failed !== undefined) return before;
  const buildCheckState = (failures: number): CheckState => ({
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
    return check === undefined || before?.share !== share
      ? buildCheckState(check?.failures ?? 0)
      : check;
  });
  const next = known.map((state, at) => advanceCheck(state, checks[at]!, situation));
  const worst = next.findIndex(({ failures }, at) => failures >= getMaxFailures(checks[at]!));
  return { of, share, checks: next, ...(worst >= 0 && { failed: next[worst]!.found }) };
}

/** Returns the queries that are to be asked now, because their next comparison is due. */
export const listDueQueries = (
  { checks: states, failed }: VerdictState,
  { checks, everySeconds, now }: VerdictSituation,
): string[] =>
  checks.flatMap(({ query }, at) => {
    const isDue = failed === undefined && now - (states[at]?.since ?? now) >= everySeconds * 1000;
    return query !== undefined && isDue ? [query] : [];
  });

function advanceCheck(
  state: CheckState,
  check: RolloutCheck,
  situation: VerdictSituation,
): CheckState {
  const { candidate, stable, ages, answers, everySeconds, now } = situation;
  const due = state.since + everySeconds * 1000;
  if (check.query !== undefined) {
    const answer = answers.get(check.query);
    return answer === undefined || answer.at < due
      ? state
      : applyAnswer(state, answer, { ...situation, check });
  }
  if (now < due) return state;
  const since = {
    candidate: diffCounts(state.from.candidate, candidate),
    stable: diffCounts(state.from.stable, stable),
  };
  const compared = compareByFigure(check, { ...since, ages });
  return compared === undefined ? state : applyComparison(state, compared, situation);
}

function applyAnswer(
  state: CheckState,
  answer: QueryAnswer,
  situation: VerdictSituation & { check: RolloutCheck },
): CheckState {
  if ('lacks' in answer) return { ...state, lacks: answer.lacks };
  return applyComparison(state, compareQueryValues(situation.check, answer), situation);
}

/** Counts a comparison. The next window begins. */
function applyComparison(
  state: CheckState,
  { isWorse, found }: NonNullable<Compared>,
  { candidate, stable, now }: VerdictSituation,
): CheckState {
  const { lacks: _former, ...known } = { ...state, from: { candidate, stable }, since: now, found };
  if (isWorse) return { ...known, failures: state.failures + 1, fine: 0, isDoubted: true };
  return { ...known, failures: 0, fine: state.fine + 1 };
}

const getMaxFailures = ({ failures }: RolloutCheck): number => failures ?? MOST_FAILURES;

/**
 * One good look does not outweigh a bad one: a check that was worse must be fine as often in a row as gives the
 * revision up.
 */
const isFine = ({ fine, isDoubted }: CheckState, check: RolloutCheck): boolean =>
  fine >= (isDoubted ? getMaxFailures(check) : 1);

function compareByFigure(check: RolloutCheck, window: Window): Compared {
  if (check.figure === 'tokens') return compareTokens(check, window);
  if (check.figure === 'p95')
    return compareTimes(
      check,
      mapBoth(window, ({ durations }) => durations),
    );
  if (check.figure === 'wait')
    return compareTimes(
      check,
      mapBoth(window, ({ waits }) => waits),
    );
  return compareRates(check, window);
}

/** Compares the numbers of a query. `worseBy` is in percent of that of the other revision. */
function compareQueryValues(
  check: RolloutCheck,
  { candidate, stable }: Both<number>,
): NonNullable<Compared> {
  const isWorse = candidate - stable > (Math.abs(stable) * check.worseBy) / 100;
  const describeValue = (value: number): string => String(Number(value.toPrecision(4)));
  return {
    isWorse,
    found: `${describeCheck(check)}: ${describeValue(candidate)}, and ${describeValue(stable)} of the other`,
  };
}

/** Characters of a query that a message shows. */
const SHOWN = 80;
const describeCheck = ({ figure, query = '' }: RolloutCheck): string =>
  figure ?? `the query ${query.length > SHOWN ? `${query.slice(0, SHOWN)}...` : query}`;

const getMinRuns = ({ figure, least }: RolloutCheck): number =>
  least ?? (figure === 'stuck' || figure === 'lost' ? LEAST_HOLDING_UP : LEAST_RUNS);

/** Undefined: there are too few runs to tell anything. */
type Compared = { isWorse: boolean; found: string } | undefined;
type Window = Both<EndCounts> & Pick<VerdictSituation, 'ages'>;

/** Compares how often something happens. `worseBy` is in percentage points. */
function compareRates(check: RolloutCheck, window: Window): Compared {
  const parts = countHits(check, window);
  if (
    parts === undefined ||
    parts.candidate.of < getMinRuns(check) ||
    parts.stable.of < getMinRuns(check)
  )
    return undefined;
  const { candidate, stable } = parts;
  const [rate, usual] = [toPercent(candidate), toPercent(stable)];
  const isWorse = rate - usual > check.worseBy && estimateHitChance(candidate, stable) < BY_CHANCE;
  return {
    isWorse,
    found: `${check.figure}: ${rate.toFixed(1)} % of ${candidate.of} runs, and ${usual.toFixed(1)} % of ${stable.of} of the other`,
  };
}

/** Returns how many runs of each revision are counted by a figure. Runs of lost workers have not ended. */
function countHits(
  check: RolloutCheck,
  { candidate, stable, ages }: Window,
): Both<HitsOf> | undefined {
  if (check.figure === 'errors')
    return mapBoth({ candidate, stable }, ({ done, errors }) => ({ of: done, hits: errors }));
  if (check.figure === 'lost')
    return mapBoth({ candidate, stable }, ({ done, lost }) => ({ of: done + lost, hits: lost }));
  if (sum(stable.durations) < getMinRuns(check)) return undefined;
  const limit = computeBucket(STUCK_AFTER * computeBucketBound(findQuantile(stable.durations)));
  const countStuck = ({ done }: EndCounts, under: readonly number[]): HitsOf => {
    const stuck = sum(under.slice(limit + 1));
    return { of: done + stuck, hits: stuck };
  };
  return {
    candidate: countStuck(candidate, ages.candidate),
    stable: countStuck(stable, ages.stable),
  };
}

const mapBoth = <T, R>({ candidate, stable }: Both<T>, each: (one: T) => R): Both<R> => ({
  candidate: each(candidate),
  stable: each(stable),
});
const toPercent = ({ of, hits }: HitsOf): number => (100 * hits) / of;

/**
 * Compares the seconds of 95 of 100 runs at most. `worseBy` is in percent. More than 5 % of the runs must take longer
 * than the limit that this makes, and more of them than of the other revision.
 */
function compareTimes(check: RolloutCheck, { candidate, stable }: Both<Histogram>): Compared {
  if (sum(candidate) < getMinRuns(check) || sum(stable) < getMinRuns(check)) return undefined;
  const [one, other] = [findQuantile(candidate), findQuantile(stable)];
  const limit = computeBucket(computeBucketBound(other) * (1 + check.worseBy / 100));
  const countSlow = (times: Histogram): HitsOf => ({
    of: sum(times),
    hits: sum(times.slice(limit + 1)),
  });
  const isWorse =
    one > limit && estimateHitChance(countSlow(candidate), countSlow(stable)) < BY_CHANCE;
  const describeValue = (bucket: number, times: Histogram): string =>
    `${computeBucketBound(bucket).toPrecision(2)} s in ${sum(times)} runs`;
  return {
    isWorse,
    found: `${check.figure}: ${describeValue(one, candidate)}, and ${describeValue(other, stable)} of the other`,
  };
}

/**
 * Compares how many tokens a run uses. `worseBy` is in percent of the mean. Few runs that use very many raise the mean,
 * so the ranks of all runs must say the same.
 */
function compareTokens(check: RolloutCheck, { candidate, stable }: Both<EndCounts>): Compared {
  const [one, other] = [sum(candidate.tokens), sum(stable.tokens)];
  // Models that LangChain does not call are counted nowhere.
  if (one < getMinRuns(check) || other < getMinRuns(check) || candidate.used + stable.used === 0)
    return undefined;
  const [mean, usual] = [candidate.used / one, stable.used / other];
  const isWorse =
    mean > usual * (1 + check.worseBy / 100) &&
    estimateRankChance(candidate.tokens, stable.tokens) < BY_CHANCE;
  return {
    isWorse,
    found: `tokens: ${Math.round(mean)} in each of ${one} runs, and ${Math.round(usual)} in each of ${other} of the other`,
  };
}

const sum = (counts: readonly number[]): number =>
  counts.reduce((total, count) => total + count, 0);

/** Returns the bucket in which 95 of 100 have ended. */
function findQuantile(times: Histogram): number {
  const wanted = 0.95 * sum(times);
  let seen = 0;
  return Math.max(
    0,
    times.findIndex((count) => (seen += count) >= wanted),
  );
}

/** The result of the checks: all are fine at this share, one has failed, or it waits for the reason of the message. */
export type Verdict = { state: 'fine' | 'failed' | 'waits'; message: string };
export type VerdictOnShare = Verdict & { candidate: string; share: number };

/** The runs that tell something by a figure, where not all do. */
const TELLING: Partial<Record<NonNullable<RolloutCheck['figure']>, string>> = {
  tokens: ' whose models say how many they used',
};

/** Returns the result of the checks. */
export function summarizeVerdict(
  { checks, failed }: VerdictState,
  asked: readonly RolloutCheck[],
): Verdict {
  if (failed !== undefined) return { state: 'failed', message: failed };
  const open = checks.findIndex((state, at) => !isFine(state, asked[at]!));
  if (open < 0) return { state: 'fine', message: checks.map(({ found }) => found).join('; ') };
  const check = asked[open]!;
  return {
    state: 'waits',
    message: `The check of ${describeCheck(check)} ${explainOpenCheck(check, checks[open]!)}.`,
  };
}

function explainOpenCheck(
  check: RolloutCheck,
  { failures, fine, found, lacks }: CheckState,
): string {
  if (lacks !== undefined) return `waits, because ${lacks}`;
  if (failures > 0) return `is worse (${found})`;
  if (fine > 0) return `was worse, and is fine since (${found})`;
  if (check.figure === undefined) return 'waits for its first answers';
  return `needs ${getMinRuns(check)} runs of each revision${TELLING[check.figure] ?? ''}`;
}
