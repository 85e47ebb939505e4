import process from 'node:process';

const SECOND = 1000;
const duration = (since: number): string => `${((performance.now() - since) / SECOND).toFixed(1)} s`;

/** Progress lines of one step. */
export type Report = (line: string) => void;

export const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Runs one named step: its name, its progress indented, and the time it took. */
export async function step<T>(name: string, work: (report: Report) => Promise<T> | T): Promise<T> {
  const started = performance.now();
  say(`==> ${name}`);
  try {
    const result = await work((line) => say(`    ${line}`));
    say(`    done in ${duration(started)}`);
    return result;
  } catch (error) {
    say(`    failed after ${duration(started)}`);
    throw error;
  }
}

/** Work that goes on beside the steps; its lines say whose they are. */
export function beside<T>(name: string, work: (report: Report) => Promise<T>): Promise<T> {
  const result = work((line) => say(`    [${name}] ${line}`));
  result.catch(() => undefined);
  return result;
}

/** Runs a command line program to its end: a failure is told in one sentence and an exit code, not a stack. */
export async function program(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    process.stderr.write(`\n${process.env.DEBUG === undefined ? error.message : (error.stack ?? error.message)}\n`);
    process.exitCode = 1;
  }
}
