import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { asError, StartError } from '../../../errors.ts';
import { IGNORED, nextSteps, packageNameOf, planFor } from './files.ts';

const HELP = `gx new: write a small agent to begin with

Usage: gx new [folder]

The folder is made if it is not there; without one, the agent is written here. No file is ever overwritten.
`;

/** The example that a new project begins as; it lies beside src, and beside the folder that src is compiled to. */
const EXAMPLE = fileURLToPath(new URL('../../../../examples/new/', import.meta.url));

/**
 * The files of the example that a project gets as they are; the folder of somebody who tried the example holds more.
 */
const COPIED = ['gx.json', 'graph.ts', 'model.ts', 'stand-in.ts', 'README.md', 'Dockerfile', '.env.example'];

/** Writes a project. Throws a `StartError` when the arguments are wrong, or when files are in the way. */
export function runNew(args: string[]): void {
  const folder = folderOf(args);
  process.stdout.write(folder === undefined ? HELP : written(folder));
}

/** Returns the folder, or nothing when help was asked for. */
function folderOf(args: string[]): string | undefined {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { help: { type: 'boolean', short: 'h' } } });
    if (values.help === true) return undefined;
    if (positionals.length > 1) throw new StartError(`It takes one folder, not ${positionals.length}.`);
    return positionals[0] ?? '.';
  } catch (error) {
    throw new StartError(`new: ${asError(error).message} See gx new --help.`, { cause: error });
  }
}

function written(folder: string): string {
  const target = path.resolve(folder);
  if (existsSync(target) && !statSync(target).isDirectory()) throw new StartError(`new: ${target} is a file, not a folder.`);
  const files = projectFiles(path.basename(target));
  const plan = planFor(Object.keys(files), new Set(Object.keys(files).filter((name) => existsSync(path.join(target, name)))));
  if ('inTheWay' in plan)
    throw new StartError(`new: ${target} has ${plan.inTheWay.join(', ')} already, and nothing is overwritten: name another folder.`);
  try {
    mkdirSync(target, { recursive: true });
    for (const name of plan.write) writeFileSync(path.join(target, name), files[name] ?? '', { flag: 'wx' });
  } catch (error) {
    throw new StartError(`new: ${target} can't be written: ${asError(error).message}.`, { cause: error });
  }
  const { dependencies } = packageOfExample();
  return nextSteps({ folder, plan, packages: Object.entries(dependencies).map(([name, range]) => `${name}@${range}`) });
}

type Package = { name: string; dependencies: Record<string, string> };

const packageOfExample = (): Package => JSON.parse(readFileSync(path.join(EXAMPLE, 'package.json'), 'utf8')) as Package;

/** Returns the files of a project, with their contents. */
function projectFiles(name: string): Record<string, string> {
  const own = { ...packageOfExample(), name: packageNameOf(name) };
  return {
    ...Object.fromEntries(COPIED.map((file) => [file, readFileSync(path.join(EXAMPLE, file), 'utf8')])),
    ...IGNORED,
    'package.json': `${JSON.stringify(own, null, 2)}\n`,
  };
}
