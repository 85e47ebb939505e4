import process from 'node:process';
import { devConfig } from './env.ts';
import { DevError, UsageError } from './errors.ts';

/** Receives progress, one line at a time. */
export type Report = (line: string) => void;

export const say: Report = (line) => void process.stdout.write(`${line}\n`);

/** Reports progress of a program whose standard output is its answer. */
export const sayAside: Report = (line) => void process.stderr.write(`${line}\n`);

/** Returns the time since a moment of `performance.now()`, as `1.5 s`. */
export const secondsSince = (started: number): string => `${((performance.now() - started) / 1000).toFixed(1)} s`;

/** Runs one named step: its name, its progress indented, and the time it took. */
export async function step<T>(name: string, work: (report: Report) => Promise<T> | T): Promise<T> {
  const started = performance.now();
  say(`==> ${name}`);
  try {
    const result = await work((line) => say(`    ${line}`));
    say(`    done in ${secondsSince(started)}`);
    return result;
  } catch (error) {
    say(`    failed after ${secondsSince(started)}`);
    throw error;
  }
}

/** Starts work that runs beside the steps. Its lines begin with its name. */
export function beside<T>(name: string, work: (report: Report) => Promise<T>): Promise<T> {
  const result = work((line) => say(`    [${name}] ${line}`));
  result.catch(() => undefined);
  return result;
}

/**
 * Runs a command line program to its end. A failure becomes one sentence and an exit code. Only a bug shows its stack.
 */
export async function program(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const isSentence = error instanceof DevError && !devConfig().showsStacks;
    process.stderr.write(`\n${isSentence ? error.message : (error.stack ?? error.message)}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}
