import { printLine } from '../../../dev/steps.ts';

/* Times of the page beside their goals. A goal is for a quiet machine; a test fails at three times of it. */

const TOLERANCE = 3;

/** Returns the time below which this part of all times is. */
export const share = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(part * (times.length - 1))] ?? NaN;

/** Reports a time beside its goal, and fails where it is far above it. */
export function measured(name: string, milliseconds: number, goal: number): void {
  printLine(
    `    ${name.padEnd(60)} ${milliseconds.toFixed(0).padStart(6)} ms   goal ${goal} ms: ${milliseconds <= goal ? 'met' : 'MISSED'}`,
  );
  if (!(milliseconds <= goal * TOLERANCE))
    throw new Error(`${name} took ${milliseconds.toFixed(0)} ms, far above its goal of ${goal} ms`);
}
