import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { StageFailed } from '../../errors.ts';
import type { UsedIndexes } from '../indexes/use.ts';
import { VENV } from '../layers/tree.ts';
import { logLine, step } from '../progress.ts';
import { getWorkPaths } from '../work.ts';
import { AGENT } from './image-environment.ts';
import { parseUvOptions } from './pip-file.ts';
import { describeUnlockedFiles, type PythonFolder, type PythonPlan } from './python-plan.ts';
import { addFolders, patchEditableLinks } from './python-venv.ts';
import { parseLockIndexes, parseUvExport } from './uv-export.ts';
import type { BuildTask, Workbench } from './workbench.ts';

/** Where Debian keeps the certificate authorities of the system. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

type Work = { config: ImageBuildConfig; plan: PythonPlan; bench: Workbench };

const getVenvPath = ({ work }: ImageBuildConfig): string =>
  path.join(getWorkPaths(work).source, VENV);
const getNotesPath = ({ work }: ImageBuildConfig): string => path.join(work, 'python');

/**
 * Gives the commands of a build the variables by which uv and Python use the project's environment. One that the
 * repository contains is of another machine.
 */
export function usePython({
  config,
  bench: { env },
  indexes,
}: Omit<Work, 'plan'> & { indexes: UsedIndexes }): void {
  const venv = getVenvPath(config);
  if (existsSync(venv)) logLine(`${VENV} of the repository is not used`);
  rmSync(venv, { recursive: true, force: true });
  mkdirSync(getNotesPath(config), { recursive: true });
  Object.assign(env, {
    PATH: `${venv}/bin:${env['PATH']}`,
    VIRTUAL_ENV: venv,
    UV_PROJECT_ENVIRONMENT: venv,
    UV_CACHE_DIR: path.join(config.work, 'uv-cache'),
    UV_PYTHON_DOWNLOADS: 'never',
    UV_NO_PROGRESS: '1',
    // The builder makes byte code by itself, which is the same each time.
    PYTHONDONTWRITEBYTECODE: '1',
    ...(config.pypiIndex === undefined
      ? {}
      : { UV_DEFAULT_INDEX: indexes.proxied(config.pypiIndex) }),
    ...(config.indexes.proxy !== undefined && buildNoProxy(config)),
    ...writeCertificates(config),
  });
}

/** Requests to the proxy of private indexes stay in the pod. */
function buildNoProxy({ network }: ImageBuildConfig): Record<string, string> {
  const near = [network['NO_PROXY'] ?? network['no_proxy'], '127.0.0.1'].filter(Boolean).join(',');
  return { NO_PROXY: near, no_proxy: near };
}

/** uv trusts one file, so those that Node trusts besides its own are joined with the system's. */
function writeCertificates(config: ImageBuildConfig): Record<string, string> {
  const more = config.network['NODE_EXTRA_CA_CERTS'];
  if (more === undefined || config.network['SSL_CERT_FILE'] !== undefined) return {};
  const file = path.join(getNotesPath(config), 'authorities.crt');
  writeFileSync(
    file,
    [AUTHORITIES, more]
      .filter(existsSync)
      .map((each) => readFileSync(each, 'utf8'))
      .join('\n'),
  );
  return { SSL_CERT_FILE: file };
}

const buildTask = (config: ImageBuildConfig, run: BuildTask['run'], what: string): BuildTask => ({
  run,
  folder: getWorkPaths(config.work).source,
  prefix: 'install',
  reason: 'InstallFailed',
  what,
});

/** Makes the virtual environment. */
export async function makeVenv({ config, plan, bench }: Work): Promise<void> {
  const venv = getVenvPath(config);
  // The packages of the base image stand behind those of the project.
  const options = [
    '--relocatable',
    '--system-site-packages',
    '--no-project',
    '--quiet',
    '--python',
    'python3',
  ];
  await bench.task(buildTask(config, ['uv', 'venv', ...options, venv], '"uv venv"'));
  const [, ours = ''] =
    /^version_info = (\d+\.\d+)/m.exec(readFileSync(path.join(venv, 'pyvenv.cfg'), 'utf8')) ?? [];
  const fault = checkVersion(plan.version, ours);
  if (fault !== undefined) throw new StageFailed('BuildFailed', `${fault}.`);
  if (plan.version !== undefined && plan.version !== ours)
    logLine(`"python_version" asks for Python ${plan.version}; the image runs Python ${ours}`);
}

/** Returns why the Python of the image does not serve; undefined when it does. */
function checkVersion(wanted: string | undefined, ours: string): string | undefined {
  if (wanted === undefined) return undefined;
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(wanted) ?? [];
  if (major !== '3' || minor === undefined)
    return `"python_version" of gx.json is ${wanted}, which is not a version like ${ours}`;
  return Number(minor) > Number(ours.slice(2))
    ? `"python_version" of gx.json asks for Python ${wanted}, and agents run on Python ${ours} here: ask for ${ours} or an older one`
    : undefined;
}

/** Installs all packages of indexes, unless a command of the author has done so, and compiles them to byte code. */
export async function installPython(work: Work): Promise<void> {
  if (work.config.installCommand === undefined) await installPackages(work);
  await step('byte code of packages', () => compileByteCode(work, path.join(VENV, 'lib')));
}

async function installPackages(work: Work): Promise<void> {
  const { config, plan, bench } = work;
  const { source } = getWorkPaths(config.work);
  for (const line of describeUnlockedFiles(source, plan)) logLine(line);
  const files: string[] = [];
  for (const [at, folder] of plan.folders.entries()) {
    if (folder.uvLock !== undefined) {
      await requireSamePython(work, folder);
      files.push('--requirement', (await exportRequirements(work, folder, at)).file);
      files.push(
        ...parseLockIndexes(readFileSync(path.join(source, folder.uvLock, 'uv.lock'), 'utf8')),
      );
    } else if (folder.requirements !== undefined)
      files.push('--requirement', path.join(source, folder.requirements));
    if (folder.otherLock !== undefined)
      files.push('--constraint', await writeConstraints(work, folder.otherLock, at));
  }
  if (files.length === 0 && plan.named.length === 0) return;
  const run = ['uv', 'pip', 'install', ...readIndexOptions(work), ...files, ...plan.named] as const;
  await step('install packages of Python', () =>
    runWithHint(() =>
      bench.task({
        ...buildTask(config, run, '"uv pip install"'),
        folder: chooseSettingsFolder(work),
      }),
    ),
  );
}

/** uv reads its settings from the folder that it works in: the only one of the project, or the root. */
const chooseSettingsFolder = ({ config, plan: { folders } }: Work): string =>
  path.join(
    getWorkPaths(config.work).source,
    folders.length === 1 ? (folders[0]?.folder ?? '') : '',
  );

/** Options of uv that stand in place of pip.conf. */
function readIndexOptions({ config, plan: { pipFile } }: Work): string[] {
  if (pipFile === undefined) return [];
  const { options, unknown } = parseUvOptions(
    readFileSync(path.join(getWorkPaths(config.work).source, pipFile), 'utf8'),
  );
  if (unknown.length > 0) logLine(`${pipFile}: ${unknown.join(', ')} has no effect: uv installs`);
  return options;
}

/**
 * Throws if a project with uv.lock asks for another Python than that of the environment. The export does not ask, and a
 * project that is no package is never linked.
 */
const requireSamePython = ({ config, bench }: Work, { folder }: PythonFolder): Promise<void> => {
  const [project, python] = [
    path.join(getWorkPaths(config.work).source, folder),
    path.join(getVenvPath(config), 'bin', 'python'),
  ];
  const run = [
    'uv',
    'sync',
    '--frozen',
    '--dry-run',
    '--quiet',
    '--project',
    project,
    '--python',
    python,
  ] as const;
  return bench.task(buildTask(config, run, '"uv sync --dry-run"'));
};

/** Writes the requirements that uv.lock says, and returns their file with the packages of the repository among them. */
async function exportRequirements(
  { config, bench }: Work,
  { folder, uvLock = '', member }: PythonFolder,
  at: number,
): Promise<{ file: string; own: string[] }> {
  const { source } = getWorkPaths(config.work);
  const file = path.join(getNotesPath(config), `exported-${at}.txt`);
  const options = [
    '--frozen',
    '--no-dev',
    '--no-header',
    '--no-annotate',
    '--quiet',
    '--output-file',
    file,
  ];
  const which = member === undefined ? [] : ['--package', member];
  const run = [
    'uv',
    'export',
    ...options,
    ...which,
    '--project',
    path.join(source, folder),
  ] as const;
  await bench.task(buildTask(config, run, '"uv export"'));
  const { requirements, own } = parseUvExport(readFileSync(file, 'utf8'));
  const kept = path.join(getNotesPath(config), `requirements-${at}.txt`);
  writeFileSync(kept, `${requirements}\n`);
  // uv writes paths from the root of the workspace.
  return {
    file: kept,
    own: own.map((name) => path.resolve(source, uvLock, name.replace(/^file:\/\//, ''))),
  };
}

async function writeConstraints(
  { config, bench }: Work,
  lock: string,
  at: number,
): Promise<string> {
  const file = path.join(getNotesPath(config), `constraints-${at}.txt`);
  const script = path.join(import.meta.dirname, 'constraints.py');
  await bench.task(buildTask(config, ['python', script, lock, file], `reading ${lock}`));
  return file;
}

/** Adds a sentence to failures whose words alone lead nowhere. */
async function runWithHint(install: () => Promise<void>): Promise<void> {
  try {
    await install();
  } catch (thrown) {
    const hint = thrown instanceof StageFailed ? explainFailure(thrown.message) : undefined;
    if (!(thrown instanceof StageFailed) || hint === undefined) throw thrown;
    throw new StageFailed(thrown.reason, `${hint} ${thrown.message}`, { cause: thrown });
  }
}

function explainFailure(words: string): string | undefined {
  const [, missing] = /(?:fatal error: |cannot find )(-l\S+|\S+\.h\b)/.exec(words) ?? [];
  if (missing !== undefined)
    return `A package needs ${missing} of a system library that the builder lacks: install it by "dockerfile_lines" of gx.json.`;
  // uv takes 401 and 403 for an index without the package.
  return words.includes('not found in the package registry')
    ? 'An index has no such package, or needs a credential that this build does not have (docs/how-to/private-indexes.md).'
    : undefined;
}

/** Byte code names the place of its source in the image. A file that is no Python of this version is left as it is. */
async function compileByteCode(
  { config, bench }: Omit<Work, 'plan'>,
  folder: string,
  leftOut?: string,
): Promise<void> {
  const options = [
    '-qq',
    '-j',
    '0',
    '--invalidation-mode',
    'unchecked-hash',
    '-s',
    getWorkPaths(config.work).source,
    '-p',
    AGENT,
  ];
  const without = leftOut === undefined ? [] : ['-x', leftOut];
  await bench.attempt(
    buildTask(config, ['python', '-m', 'compileall', ...options, ...without, folder], 'compileall'),
  );
}

/**
 * Makes the environment one of the image, and compiles the repository's own modules, because nobody could write beside
 * them in a pod.
 */
export async function finishPython(work: Omit<Work, 'plan'>): Promise<void> {
  const source = realpathSync(getWorkPaths(work.config.work).source);
  patchEditableLinks({ venv: path.join(source, VENV), source, agent: AGENT });
  await step('byte code of the source', () =>
    compileByteCode(work, '.', String.raw`(^|/)(\.venv|node_modules|\.git)/`),
  );
}

/**
 * Puts the repository's own packages into the environment as links to their folders, and folders without a package on
 * the path of its modules. So a change of them changes no layer of packages.
 */
export async function linkOwn(work: Work): Promise<void> {
  const { config, plan, bench } = work;
  const { source } = getWorkPaths(config.work);
  const packages = config.installCommand === undefined ? await listLocalPackages(work) : [];
  const run = [
    'uv',
    'pip',
    'install',
    '--no-deps',
    ...readIndexOptions(work),
    ...packages.flatMap((each) => ['--editable', each]),
  ] as const;
  const install = (): Promise<void> =>
    bench.task({
      ...buildTask(config, run, '"uv pip install --editable"'),
      folder: chooseSettingsFolder(work),
    });
  if (packages.length > 0) await step('packages of the repository', () => runWithHint(install));
  const isPlain = ({ folder, isPackage }: PythonFolder): boolean =>
    config.installCommand === undefined
      ? !packages.includes(path.join(source, folder))
      : !isPackage;
  const folders = plan.folders.filter(isPlain).map(({ folder }) => folder);
  addFolders({ venv: getVenvPath(config), source, folders });
}

async function listLocalPackages(work: Work): Promise<string[]> {
  const { source } = getWorkPaths(work.config.work);
  const packages: string[] = [];
  for (const [at, folder] of work.plan.folders.entries()) {
    if (folder.uvLock !== undefined)
      packages.push(...(await exportRequirements(work, folder, at)).own);
    else if (folder.isPackage) packages.push(path.join(source, folder.folder));
  }
  return [...new Set(packages)];
}
