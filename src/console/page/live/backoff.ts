const FIRST = 500;
const LONGEST = 15_000;

/** Returns the milliseconds before an attempt to connect again, the first being 0. `random` is from 0 to 1. */
export const pauseBefore = (attempt: number, random: number): number =>
  Math.min(LONGEST, FIRST * 2 ** Math.min(attempt, 10)) * (0.5 + random / 2);
