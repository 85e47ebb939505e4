import process from 'node:process';
import { readDevConfig } from './env.ts';
import { DevError, UsageError } from './errors.ts';

/** Receives progress, one line at a time. */
export type Report = (line: string) => void;

export const printLine: Report = (line) => void process.stdout.write(`${line}\n`);

/** Reports progress of a program whose standard output is its answer. */
export const printAside: Report = (line) => void process.stderr.write(`${line}\n`);

/** Returns the time since a moment of `performance.now()`, as `1.5 s`. */
export const formatSecondsSince = (started: number): string =>
  `${((performance.now() - started) / 1000).toFixed(1)} s`;

/** Runs one named step: its name, its progress indented, and the time it took. */
export async function step<T>(name: string, work: (report: Report) => Promise<T> | T): Promise<T> {
  const started = performance.now();
  printLine(`==> ${name}`);
  try {
    const result = await work((line) => printLine(`    ${line}`));
    printLine(`    done in ${formatSecondsSince(started)}`);
    return result;
  } catch (error) {
    printLine(`    failed after ${formatSecondsSince(started)}`);
    throw error;
  }
}

/** Starts work that runs beside the steps. Its lines begin with its name. */
export function runBeside<T>(name: string, work: (report: Report) => Promise<T>): Promise<T> {
  const result = work((line) => printLine(`    [${name}] ${line}`));
  result.catch(() => undefined);
  return result;
}

/**
 * Runs a command line program to its end. A failure becomes one sentence and an exit code. Only a bug shows its stack.
 */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const isSentence = error instanceof DevError && !readDevConfig().showsStacks;
    process.stderr.write(`\n${isSentence ? error.message : (error.stack ?? error.message)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
