import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { COMPILE_CACHE } from './compile-cache.ts';

export type ImportResult = { code: number | null; output: string; errors: string };

/** Runs `import-threads` to its end, from one database into another. It is asked to stop when `stop` settles. */
export async function importThreads(
  target: string,
  args: string[],
  env: Record<string, string> = {},
  stop?: Promise<unknown>,
): Promise<ImportResult> {
  const child = spawn(process.execPath, ['src/main.ts', 'import-threads', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...COMPILE_CACHE, DATABASE_URI: target, ...env },
  });
  const result: ImportResult = { code: null, output: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => (result.output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (result.errors += chunk.toString()));
  void stop?.finally(() => child.kill());
  await once(child, 'close');
  return { ...result, code: child.exitCode };
}
