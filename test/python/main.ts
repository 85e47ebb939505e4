import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { extendEnvironment } from '../../dev/env.ts';
import { DevError } from '../../dev/errors.ts';
import { runMain, printLine } from '../../dev/steps.ts';
import { olderOf } from './older/versions.ts';
import { pythonTools } from './tools.ts';

/** Runs a command to its end. Throws if it fails. */
async function run(
  command: string,
  args: string[],
  cwd = '.',
  more: Record<string, string> = {},
): Promise<void> {
  printLine(`==> ${[command.split('/').at(-1), ...args].join(' ')}`);
  const child = spawn(command, args, {
    cwd,
    env: extendEnvironment(more),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new DevError(`${command} failed.`);
}

const test = (more: Record<string, string> = {}): Promise<void> =>
  run(process.execPath, ['dev/test/main.ts', 'python'], '.', more);

async function main(): Promise<void> {
  const { langgraph, classes } = parseArgs({
    options: { langgraph: { type: 'string' }, classes: { type: 'boolean' } },
  }).values;
  if (classes === true) {
    await run(process.execPath, ['dev/test/main.ts', 'python', 'twins'], '.', {
      GX_TEST_CLASSES: 'yes',
    });
    return;
  }
  if (langgraph !== undefined) {
    await test({ GX_TEST_LANGGRAPH: olderOf(langgraph) });
    return;
  }
  const programs = await pythonTools();
  const folder = resolve('python');
  await run(join(programs, 'ruff'), ['check', '--quiet', '.'], folder);
  await run(join(programs, 'ruff'), ['format', '--quiet', '--check', '.'], folder);
  await run(join(programs, 'mypy'), ['gx_runner'], folder);
  await test();
  await run(process.execPath, ['test/python/differential/main.ts']);
}

await runMain(main);
