/** Returns the natural logarithm of n factorial, by Stirling's series; exact below the first numbers' rounding. */
function logFactorial(n: number): number {
  if (n < 20) {
    let product = 1;
    for (let each = 2; each <= n; each += 1) product *= each;
    return Math.log(product);
  }
  return n * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI * n) + 1 / (12 * n) - 1 / (360 * n ** 3);
}

const logChoose = (n: number, k: number): number =>
  logFactorial(n) - logFactorial(k) - logFactorial(n - k);

/** How many of how many. */
export type HitsOf = { of: number; hits: number };

/** The part of a sum below which further terms do not count. */
const NEGLIGIBLE = 1e-12;
/**
 * Standard deviation from which the normal distribution stands for the sum. Its skewness is then below a thousandth, so
 * that a chance of 1 % is right to half a percent of it. A sum has some 8 terms for each of a deviation.
 */
const MOST_SUMMED_DEVIATION = 1000;

/**
 * Returns the chance that so many hits, or more, fall to one of two groups if nothing but chance divides them: Fisher's
 * exact test of one side. It holds for small numbers, too, and takes no longer for great ones.
 */
export function estimateHitChance(one: HitsOf, other: HitsOf): number {
  const [all, hits] = [one.of + other.of, one.hits + other.hits];
  if (hits === 0 || hits >= all) return 1;
  const mean = (one.of * hits) / all;
  const deviation = Math.sqrt((((mean * other.of) / all) * (all - hits)) / (all - 1));
  if (deviation > MOST_SUMMED_DEVIATION)
    return estimateNormalTail((one.hits - 0.5 - mean) / deviation);
  if (one.hits > mean)
    return Math.min(1, sumTail(one.hits, { hits, drawn: one.of, left: other.of }));
  // Terms fall only away from the mean, so here the rest is summed: the chance that the other group has more.
  return Math.max(0, 1 - sumTail(other.hits + 1, { hits, drawn: other.of, left: one.of }));
}

/** Returns the chance that a group of so many drawn has so many hits or more, which are above its mean. */
function sumTail(
  least: number,
  { hits, drawn, left }: { hits: number; drawn: number; left: number },
): number {
  if (least > Math.min(drawn, hits)) return 0;
  let term = Math.exp(
    logChoose(drawn, least) + logChoose(left, hits - least) - logChoose(drawn + left, hits),
  );
  let sum = term;
  for (let count = least; term > sum * NEGLIGIBLE; count += 1) {
    term *= ((drawn - count) / (count + 1)) * ((hits - count) / (left - hits + count + 1));
    sum += term;
  }
  return sum;
}

/** Returns the chance of a value above so many standard deviations, by formula 7.1.26 of Abramowitz and Stegun. */
function estimateNormalTail(z: number): number {
  const x = Math.abs(z) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592].reduce(
    (all, each) => all * t + each,
    0,
  );
  const tail = (series * t * Math.exp(-x * x)) / 2;
  return z > 0 ? tail : 1 - tail;
}

const deriveTieTerm = (count: number): number => count ** 3 - count;

/**
 * Returns the chance that the values of one group are so much greater than those of another, or more, if nothing but
 * chance divides them: Mann and Whitney's rank test of one side. A group is given by the values in each bucket.
 */
export function estimateRankChance(one: readonly number[], other: readonly number[]): number {
  let [ones, others, wins, ties] = [0, 0, 0, 0];
  for (const [bucket, count] of one.entries()) {
    const equal = other[bucket] ?? 0;
    wins += count * (others + equal / 2);
    ones += count;
    others += equal;
    ties += deriveTieTerm(count + equal);
  }
  const all = ones + others;
  const variance = ((ones * others) / 12) * (all + 1 - ties / (all * (all - 1)));
  return variance > 0
    ? estimateNormalTail((wins - (ones * others) / 2 - 0.5) / Math.sqrt(variance))
    : 1;
}
