import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import {
  findGxFile,
  readGxContent,
  readGxJson,
  type GxFile,
} from '../../config/agent/gx-json-file.ts';
import { toError, StageFailed } from '../../errors.ts';
import { NEEDS_DOCKERFILE } from '../../schema/wire/build-message.ts';
import { isFolder, type GxJson } from '../../schema/agent/gx-json.ts';
import { logLine } from '../progress.ts';
import { isWithin, getWorkPaths, resolveRealFile } from '../work.ts';
import { INSIDE, applyBaseImage } from './base.ts';
import {
  describeIgnoredDemands,
  isOfJavaScript,
  isOfPython,
  needsDockerfile,
  checkNodeVersion,
  checkPythonCode,
} from './demands.ts';
import { findProject, type Project } from './project.ts';
import {
  describeDecidingFiles,
  requirePlace,
  planPythonInstall,
  type PythonPlan,
} from './python-plan.ts';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readTree, type TreeEntry } from '../layers/tree.ts';

/** The steps of a build. All paths go from the root of the repository. */
export type BuildPlan = {
  /** The file that was found: gx.json, or langgraph.json in its place. */
  configFile: string;
  /** The folder of it; empty for the root. */
  folder: string;
  projects: Project[];
  /** The packages of Python; undefined where all graphs are in JavaScript. */
  python?: PythonPlan;
  /** The key of the packages; undefined if they are installed again each time. */
  key?: string;
};

/**
 * Reads gx.json of the cloned repository and decides how it is built. Throws for a demand that this builder can't meet.
 */
export function buildPlanOf(config: ImageBuildConfig, baseDigest: string): { plan: BuildPlan } {
  const { source } = getWorkPaths(config.work);
  const { configFile, folder, settings, unknown } = readAgentSource(config);
  for (const { name, instead } of unknown) logLine(`"${name}" has no effect: ${instead}`);
  checkDemands(settings, config.baseImage ?? '');
  const python = isOfPython(settings) ? planPythonInstall(source, folder, settings) : undefined;
  const projects = listNodeProjects(source, folder, settings);
  for (const line of python === undefined ? [] : describeDecidingFiles(python)) logLine(line);
  const { installCommand } = config;
  const key = computePackagesKey({
    source,
    projects,
    baseDigest,
    ...(python && { python }),
    ...(installCommand && { installCommand }),
  });
  return { plan: { configFile, folder, projects, ...(python && { python }), ...(key && { key }) } };
}

/** Returns where packages of Node are installed. A project in Python has them only if something else needs them. */
function listNodeProjects(source: string, folder: string, settings: GxJson): Project[] {
  if (isOfPython(settings) && !isOfJavaScript(settings)) return [];
  const projects = listProjects(source, [
    folder,
    ...listDependencyFolders(source, folder, settings),
  ]);
  for (const { folder: at, manager } of projects)
    logLine(
      `packages: ${manager.tool ?? manager.name} by ${manager.lockFile ?? 'no lock file, so each build resolves them again'} in ${at || 'the root'}`,
    );
  return projects;
}

/** The agent in a repository: the file that was found, its folder (empty for the root), and its content. */
export type AgentSource = { configFile: string; folder: string } & GxFile;

/** Reads gx.json of the cloned repository. */
export function readAgentSource({ work, configPath }: ImageBuildConfig): AgentSource {
  const { source } = getWorkPaths(work);
  const configFile = requireConfigFile(source, configPath);
  const folder = path.posix.dirname(configFile) === '.' ? '' : path.posix.dirname(configFile);
  return { configFile, folder, ...readAgentFile(path.join(source, configFile)) };
}

/** Returns the settings with the base image of the languages of the cloned agent. */
export const applyAgentBaseImage = (config: ImageBuildConfig): ImageBuildConfig =>
  applyBaseImage({ python: isOfPython(readAgentSource(config).settings) }, config);

/** Throws for a demand that this builder can't meet, and prints those that have no effect. */
function checkDemands(settings: GxJson, baseImage: string): void {
  const machine = { node: process.version, baseImage };
  const elsewhere = baseImage === INSIDE ? undefined : needsDockerfile(settings, machine);
  if (elsewhere !== undefined) throw new StageFailed(NEEDS_DOCKERFILE, `${elsewhere}.`);
  const fault = checkNodeVersion(settings, machine) ?? checkPythonCode(settings);
  if (fault !== undefined) throw new StageFailed('BuildFailed', `${fault}.`);
  for (const line of describeIgnoredDemands(settings, machine)) logLine(line);
}

function requireConfigFile(source: string, configPath: string): string {
  const wanted = path.resolve(source, configPath);
  if (!isWithin(source, wanted))
    throw new StageFailed(
      'ConfigMissing',
      `gx_config_path ${configPath} points outside the repository.`,
    );
  const found = findGxFile(wanted);
  if (found === undefined)
    throw new StageFailed(
      'ConfigMissing',
      `The repository has no ${configPath} at this commit: set gx_config_path to where the file is.`,
    );
  if (resolveRealFile(source, found) === undefined)
    throw new StageFailed(
      'ConfigMissing',
      `${configPath} is a link that points outside the repository.`,
    );
  return path.relative(source, found).split(path.sep).join('/');
}

/** Returns the settings of the file that the plan found. */
export const readAgentSettings = ({ work }: ImageBuildConfig, { configFile }: BuildPlan): GxJson =>
  readAgentFile(path.join(getWorkPaths(work).source, configFile)).settings;

function readAgentFile(file: string): GxFile {
  try {
    return readGxJson(readGxContent(file), file);
  } catch (error) {
    throw new StageFailed(
      'BuildFailed',
      toError(error).message.replace(file, path.basename(file)),
      { cause: error },
    );
  }
}

const listDependencyFolders = (
  source: string,
  folder: string,
  { dependencies = [] }: GxJson,
): string[] =>
  dependencies
    .filter(isFolder)
    .map((name) => requirePlace(source, folder, { key: 'dependencies', name }));

function listProjects(source: string, folders: readonly string[]): Project[] {
  const found = folders
    .map((folder) => findProject(source, folder))
    .filter((project) => project !== undefined);
  return found.filter(
    ({ folder }, at) => found.findIndex((other) => other.folder === folder) === at,
  );
}

/** Changes with the contents of the layers of packages. */
const FORMAT = 1;

/** Files of a project, besides package.json, that decide what is installed. */
const DECIDING =
  /(^|\/)(npm-shrinkwrap\.json|package-lock\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|\.pnpmfile\.c?js|yarn\.lock|\.yarnrc(\.yml)?|bun\.lockb?|bunfig\.toml|\.npmrc|\.node-version|\.nvmrc)$|(^|\/)(patches|\.yarn\/(patches|releases|plugins))\//;
/** Files of a project in Python that decide what is installed. Its own packages are installed by each build. */
const DECIDING_PYTHON =
  /(^|\/)(pyproject\.toml|setup\.(py|cfg)|(uv|poetry|pdm)\.(lock|toml)|\.python-version|[^/]*(requirement|constraint)[^/]*\.(txt|in))$/;
/** Parts of package.json that decide nothing. */
const DESCRIPTIVE = [
  'scripts',
  'description',
  'keywords',
  'author',
  'contributors',
  'license',
  'repository',
  'homepage',
  'bugs',
];

/**
 * A plain call of a package manager, whose result depends on the files above alone. Any other command may read and
 * write anything.
 */
const PLAIN =
  /^(npm (ci|i|install)|pnpm (i|install)|yarn( install)?|bun (i|install))( --?[A-Za-z][A-Za-z-]*(=[A-Za-z0-9]+)?)*$/;

type KeyParts = {
  source: string;
  projects: readonly Project[];
  python?: PythonPlan;
  installCommand?: string;
  baseDigest: string;
};

/**
 * Returns the key of the projects' packages: the same key means the same packages. Undefined if they are installed
 * again each time: without a lock file, and by a command that may write files that no key covers.
 */
export function computePackagesKey({
  source,
  projects,
  python,
  installCommand,
  baseDigest,
}: KeyParts): string | undefined {
  if (!isLocked({ projects, python })) return undefined;
  if (installCommand !== undefined && !PLAIN.test(installCommand.trim())) return undefined;
  const entries = readTree(source, (name) => /(^|\/)(node_modules|\.git|\.venv)$/.test(name));
  const copied = listCopiedFolders(source, entries);
  const isDeciding = (name: string): boolean =>
    DECIDING.test(name) ||
    (python !== undefined && (DECIDING_PYTHON.test(name) || name === python.pipFile));
  const counted = entries.filter(
    ({ name }) => isDeciding(name) || copied.some((folder) => isWithin(folder, name)),
  );
  const hash = createHash('sha256');
  const add = (...parts: string[]): void => void hash.update(`${JSON.stringify(parts)}\n`);
  add(
    String(FORMAT),
    process.version,
    process.platform,
    process.arch,
    baseDigest,
    installCommand ?? '',
  );
  if (python !== undefined) add('python', JSON.stringify(python));
  for (const { folder, manager } of projects) add(folder, manager.name, manager.tool ?? '');
  for (const entry of counted)
    add(
      entry.name,
      entry.kind,
      entry.target,
      entry.kind === 'file' ? hashFile(path.join(source, entry.name)) : '',
    );
  for (const { name } of entries.filter(isManifest))
    add(name, readDecidingContent(path.join(source, name)));
  return hash.digest('hex');
}

const isLocked = ({
  projects,
  python,
}: {
  python: PythonPlan | undefined;
  projects: readonly Project[];
}): boolean =>
  python?.locked !== false &&
  projects.every(({ manager, hasPackages }) => !hasPackages || manager.lockFile !== undefined);

const isManifest = ({ name, kind }: TreeEntry): boolean =>
  kind === 'file' && path.posix.basename(name) === 'package.json';

const hashFile = (file: string): string =>
  createHash('sha256').update(readFileSync(file)).digest('hex');

function readDecidingContent(file: string): string {
  const text = readFileSync(file, 'utf8');
  try {
    const manifest = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(Object.entries(manifest).filter(([key]) => !DESCRIPTIVE.includes(key)));
  } catch {
    return text;
  }
}

/** Returns folders that `file:` names: yarn and pnpm copy their content into node_modules. */
function listCopiedFolders(source: string, entries: readonly TreeEntry[]): string[] {
  return entries
    .filter(isManifest)
    .flatMap(({ name }) =>
      [...readFileSync(path.join(source, name), 'utf8').matchAll(/"file:([^"]+)"/g)]
        .map(([, target = '']) =>
          path.posix.normalize(path.posix.join(path.posix.dirname(name), target)),
        )
        .filter(
          (target) =>
            target !== '.' && !target.startsWith('..') && existsSync(path.join(source, target)),
        ),
    );
}
