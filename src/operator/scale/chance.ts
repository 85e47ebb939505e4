/** Returns the natural logarithm of n factorial, by Stirling's series; exact below the first numbers' rounding. */
function logFactorial(n: number): number {
  if (n < 20) {
    let product = 1;
    for (let each = 2; each <= n; each += 1) product *= each;
    return Math.log(product);
  }
  return n * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI * n) + 1 / (12 * n) - 1 / (360 * n ** 3);
}

const logChoose = (n: number, k: number): number => logFactorial(n) - logFactorial(k) - logFactorial(n - k);

/** How many of how many. */
export type HitsOf = { of: number; hits: number };

/**
 * Returns the chance that so many hits, or more, fall to one of two groups if nothing but chance divides them: Fisher's
 * exact test of one side. It holds for small numbers, too.
 */
export function chanceOf(one: HitsOf, other: HitsOf): number {
  const [all, hits] = [one.of + other.of, one.hits + other.hits];
  const total = logChoose(all, hits);
  let sum = 0;
  for (let count = one.hits; count <= Math.min(one.of, hits); count += 1) {
    if (hits - count > other.of) continue;
    sum += Math.exp(logChoose(one.of, count) + logChoose(other.of, hits - count) - total);
  }
  return Math.min(1, sum);
}
