import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { COMPILE_CACHE } from './compile-cache.ts';

/** A process of the platform from one tree of sources. It ends when the process of the test does. */
export type PlatformProcess = {
  /** Returns all that it has written so far. */
  output(): string;
  /** Resolves with its exit code once it has ended and all of its output was read. */
  closed: Promise<number | null>;
  /** Sends SIGTERM, and waits until it has ended. */
  stop(): Promise<number | null>;
};

const LEASH = 'process.stdin.on("end", () => process.exit()).resume(); process.stdin.unref();';

/** Starts `node src/main.ts ARGS` in a folder with the sources of a version. */
export function platformProcess(
  folder: string,
  args: string[],
  env: Record<string, string>,
): PlatformProcess {
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${LEASH}`, 'src/main.ts', ...args],
    {
      cwd: folder,
      env: { PATH: process.env.PATH, ...COMPILE_CACHE, ...env },
    },
  );
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const closed = once(child, 'close').then(([code]) => code as number | null);
  return {
    output: () => text,
    closed,
    stop: () => {
      child.kill('SIGTERM');
      return closed;
    },
  };
}
