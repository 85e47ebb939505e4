import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toError, StartError } from '../../../errors.ts';
import {
  JAVASCRIPT,
  formatNextSteps,
  toPackageName,
  planProjectFiles,
  PLATFORM,
  PYTHON,
  type Template,
} from './files.ts';

const HELP = `gx new: write a small agent to begin with

Usage: gx new [--python] [folder]

  --python   an agent in Python (default TypeScript)

The folder is made if it is not there; without one, the agent is written here. No file is ever overwritten.
`;

/** The examples that new projects begin as lie beside src, and beside the folder that src is compiled to. */
const EXAMPLES = fileURLToPath(new URL('../../../../examples/', import.meta.url));

type NewProject = { folder: string; template: Template };

/** Writes a project. Throws a `StartError` when the arguments are wrong, or when files are in the way. */
export function runNew(args: string[]): void {
  const asked = parseArguments(args);
  process.stdout.write(asked === undefined ? HELP : writeProject(asked));
}

function parseArguments(args: string[]): NewProject | undefined {
  try {
    const options = { help: { type: 'boolean', short: 'h' }, python: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
    if (values.help === true) return undefined;
    if (positionals.length > 1)
      throw new StartError(`It takes one folder, not ${positionals.length}.`);
    return {
      folder: positionals[0] ?? '.',
      template: values.python === true ? PYTHON : JAVASCRIPT,
    };
  } catch (error) {
    throw new StartError(`new: ${toError(error).message} See gx new --help.`, { cause: error });
  }
}

function writeProject({ folder, template }: NewProject): string {
  const target = path.resolve(folder);
  if (existsSync(target) && !statSync(target).isDirectory())
    throw new StartError(`new: ${target} is a file, not a folder.`);
  const files = buildProjectFiles(template, path.basename(target));
  const plan = planProjectFiles(
    Object.keys(files),
    new Set(Object.keys(files).filter((name) => existsSync(path.join(target, name)))),
  );
  if ('inTheWay' in plan)
    throw new StartError(
      `new: ${target} has ${plan.inTheWay.join(', ')} already, and nothing is overwritten: name another folder.`,
    );
  try {
    for (const name of plan.write) {
      mkdirSync(path.dirname(path.join(target, name)), { recursive: true });
      writeFileSync(path.join(target, name), files[name] ?? '', { flag: 'wx' });
    }
  } catch (error) {
    throw new StartError(`new: ${target} can't be written: ${toError(error).message}.`, {
      cause: error,
    });
  }
  const commands = template.next(
    String(files[template.manifest] ?? ''),
    plan.keep.includes(template.manifest),
  );
  return formatNextSteps({ folder, plan, commands });
}

function buildProjectFiles(
  { example, copied, ignored, manifest, named }: Template,
  name: string,
): Record<string, string | Buffer> {
  const read = (file: string): string => readFileSync(path.join(EXAMPLES, example, file), 'utf8');
  const source = manifest === JAVASCRIPT.manifest ? readInstallSource() : undefined;
  const { platform, packed } = keepPackedFile(source);
  return {
    ...Object.fromEntries(copied.map((file) => [file, read(file)])),
    '.gitignore': `${ignored.join('\n')}\n`,
    '.dockerignore': `${[...ignored, '.git/'].join('\n')}\n`,
    [manifest]: named(read(manifest), { name: toPackageName(name), platform }),
    ...packed,
  };
}

/**
 * Returns the source of the package for a project, and the file to write into it if the source is a file: a clone on
 * another machine, and a build from git, have nothing else of this machine.
 */
export function keepPackedFile(source: string | undefined): {
  platform: string | undefined;
  packed?: Record<string, Buffer>;
} {
  const file = source?.startsWith('file:') === true ? source.slice('file:'.length) : undefined;
  if (file === undefined || !existsSync(file) || !statSync(file).isFile())
    return { platform: source };
  const kept = `vendor/${path.basename(file)}`;
  return { platform: `file:${kept}`, packed: { [kept]: readFileSync(file) } };
}

/** One package of the lock file that npm keeps in `node_modules`. */
type LockedPackage = { version?: string; resolved?: string };

/**
 * Returns the source of the package for another project: the file or the address that it came from, or its version
 * where that is a registry. `root` is the project whose `node_modules` hold it.
 */
export function resolvePackageSource(
  { version, resolved }: LockedPackage,
  root: string,
): string | undefined {
  if (resolved?.startsWith('file:'))
    return `file:${path.resolve(root, resolved.slice('file:'.length))}`;
  const isOfRegistry =
    resolved === undefined || new RegExp(`/${PLATFORM}/-/${PLATFORM}-`).test(resolved);
  return isOfRegistry ? version && `^${version}` : resolved;
}

/** Returns the source from which npm has installed this command, or undefined where npm has not. */
function readInstallSource(): string | undefined {
  const modules = path.dirname(path.resolve(EXAMPLES, '..'));
  const file = path.join(modules, '.package-lock.json');
  if (path.basename(modules) !== 'node_modules' || !existsSync(file)) return undefined;
  const { packages = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
    packages?: Record<string, LockedPackage>;
  };
  const own = packages[`node_modules/${PLATFORM}`];
  return own && resolvePackageSource(own, path.dirname(modules));
}
