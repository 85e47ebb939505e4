import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../config/jobs/image-build.ts';
import { StageFailed } from '../errors.ts';
import type { GxJson } from '../schema/agent/gx-json.ts';
import { SOURCE_FILE } from './built-layers.ts';
import { fetchIndexes } from './indexes/use.ts';
import { writeLayer } from './layers/layer.ts';
import { listNamedFiles } from './packages/demands.ts';
import { BUILD_FOLDER } from './packages/image-environment.ts';
import {
  findBuildFolder,
  installAll,
  isFileThere,
  createProductionTree,
  runOwnScripts,
} from './packages/install.ts';
import {
  LAYER_FILES,
  readPackageSignatures,
  listSourceEntries,
  writePackageLayers,
  type PackageLayers,
} from './packages/package-layers.ts';
import { readAgentSettings, type BuildPlan } from './packages/plan.ts';
import {
  finishPython,
  installPython,
  linkOwn,
  makeVenv,
  usePython,
} from './packages/python-install.ts';
import { createWorkbench, type Workbench } from './packages/workbench.ts';
import type { Restored } from './restore.ts';
import { logLine, step } from './progress.ts';
import { getTrustedPaths, readStageJson, getWorkPaths } from './work.ts';
import { parseJsonOr } from '../schema/json.ts';

/**
 * Installs, builds and writes the layers as files below `image`. It runs commands of the repository's author, and holds
 * no credential.
 */
export async function build(config: ImageBuildConfig, signal: AbortSignal): Promise<undefined> {
  const { image } = getWorkPaths(config.work);
  const { plan, packages } = readStageJson<Restored>(getTrustedPaths(config).plan);
  const settings = readAgentSettings(config, plan);
  rmSync(image, { recursive: true, force: true });
  mkdirSync(image, { recursive: true });
  const indexes = await fetchIndexes(config, plan, signal);
  const bench = await createWorkbench(
    config,
    plan.projects.map(({ manager }) => manager),
    { signal, shown: indexes.shown },
  );
  if (plan.python !== undefined) usePython({ config, bench, indexes });
  const before = await indexes.during(async () => {
    if (packages === undefined) await installPackages(config, plan, bench);
    else await unpackPackages(config, packages, bench);
    const signatures = readPackageSignatures(getWorkPaths(config.work).source);
    if (packages !== undefined) await runOwnScripts(config, plan.projects, bench);
    if (plan.python !== undefined) await linkOwn({ config, plan: plan.python, bench });
    return signatures;
  });
  await runProjectBuild(config, plan, settings, bench);
  if (plan.python !== undefined) await finishPython({ config, bench });
  await step('layer of the source', () => writeSource(config, before));
}

async function installPackages(
  config: ImageBuildConfig,
  { projects, python }: BuildPlan,
  bench: Workbench,
): Promise<void> {
  const { source, production, image } = getWorkPaths(config.work);
  if (python !== undefined) await makeVenv({ config, plan: python, bench });
  else if (config.installCommand === undefined && !projects.some(({ hasPackages }) => hasPackages))
    return;
  await installAll(config, projects, bench);
  if (python !== undefined) await installPython({ config, plan: python, bench });
  const tree = await createProductionTree(config, projects, bench);
  await step('layers of packages', () => writePackageLayers(source, tree, image));
  rmSync(production, { recursive: true, force: true });
}

async function unpackPackages(
  config: ImageBuildConfig,
  packages: PackageLayers,
  bench: Workbench,
): Promise<void> {
  const { source } = getWorkPaths(config.work);
  const { cache } = getTrustedPaths(config);
  for (const role of ['production', 'development'] as const) {
    if (packages[role] === undefined) continue;
    const run = [
      'tar',
      '-xzf',
      path.join(cache, LAYER_FILES[role]),
      '--no-same-owner',
      '--strip-components=1',
      '-C',
      source,
    ] as const;
    const what = `unpacking the packages of an earlier build (${role})`;
    await step(what, () =>
      bench.task({ run, folder: source, prefix: 'unpack', reason: 'InstallFailed', what }),
    );
  }
}

/** Runs the project's build, and the agent server's preparation, which would otherwise run at its start. */
async function runProjectBuild(
  config: ImageBuildConfig,
  plan: BuildPlan,
  settings: GxJson,
  bench: Workbench,
): Promise<void> {
  const { source } = getWorkPaths(config.work);
  const folder = path.join(source, plan.folder);
  const listMissingFiles = (): string[] =>
    listNamedFiles(settings).filter((file) => !isFileThere(path.resolve(folder, file)));
  const toBuild =
    config.buildCommand === undefined && listMissingFiles().length > 0
      ? findBuildFolder(source, plan.folder)
      : undefined;
  if (config.buildCommand !== undefined) {
    const run = config.buildCommand;
    await step('build', () =>
      bench.task({ run, folder, prefix: 'build', reason: 'BuildFailed', what: 'build_command' }),
    );
  } else if (toBuild !== undefined) {
    const run = [plan.projects[0]?.manager.program ?? 'npm', 'run', 'build'] as const;
    const task = {
      run,
      folder: path.join(source, toBuild),
      prefix: 'build',
      reason: 'BuildFailed',
      what: `"${run.join(' ')}"`,
    } as const;
    await step('build', () => bench.task(task));
  }
  const [absent] = listMissingFiles();
  if (absent !== undefined)
    throw new StageFailed(
      'BuildFailed',
      `${plan.configFile} names ${absent}, which does not exist after the build: set build_command to the command that makes it.`,
    );
  writeAbsentEnv(folder, settings);
  const run = [
    process.execPath,
    path.join(import.meta.dirname, '..', 'main.ts'),
    'agent-build',
  ] as const;
  const env = {
    GX_CONFIG: path.join(source, plan.configFile),
    GX_BUILD_FOLDER: path.join(source, BUILD_FOLDER),
  };
  const task = {
    run,
    folder,
    prefix: 'agent-build',
    reason: 'BuildFailed',
    what: 'agent-build',
    show: parseLogMessage,
  } as const;
  await step('agent-build', () => bench.task(task, env));
  rmSync(path.join(source, DEBIAN_BILL), { force: true });
}

/** The bill of Debian's packages is this machine's. That of the image is in its base, below /usr/share/gx/sbom. */
const DEBIAN_BILL = path.join(BUILD_FOLDER, 'sbom', 'debian.cdx.json');

const parseLogMessage = (line: string): string =>
  (parseJsonOr(line, {}) as { msg?: string } | null)?.msg ?? line;

/** Repositories leave out the file of `env`, because it holds secrets; those of the deployment take its place. */
function writeAbsentEnv(folder: string, { env }: GxJson): void {
  if (typeof env !== 'string' || existsSync(path.resolve(folder, env))) return;
  logLine(
    `"env" names ${env}, which the repository does not have: the deployment's secrets take its place`,
  );
  writeFileSync(path.resolve(folder, env), '');
}

async function writeSource(
  config: ImageBuildConfig,
  before: ReturnType<typeof readPackageSignatures>,
): Promise<void> {
  const { source, image } = getWorkPaths(config.work);
  await writeLayer(path.join(image, SOURCE_FILE), source, listSourceEntries(source, before));
}
