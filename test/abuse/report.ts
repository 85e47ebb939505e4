/** The figures to hold, with the margin that a shared machine needs. */
const MARGIN = 1.25;
const MEBIBYTE = 1024 * 1024;
const MEGABYTE = 1_000_000;
const LONGEST_ANSWER = 64 * 1024;

export type Attempt = {
  what: string;
  bytes: number;
  status: number;
  answer: number;
  block: number;
  memory: number;
};

export const blockAllowed = (bytes: number): number => 40 + (10 * bytes) / MEBIBYTE;
export const memoryAllowed = (bytes: number): number => 64 * MEGABYTE + 6 * bytes;

/** Collects what was measured, and judges it. */
export class Verdicts {
  readonly missed: string[] = [];
  readonly lines: string[] = [];
  #worst = { block: 0, memory: 0, answer: 0, count: 0 };

  attempt({ what, bytes, status, answer, block, memory }: Attempt): void {
    const worst = this.#worst;
    worst.count += 1;
    worst.block = Math.max(worst.block, block / blockAllowed(bytes));
    worst.memory = Math.max(worst.memory, memory / memoryAllowed(bytes));
    if (status >= 400) worst.answer = Math.max(worst.answer, answer);
    const told = `${what} (${(bytes / MEBIBYTE).toFixed(2)} MiB, ${status})`;
    if (block > blockAllowed(bytes) * MARGIN)
      this.missed.push(
        `${told}: blocked for ${block.toFixed(0)} ms of ${blockAllowed(bytes).toFixed(0)}`,
      );
    if (memory > memoryAllowed(bytes) * MARGIN)
      this.missed.push(
        `${told}: took ${(memory / MEGABYTE).toFixed(0)} MB of ${(memoryAllowed(bytes) / MEGABYTE).toFixed(0)}`,
      );
    if (status >= 400 && answer > LONGEST_ANSWER)
      this.missed.push(`${told}: answered with ${answer} bytes`);
    if (status >= 500) this.missed.push(`${told}: answered with ${status}`);
  }

  /** Sums up the attempts so far under a name. */
  sumUp(name: string): void {
    const { block, memory, answer, count } = this.#worst;
    const share = (part: number): string => `${(part * 100).toFixed(0)} %`;
    this.lines.push(
      `${name}: ${count} requests; of what is allowed, the worst took ${share(block)} of time and ${share(memory)} of memory; longest refusal ${answer} bytes`,
    );
    this.#worst = { block: 0, memory: 0, answer: 0, count: 0 };
  }

  check(name: string, figure: string, holds: boolean): void {
    this.lines.push(`${name}: ${figure}`);
    if (!holds) this.missed.push(`${name}: ${figure}`);
  }
}
