import { spawn } from 'node:child_process';
import { cp, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { runProcess } from '../commands.ts';
import { extendEnvironment } from '../env.ts';
import { CommandFailed, MissingRequirement } from '../errors.ts';
import { runLocked } from '../lock.ts';
import { formatSecondsSince, type Report } from '../steps.ts';
import { installMissing } from './debian.ts';
import { getGoFolder, isCached } from './go-cache.ts';
import { makeCachedFolder } from './make-cached-folder.ts';
import type { GoBuild, ModuleFiles, Program } from './part.ts';

const PROGRESS_EVERY = 10_000;
/** Characters of the compiler's output that an error shows. */
const SHOWN = 4000;

/** Compiles the programs into the cache. Only one process of this machine builds at a time. */
export async function compileIntoCache(build: GoBuild, report: Report): Promise<void> {
  if (isCached(build)) return;
  await requireGo(build);
  await installMissing(build.withC ?? [], report);
  const reportWait = (): void => report(`${build.name}: waiting for another process that builds`);
  await runLocked('parts', reportWait, async () => {
    if (!isCached(build)) await compileAll(build, report);
  });
}

async function compileAll(build: GoBuild, report: Report): Promise<void> {
  const { name, version } = build;
  const started = performance.now();
  report(`${name} ${version}: building from source`);
  const ticker = setInterval(
    () => report(`${name}: building, ${formatSecondsSince(started)}`),
    PROGRESS_EVERY,
  );
  const writePrograms = async (unfinished: string): Promise<void> => {
    for (const program of build.programs) await compile(build, program, unfinished);
    for (const files of build.files ?? []) await copyFiles(build, files, unfinished);
  };
  await makeCachedFolder(getGoFolder(build), writePrograms).finally(() => clearInterval(ticker));
  report(`${name} ${version}: built in ${formatSecondsSince(started)}`);
}

async function compile(
  { flags, module, withC }: GoBuild,
  program: Program,
  into: string,
): Promise<void> {
  const output = join(into, program.file);
  await runGo(
    ['build', '-trimpath', '-buildvcs=false', ...flags, '-o', output, program.package],
    module,
    buildGoEnvironment(withC !== undefined),
  );
  for (const link of program.links) await symlink(program.file, join(into, link));
}

async function copyFiles({ module }: GoBuild, files: ModuleFiles, into: string): Promise<void> {
  const found = await runProcess('go', ['list', '-m', '-f', '{{.Dir}}', files.module], {
    cwd: module,
    env: buildGoEnvironment(),
  });
  for (const folder of files.folders) {
    await cp(join(found.trim(), folder), join(into, files.into, folder), { recursive: true });
  }
  // Go keeps modules in folders that nobody may write, and the cache is to be removed one day.
  await runProcess('chmod', ['-R', 'u+w', join(into, files.into)]);
}

function runGo(args: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('go', args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let printed = '';
    child.stderr.on(
      'data',
      (chunk: Buffer) => (printed = (printed + chunk.toString()).slice(-SHOWN)),
    );
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0
        ? resolve()
        : reject(new CommandFailed(`go ${args.at(-1)} failed:\n${printed.trim()}`)),
    );
  });
}

/**
 * The growth of the compiler's heap from one collection to the next, in percent. A compiler ends within seconds, so to
 * collect its garbage often is lost work. The largest packages take some 500 MB so.
 */
const HEAP_GROWTH_PERCENT = '400';

const buildGoEnvironment = (withC = false) =>
  extendEnvironment({
    CGO_ENABLED: withC ? '1' : '0',
    GOGC: HEAP_GROWTH_PERCENT,
    GOTOOLCHAIN: 'local',
    GOWORK: 'off',
  });

async function requireGo(build: GoBuild): Promise<void> {
  const lack = await checkGo(build);
  if (lack !== undefined) throw new MissingRequirement(`Building ${build.name} needs ${lack}.`);
}

/** Returns which Go toolchain compiling takes, to go on from "it needs", or undefined if this machine has it. */
export async function checkGo({ module }: GoBuild): Promise<string | undefined> {
  const needed = /^go (\S+)/m.exec(await readFile(join(module, 'go.mod'), 'utf8'))?.[1] ?? '1';
  const version = await runProcess('go', ['env', 'GOVERSION'], { env: buildGoEnvironment() }).catch(
    () => undefined,
  );
  const found = version?.trim().replace(/^go/, '');
  if (found !== undefined && isAtLeast(found, needed)) return undefined;
  const instead = found === undefined ? 'there is none' : `found ${found}`;
  return `the Go toolchain, version ${needed} or newer, on the PATH (${instead})`;
}

function isAtLeast(found: string, needed: string): boolean {
  const [a, b] = [found, needed].map((version) =>
    version.split('.').map((field) => parseInt(field, 10)),
  );
  for (const at of [0, 1, 2]) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}
