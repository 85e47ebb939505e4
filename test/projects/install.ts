import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { extendEnvironment } from '../../dev/env.ts';
import { CommandFailed, TimedOut } from '../../dev/errors.ts';
import { readGraphsFile } from '../../src/agent/gx-json/read.ts';
import {
  DEFAULT_TOOLS,
  buildInstallCommands,
  type Manager,
} from '../../src/builder/packages/managers.ts';
import { findProject, listFoldersUpwards } from '../../src/builder/packages/project.ts';
import { planPythonInstall, type PythonFolder } from '../../src/builder/packages/python-plan.ts';
import type { GxJson } from '../../src/schema/agent/gx-json.ts';
import type { Language } from '../../src/schema/agent/code-place.ts';

/* How a developer installs the packages of a project, as its lock files say. */

export type Command = { run: readonly [string, ...string[]]; folder: string };

/** Where a project lies: the folder that was cloned, and its langgraph.json from there. */
export type ProjectPlace = { root: string; config: string };

/** Returns the commands that install the packages of a project, in their order. */
export function planInstall(
  { root, config }: ProjectPlace,
  { tools, uv }: InstallTools,
): Command[] {
  const { settings, graphs } = readGraphsFile(join(root, config));
  const folder = dirname(config) === '.' ? '' : dirname(config);
  const has = (language: Language): boolean => graphs.some((graph) => graph.language === language);
  return [
    ...(has('python') ? planPython(root, folder, { settings, uv }) : []),
    ...(has('javascript') ? planJavaScript(root, folder, tools) : []),
  ];
}

/** The folder of the builder's package managers, and the program of uv. */
export type InstallTools = { tools: string; uv: string };

/** The builder's way to the versions of poetry.lock and pdm.lock. */
const CONSTRAINTS = resolve('src/builder/packages/constraints.py');

function planPython(
  root: string,
  folder: string,
  { settings, uv }: { settings: GxJson; uv: string },
): Command[] {
  const { folders, named } = planPythonInstall(root, folder, settings);
  const own = join(root, folder);
  const locked = folders.find(({ uvLock, member }) => uvLock !== undefined && member === undefined);
  const member = folders.find((each) => each.member !== undefined);
  if (locked !== undefined)
    return [{ run: [uv, 'sync', '--quiet', '--frozen'], folder: join(root, locked.folder) }];
  if (member?.member !== undefined)
    return [
      {
        run: [uv, 'sync', '--quiet', '--frozen', '--package', member.member],
        folder: join(root, member.folder),
      },
    ];
  const wanted = [...folders.flatMap(requirementsOf(root)), ...named];
  // Folders without packages of their own are of the project around them.
  const around = listFoldersUpwards(folder).find((each) => existsSync(join(root, each, 'uv.lock')));
  if (wanted.length === 0 && around !== undefined)
    return [{ run: [uv, 'sync', '--quiet', '--frozen'], folder: join(root, around) }];
  const otherLocks = folders.flatMap(({ otherLock }) =>
    otherLock === undefined ? [] : [join(root, otherLock)],
  );
  const versions = otherLocks.map((_, index) => join(own, '.venv', `versions-${index}.txt`));
  const constraints = versions.flatMap((file) => ['--constraint', file]);
  return [
    { run: [uv, 'venv', '--quiet', '.venv'], folder: own },
    ...otherLocks.map((lock, index) => ({
      run: ['python3', CONSTRAINTS, lock, versions[index]!] as const,
      folder: own,
    })),
    ...(wanted.length === 0
      ? []
      : [
          {
            // Projects leave LangGraph to the server's packages, which their developers install beside theirs.
            run: [uv, 'pip', 'install', '--quiet', ...constraints, ...wanted, 'langgraph'] as const,
            folder: own,
          },
        ]),
  ];
}

const requirementsOf =
  (root: string) =>
  ({ folder, requirements }: PythonFolder): string[] => {
    if (requirements === undefined) return [];
    if (requirements.endsWith('.txt')) return ['-r', join(root, requirements)];
    // A developer installs both, and a build only the package.
    const beside = join(root, folder, 'requirements.txt');
    return ['-e', join(root, folder), ...(existsSync(beside) ? ['-r', beside] : [])];
  };

function planJavaScript(root: string, folder: string, tools: string): Command[] {
  const project = findProject(root, folder);
  if (project === undefined || !project.hasPackages) return [];
  const [program = '', ...args] = buildInstallCommands(project.manager).all;
  return [
    {
      run: [...programOf(project.manager, program, tools), ...args],
      folder: join(root, project.folder),
    },
  ];
}

/** Returns how a package manager is started: from the folder of tools, else by npx, which downloads it. */
function programOf(
  { tool, program: own }: Manager,
  program: string,
  tools: string,
): [string, ...string[]] {
  if (tool === undefined) return [program];
  const bins: Record<string, string> = {
    [DEFAULT_TOOLS.pnpm]: 'pnpm/bin/pnpm.cjs',
    [DEFAULT_TOOLS.yarn]: 'yarn/bin/yarn.js',
    [DEFAULT_TOOLS.berry]: '@yarnpkg/cli-dist/bin/yarn.js',
  };
  const bin = bins[tool];
  const file = bin && join(tools, tool, 'node_modules', bin);
  return file !== undefined && existsSync(file)
    ? [process.execPath, file]
    : ['npx', '--yes', `--package=${tool}`, own];
}

/** Variables that let no installation ask, count or download what no lock names. */
const QUIET: Record<string, string> = {
  CI: 'true',
  UV_PYTHON_DOWNLOADS: 'never',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
  npm_config_manage_package_manager_versions: 'false',
  YARN_NODE_LINKER: 'node-modules',
  YARN_ENABLE_TELEMETRY: '0',
};

/** Runs a command to its end. Throws with its last lines if it fails or takes too long. */
export async function runCommand(
  { run: [program, ...args], folder }: Command,
  seconds: number,
): Promise<void> {
  // Scripts of packages call the node of this process.
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  const env = extendEnvironment({ ...QUIET, PATH: path });
  const child = spawn(program, args, {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: seconds * 1000,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => (output = (output + piece.toString()).slice(-6000)));
  const shown = [program.split('/').at(-1), ...args].join(' ');
  const [code, signal] = (await once(child, 'close').catch((error: Error) => [error.message])) as [
    number | string | null,
    string | undefined,
  ];
  if (signal === 'SIGKILL')
    throw new TimedOut(
      `"${shown}" did not end within ${seconds} s. Its last lines: ${lastLines(output)}`,
    );
  if (code !== 0)
    throw new CommandFailed(`"${shown}" failed (${code}). Its last lines: ${lastLines(output)}`);
}

export const lastLines = (output: string): string =>
  output.trim().split('\n').slice(-4).join(' | ');

/** Writes the files that git leaves out, such as `.env`. */
export function writeFiles(root: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(resolve(root, name), text);
}
