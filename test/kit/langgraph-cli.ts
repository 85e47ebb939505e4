import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const VERSION = '0.4.40';
const run = promisify(execFile);
const venv = join(homedir(), '.cache', 'gx-platform', `langgraph-cli-${VERSION}`);

/** The programs of the environment in which the vendor's CLI is installed. */
export const langgraphCli = {
  langgraph: join(venv, 'bin', 'langgraph'),
  python: join(venv, 'bin', 'python'),
};

/** Installs the vendor's CLI, once on each machine. */
export async function installLanggraphCli(): Promise<void> {
  await run('python3', ['--version']).catch(() =>
    expect.fail("The test of the vendor's CLI needs python3."),
  );
  if (existsSync(langgraphCli.langgraph)) return;
  await run('python3', ['-m', 'venv', '--clear', venv]);
  await run(join(venv, 'bin', 'pip'), ['install', '--quiet', `langgraph-cli==${VERSION}`]);
}
