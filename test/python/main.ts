import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { DevError } from '../../dev/errors.ts';
import { program, say } from '../../dev/steps.ts';
import { pythonTools } from './tools.ts';

/** Runs a command to its end. Throws if it fails. */
async function run(command: string, args: string[], cwd = '.'): Promise<void> {
  say(`==> ${[command.split('/').at(-1), ...args].join(' ')}`);
  const [code] = (await once(spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] }), 'close')) as [number | null];
  if (code !== 0) throw new DevError(`${command} failed.`);
}

async function main(): Promise<void> {
  const programs = await pythonTools();
  const folder = resolve('python');
  await run(join(programs, 'ruff'), ['check', '--quiet', '.'], folder);
  await run(join(programs, 'ruff'), ['format', '--quiet', '--check', '.'], folder);
  await run(join(programs, 'mypy'), ['gx_runner'], folder);
  await run(process.execPath, ['dev/test/main.ts', 'python']);
}

await program(main);
