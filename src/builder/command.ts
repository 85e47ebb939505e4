import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { logLine } from './progress.ts';

export type ProgramRun = {
  /** A program with its arguments, or the text of a shell. */
  run: readonly [program: string, ...args: string[]] | string;
  folder: string;
  /** All variables that it gets: none of this process is added. */
  env: Record<string, string>;
  /** Stands before each line of its output. Without one nothing is printed. */
  prefix?: string;
  /** Returns the part of a line that is printed. */
  show?: (line: string) => string;
  /** Texts that are never printed. */
  hidden?: readonly string[];
  signal?: AbortSignal;
};

export type ProgramEnd = { code: number; output: string; last: string };

const LAST_LINES = 15;
const LONGEST_LINE = 2000;
/** Lines of printed output that are kept; output that is not printed is an answer, and is kept whole. */
const KEPT_LINES = 500;

/**
 * Runs a command to its end and prints its output. Processes that it leaves running are killed. Returns its exit code,
 * its output and the last lines of it; a missing program has code 127.
 */
export async function runProgram({
  run,
  folder,
  env,
  prefix,
  show = (line) => line,
  hidden = [],
  signal,
}: ProgramRun): Promise<ProgramEnd> {
  signal?.throwIfAborted();
  const [program, ...args] = typeof run === 'string' ? (['/bin/sh', '-c', run] as const) : run;
  // A process group of its own, so that all that it has started ends with it.
  const child = spawn(program, args, {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const end = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // Nobody of the group is left.
    }
  };
  signal?.addEventListener('abort', end, { once: true });
  const lines: string[] = [];
  const handleLine = (line: string): void => {
    const shown = hidden
      .reduce((text, secret) => text.replaceAll(secret, '[redacted]'), show(line))
      .slice(0, LONGEST_LINE);
    if (prefix !== undefined && lines.length >= 2 * KEPT_LINES) lines.splice(0, KEPT_LINES);
    lines.push(shown);
    if (prefix !== undefined) logLine(`${prefix} | ${shown}`);
  };
  const readers = [child.stdout, child.stderr].map((stream) =>
    createInterface({ input: stream }).on('line', handleLine),
  );
  const read = readers.map(
    (reader) => new Promise<void>((resolve) => void reader.once('close', resolve)),
  );
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? resolve(127) : reject(error),
      );
      child.once('exit', (status, killed) => resolve(status ?? (killed === 'SIGKILL' ? 137 : 1)));
    });
    end();
    await Promise.all(read);
    signal?.throwIfAborted();
    return {
      code,
      output: lines.join('\n'),
      last: lines
        .filter((line) => line.trim() !== '')
        .slice(-LAST_LINES)
        .join('\n'),
    };
  } finally {
    signal?.removeEventListener('abort', end);
  }
}
