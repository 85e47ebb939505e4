import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const run = promisify(execFile);

type Played = { case: string; result?: unknown; error?: string };

/** Plays cases of `test/python/clients` against a server. Returns the result of each, or what it raised. */
export async function play(url: string, cases: string[]): Promise<Record<string, unknown>> {
  const env = {
    PATH: process.env.PATH,
    PYTHONPATH: resolve('test/python'),
    LANGSMITH_TRACING: 'false',
  };
  const { stdout } = await run(`${inject('python')}/python`, ['-m', 'clients', url, ...cases], {
    env,
  });
  const lines = stdout.trimEnd().split('\n');
  const played = lines.map((line) => JSON.parse(line) as Played);
  return Object.fromEntries(played.map(({ case: name, result, error }) => [name, error ?? result]));
}
