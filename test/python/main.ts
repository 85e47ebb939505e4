import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { environmentWith } from '../../dev/env.ts';
import { DevError } from '../../dev/errors.ts';
import { program, say } from '../../dev/steps.ts';
import { OLDER, olderOf, type Older } from './langgraph.ts';
import { pythonTools } from './tools.ts';

/** The tests of what older versions of LangGraph have. The last one is about what they have not. */
const OF_OLDER = ['runs', 'states', 'streams', 'tidying', 'older-langgraph'];

/** Runs a command to its end. Throws if it fails. */
async function run(command: string, args: string[], cwd = '.', more: Record<string, string> = {}): Promise<void> {
  say(`==> ${[command.split('/').at(-1), ...args].join(' ')}`);
  const child = spawn(command, args, { cwd, env: environmentWith(more), stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new DevError(`${command} failed.`);
}

async function withOlder(older: Older): Promise<void> {
  say(OLDER[older].join(', '));
  const files = OF_OLDER.map((name) => `test/python/${name}.test.ts`);
  await run('vitest', ['run', '--project', 'python', '--reporter=dot', ...files], '.', { GX_TEST_LANGGRAPH: older });
}

async function main(): Promise<void> {
  const { langgraph } = parseArgs({ options: { langgraph: { type: 'string' } } }).values;
  if (langgraph !== undefined) {
    await withOlder(olderOf(langgraph));
    return;
  }
  const programs = await pythonTools();
  const folder = resolve('python');
  await run(join(programs, 'ruff'), ['check', '--quiet', '.'], folder);
  await run(join(programs, 'ruff'), ['format', '--quiet', '--check', '.'], folder);
  await run(join(programs, 'mypy'), ['gx_runner'], folder);
  await run(process.execPath, ['dev/test/main.ts', 'python']);
}

await program(main);
