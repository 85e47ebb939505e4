import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { isOfPackages, linkTree, readTree } from '../layers/tree.ts';
import { logLine, step } from '../progress.ts';
import { getWorkPaths } from '../work.ts';
import { buildInstallCommands, type Manager } from './managers.ts';
import { listWorkspaceFolders, readPackageJson, type Project } from './project.ts';
import type { Workbench } from './workbench.ts';

/** Scripts of a package of the repository that an installation runs, in their order. */
const OWN_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
];

/** The second yarn runs no `prepare` when it installs. */
function listLifecycleScripts({ name }: Manager, installCommand = ''): string[] {
  if (/(^| )--ignore-scripts( |$|=true)/.test(installCommand)) return [];
  return name === 'berry' ? OWN_SCRIPTS.slice(0, 3) : OWN_SCRIPTS;
}

/** Installs all packages of the projects, those for development among them. */
export async function installAll(
  config: ImageBuildConfig,
  projects: readonly Project[],
  bench: Workbench,
): Promise<void> {
  const { source } = getWorkPaths(config.work);
  if (config.installCommand !== undefined) {
    const run = config.installCommand;
    await step('install', () =>
      bench.task({
        run,
        folder: source,
        prefix: 'install',
        reason: 'InstallFailed',
        what: 'install_command',
      }),
    );
    return;
  }
  for (const { folder, manager, hasPackages } of projects) {
    if (!hasPackages) continue;
    const run = buildInstallCommands(manager).all as [string, ...string[]];
    const task = {
      run,
      folder: path.join(source, folder),
      prefix: 'install',
      reason: 'InstallFailed',
      what: `"${run.join(' ')}"`,
    } as const;
    await step(`install${folder && ` in ${folder}`}`, () => bench.task(task));
  }
}

/** Runs the installation's scripts of the repository's own packages, whose results are not kept with other packages. */
export async function runOwnScripts(
  config: ImageBuildConfig,
  projects: readonly Project[],
  bench: Workbench,
): Promise<void> {
  const { source } = getWorkPaths(config.work);
  for (const { folder, manager } of projects)
    for (const each of listWorkspaceFolders(source, folder)) {
      const { scripts = {} } = readPackageJson(source, each) ?? {};
      for (const script of listLifecycleScripts(manager, config.installCommand).filter(
        (name) => scripts[name] !== undefined,
      )) {
        const what = `the script "${script}" of ${each || 'the root'}`;
        const run = [manager.program, 'run', script] as const;
        await bench.task({
          run,
          folder: path.join(source, each),
          prefix: 'install',
          reason: 'InstallFailed',
          what,
        });
      }
    }
}

/**
 * Makes a second tree of the source whose packages are those of production, and returns its folder. Scripts of the
 * repository's own packages are left out there: they ran already, and may need packages for development.
 */
export async function createProductionTree(
  config: ImageBuildConfig,
  projects: readonly Project[],
  bench: Workbench,
): Promise<string> {
  const { source, production } = getWorkPaths(config.work);
  rmSync(production, { recursive: true, force: true });
  linkTree(source, production, readTree(source));
  for (const { folder, manager, hasPackages } of projects) {
    if (!hasPackages) continue;
    for (const each of listWorkspaceFolders(production, folder)) removeScripts(production, each);
    const { production: run, fromNothing } = buildInstallCommands(manager);
    const place = path.join(production, folder);
    if (fromNothing)
      for (const { name } of readTree(place).filter(isTopOfPackages))
        rmSync(path.join(place, name), { recursive: true, force: true });
    const task = {
      run: run as [string, ...string[]],
      folder: place,
      prefix: 'production',
      reason: 'InstallFailed',
      what: run.join(' '),
    } as const;
    const isDone = await step('leave out packages for development', () => bench.attempt(task));
    if (!isDone) {
      logLine('packages for development stay in the image, because they could not be left out');
      rmSync(production, { recursive: true, force: true });
      linkTree(source, production, readTree(source));
      return production;
    }
  }
  return production;
}

const isTopOfPackages = ({ name, kind }: { name: string; kind: string }): boolean =>
  kind === 'folder' &&
  path.posix.basename(name) === 'node_modules' &&
  !isOfPackages(path.posix.dirname(name));

/** Writes package.json again, because the file of the other tree is the same one. */
function removeScripts(root: string, folder: string): void {
  const manifest = readPackageJson(root, folder);
  if (
    manifest?.scripts === undefined ||
    !OWN_SCRIPTS.some((name) => manifest.scripts?.[name] !== undefined)
  )
    return;
  const scripts = Object.fromEntries(
    Object.entries(manifest.scripts).filter(([name]) => !OWN_SCRIPTS.includes(name)),
  );
  const file = path.join(root, folder, 'package.json');
  rmSync(file);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...manifest, scripts }, null, 2));
}

/** Returns the folder upwards whose package.json has a script "build"; undefined if none has. */
export const findBuildFolder = (source: string, folder: string): string | undefined => {
  for (let each = folder; ; each = path.posix.dirname(each)) {
    const at = each === '.' ? '' : each;
    if (readPackageJson(source, at)?.scripts?.['build'] !== undefined) return at;
    if (at === '') return undefined;
  }
};

/** Returns whether a file is there, or the TypeScript that a loader finds in its place. */
export const isFileThere = (file: string): boolean =>
  [file, file.replace(/\.([cm]?)js$/, '.$1ts'), file.replace(/\.jsx?$/, '.tsx')].some((name) =>
    existsSync(name),
  );
