import {
  mkdirSync,
  mkdtempSync,
  rmSync,
  copyFileSync,
  existsSync,
  lstatSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { Env } from '../../config/env.ts';
import { readImageBuildConfig, type ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { StartError, StageFailed } from '../../errors.ts';
import { writeRecipe } from '../buildkit/recipe.ts';
import { build } from '../build.ts';
import { buildPlanOf, applyAgentBaseImage } from '../packages/plan.ts';
import { push, buildImageLabels } from '../push.ts';
import type { Restored } from '../restore.ts';
import { logLine } from '../progress.ts';
import { keepJson, getTrustedPaths, getWorkPaths, type Cloned, readStageJson } from '../work.ts';
import { LOCAL_HELP, parseLocalOptions, type LocalOptions } from './options.ts';
import { runProgram, type ProgramEnd } from '../command.ts';
import { isOfPackages, readTree } from '../layers/tree.ts';
import { findProject } from '../packages/project.ts';
import { AUTHORITIES } from '../buildkit/dockerfile.ts';
import { readBuiltLayers, toImageSettings } from '../built-layers.ts';
import { buildRegistryClient, fetchBaseImage } from '../registries.ts';
import { buildImageConfig, toLayerType, type ImageConfig } from '../registry/image-config.ts';
import { computeDigest, fetchBlob, readBlob, type Descriptor } from '../registry/images.ts';
import { OCI_MANIFEST } from '../registry/reference.ts';

/** Makes an agent's image from a folder of this machine. Only the beginning and the end differ from the cluster's. */
export async function buildHere(args: string[], env: Env, signal: AbortSignal): Promise<void> {
  if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(LOCAL_HELP);
  const options = parseLocalOptions(args);
  const own = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const work = mkdtempSync(path.join(tmpdir(), 'gx-build-'));
  try {
    mkdirSync(getWorkPaths(work).source, { recursive: true });
    const { configPath, cloned } = await copyContext(options.config, work, own);
    const given = buildConfig(options, own, work, configPath);
    keepJson(getTrustedPaths(given).commit, cloned);
    const config = applyAgentBaseImage(given);
    const base = config.baseImage ?? options.base.javascript;
    const dockerfile = writeRecipe(config, base);
    if (dockerfile !== undefined)
      return await buildByDockerfile(dockerfile, config, options, base, own);
    const to = options.to ?? { engine: await findEngine(own) };
    const { plan } = buildPlanOf(config, base);
    const decided: Restored = { plan };
    keepJson(getTrustedPaths(config).plan, decided);
    await build(config, signal);
    const made = { config, restored: decided, cloned, tag: options.tag };
    if (to === 'registry') logLine(`pushed ${(await push(config, signal)).image}`);
    else if ('folder' in to) await writeLayout(path.resolve(to.folder), made, signal);
    else await loadInto(to.engine, made, own);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Settings of the builder that hold on this machine, too. */
const PASSED = ['GX_NPM_REGISTRY', 'GX_PYPI_INDEX'] as const;

function buildConfig(
  options: LocalOptions,
  env: Record<string, string>,
  work: string,
  configPath: string,
): ImageBuildConfig {
  const { tools } = readImageBuildConfig({});
  const credentials = env['DOCKER_CONFIG'] ?? path.join(homedir(), '.docker');
  const config = readImageBuildConfig({
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GX_'))),
    ...Object.fromEntries(
      PASSED.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
    ),
    GX_WORK_FOLDER: work,
    GX_CONFIG_PATH: configPath,
    GX_BASE_IMAGE: options.base.javascript,
    GX_PYTHON_BASE_IMAGE: options.base.python,
    GX_IMAGE: options.tag,
    GX_REGISTRY_CREDENTIALS: credentials,
    GX_REGISTRY_INSECURE: String(options.insecure),
    GX_BUILDER_TOOLS: env['GX_BUILDER_TOOLS'] ?? tools,
    ...(options.installCommand && { GX_INSTALL_COMMAND: options.installCommand }),
    ...(options.buildCommand && { GX_BUILD_COMMAND: options.buildCommand }),
  });
  if (config.configPath.startsWith('..'))
    throw new StartError('build-agent: --config leads out of its repository.');
  return config;
}

type Git = (...args: string[]) => Promise<ProgramEnd>;

/** Copies the files that git would have cloned into the build's folder, as they are now. */
async function copyContext(
  config: string,
  work: string,
  env: Record<string, string>,
): Promise<{
  /** The folder that a repository would have as its root. */
  root: string;
  /** The path of gx.json from there. */
  configPath: string;
  /** The commit that the folder stands on. */
  cloned: Cloned;
}> {
  const file = path.resolve(config);
  const folder = path.dirname(file);
  if (!existsSync(folder)) throw new StartError(`build-agent: there is no folder ${folder}.`);
  const runGit: Git = (...args) => runProgram({ run: ['git', ...args], folder, env });
  const top = await runGit('rev-parse', '--show-toplevel');
  const root = top.code === 0 ? top.output.trim() : findProjectRoot(folder);
  const names = top.code === 0 ? await listGitFiles(runGit, root) : listFolderFiles(root);
  const { source } = getWorkPaths(work);
  for (const name of names) copyEntry(path.join(root, name), path.join(source, name));
  const cloned = await readHeadCommit(runGit, top.code === 0);
  return { root, configPath: path.relative(root, file).split(path.sep).join('/'), cloned };
}

/** Returns the folder of the lock file or workspace, as far up as there is a package.json. */
function findProjectRoot(folder: string): string {
  const parts = folder.split(path.sep);
  const top = parts
    .map((_, at) => parts.slice(0, at + 1).join('/') || '/')
    .find((each) => each !== '/' && existsSync(path.join(each, 'package.json')));
  if (top === undefined) return folder;
  return path.join(
    top,
    findProject(top, path.relative(top, folder).split(path.sep).join('/'))?.folder ?? '',
  );
}

/** Returns the files that git follows, and those that are new and not ignored. Deleted files are still listed. */
async function listGitFiles(git: Git, root: string): Promise<string[]> {
  const { output } = await git(
    '-C',
    root,
    '-c',
    'core.quotePath=false',
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
  );
  return output
    .split('\n')
    .filter(
      (name) =>
        name !== '' && lstatSync(path.join(root, name), { throwIfNoEntry: false }) !== undefined,
    );
}

const listFolderFiles = (root: string): string[] =>
  readTree(root, (name) => isOfPackages(name) || name === '.git')
    .filter(({ kind }) => kind !== 'folder')
    .map(({ name }) => name);

function copyEntry(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true });
  const stats = lstatSync(from);
  if (stats.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
  // A submodule is a folder here, and is empty in a deployment, too.
  else if (stats.isFile()) copyFileSync(from, to);
}

async function readHeadCommit(git: Git, isRepository: boolean): Promise<Cloned> {
  const { code, output } = isRepository
    ? await git('show', '--no-patch', '--format=%H %cI', 'HEAD')
    : { code: 1, output: '' };
  if (code !== 0) return { commit: 'none', at: new Date(0).toISOString() };
  const [commit = '', at = ''] = output.trim().split(' ');
  const changed = (await git('status', '--porcelain')).output.trim() !== '';
  return { commit: changed ? `${commit}-changed` : commit, at: new Date(at).toISOString() };
}

/** Makes the image that gx.json wants from a Dockerfile, with an engine of this machine. */
async function buildByDockerfile(
  dockerfile: string,
  config: ImageBuildConfig,
  options: LocalOptions,
  base: string,
  env: Record<string, string>,
): Promise<void> {
  const { to, tag, insecure } = options;
  const engine =
    to !== undefined && typeof to === 'object' && 'engine' in to
      ? to.engine
      : await findEngine(env);
  const { source } = getWorkPaths(config.work);
  const labels = buildImageLabels(
    config,
    readStageJson<Cloned>(getTrustedPaths(config).commit).commit,
  );
  const authorities = config.network['NODE_EXTRA_CA_CERTS'];
  await requireSuccess(engine, env, [
    'build',
    ...(engine === 'buildah' ? ['--isolation', 'chroot', '--pull=false'] : []),
    '--file',
    dockerfile,
    '--tag',
    tag,
    '--build-arg',
    `AGENT_SERVER=${base}`,
    ...Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]),
    ...(authorities === undefined ? [] : ['--secret', `id=${AUTHORITIES.id},src=${authorities}`]),
    source,
  ]);
  if (to === 'registry')
    await requireSuccess(engine, env, [
      'push',
      ...(insecure && engine === 'buildah' ? ['--tls-verify=false'] : []),
      tag,
    ]);
  else if (to !== undefined && 'folder' in to) {
    if (engine !== 'buildah')
      throw new StartError(
        'build-agent: --output of an image with a Dockerfile needs buildah; Docker keeps its images itself.',
      );
    await requireSuccess(engine, env, ['push', tag, `oci:${path.resolve(to.folder)}`]);
  }
  logLine(`${tag} is an image of ${engine}`);
}

async function requireSuccess(
  engine: Engine,
  env: Record<string, string>,
  args: readonly string[],
): Promise<void> {
  const { code, last } = await runProgram({
    run: [engine, ...args],
    folder: '/',
    env: { DOCKER_BUILDKIT: '1', ...env },
    prefix: engine,
  });
  if (code !== 0)
    throw new StageFailed('BuildFailed', `"${engine} ${args[0]}" failed. Its last lines: ${last}`);
}

type MadeImage = { config: ImageBuildConfig; restored: Restored; cloned: Cloned; tag: string };
type Engine = 'docker' | 'buildah';

async function findEngine(env: Record<string, string>): Promise<Engine> {
  const isAnswering = async (run: readonly [string, ...string[]]): Promise<boolean> =>
    (await runProgram({ run, folder: '/', env })).code === 0;
  if (await isAnswering(['docker', 'version'])) return 'docker';
  if (await isAnswering(['buildah', 'version'])) return 'buildah';
  throw new StartError(
    'build-agent: neither Docker nor buildah answers here. Start one, or use --output or --push.',
  );
}

/** Puts the layers onto the engine's own copy of the base image. */
async function loadInto(
  engine: Engine,
  { config, restored, cloned, tag }: MadeImage,
  own: Record<string, string>,
): Promise<void> {
  const { image } = getWorkPaths(config.work);
  const { workdir, env } = toImageSettings(restored.plan);
  const labels = Object.entries(buildImageLabels(config, cloned.commit)).map(
    ([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`,
  );
  const lines = [
    `FROM ${config.baseImage}`,
    ...(await readBuiltLayers(config, restored)).map(({ file }) => `ADD ${path.basename(file)} /`),
    ...Object.entries(env).map(([name, value]) => `ENV ${name}=${JSON.stringify(value)}`),
    `WORKDIR ${JSON.stringify(workdir)}`,
    ...labels,
  ];
  writeFileSync(path.join(image, 'Dockerfile'), `${lines.join('\n')}\n`);
  const more = engine === 'buildah' ? ['--isolation', 'chroot'] : [];
  const run = [
    engine,
    'build',
    ...more,
    '--tag',
    tag,
    '--file',
    path.join(image, 'Dockerfile'),
    image,
  ] as const;
  const { code, last } = await runProgram({ run, folder: image, env: own, prefix: engine });
  if (code !== 0)
    throw new StageFailed(
      'BuildFailed',
      `${engine} could not put the layers onto ${config.baseImage}: ${last}`,
    );
  logLine(`${tag} is an image of ${engine}`);
}

/** Writes an OCI image layout (image-spec, image-layout.md). */
async function writeLayout(
  folder: string,
  { config, restored, cloned, tag }: MadeImage,
  signal: AbortSignal,
): Promise<void> {
  const ask = buildRegistryClient(config, signal);
  const base = await fetchBaseImage(ask, config);
  const blobs = path.join(folder, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const getBlobPath = (digest: string): string => path.join(blobs, digest.replace('sha256:', ''));
  const write = (mediaType: string, value: object): Descriptor => {
    const bytes = Buffer.from(JSON.stringify(value));
    writeFileSync(getBlobPath(computeDigest(bytes)), bytes);
    return { mediaType, digest: computeDigest(bytes), size: bytes.length };
  };
  for (const { digest } of base.manifest.layers)
    if (
      !existsSync(getBlobPath(digest)) &&
      !(await fetchBlob(ask, base.place, digest, getBlobPath(digest)))
    )
      throw new StageFailed(
        'PushFailed',
        `The registry of ${config.baseImage} sent another layer than ${digest}: try again.`,
      );
  const own = await readBuiltLayers(config, restored);
  for (const { layer, file } of own) copyFileSync(file, getBlobPath(layer.digest));
  const baseConfig = (await (
    await readBlob(ask, base.place, base.manifest.config.digest)
  ).json()) as ImageConfig;
  const added = own.map(({ layer, holds }) => ({ diffId: layer.diffId, holds }));
  const labels = buildImageLabels(config, cloned.commit);
  const image = buildImageConfig(baseConfig, {
    layers: added,
    ...toImageSettings(restored.plan),
    labels,
    created: cloned.at,
  });
  const layers = [
    ...base.manifest.layers.map(({ digest, size, mediaType }) => ({
      digest,
      size,
      mediaType: toOciType(mediaType),
    })),
    ...own.map(({ layer: { digest, size } }) => ({
      mediaType: toLayerType(OCI_MANIFEST),
      digest,
      size,
    })),
  ];
  const ofConfig = write('application/vnd.oci.image.config.v1+json', image);
  const manifest = write(OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: ofConfig,
    layers,
  });
  const named = {
    ...manifest,
    annotations: { 'org.opencontainers.image.ref.name': tag, 'io.containerd.image.name': tag },
  };
  writeFileSync(path.join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(
    path.join(folder, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [named] }),
  );
  logLine(`${tag} is an OCI image layout in ${folder}, as ${manifest.digest}`);
}

/** Docker's type of a layer under OCI's name. */
const toOciType = (type: string): string =>
  type === 'application/vnd.docker.image.rootfs.diff.tar.gzip' ? toLayerType(OCI_MANIFEST) : type;
