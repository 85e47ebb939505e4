import { existsSync, mkdirSync, rmSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/image-build.ts';
import { toError, StageFailed } from '../../errors.ts';
import type { PushedImage } from '../../schema/wire/build-message.ts';
import { requireStageFile } from '../built-layers.ts';
import { applyAgentBaseImage } from '../packages/plan.ts';
import { readBuilderVersion, buildImageLabels } from '../push.ts';
import type { AskRegistry } from '../registry/client.ts';
import { type ImageReference, OCI_MANIFEST, parseImageReference } from '../registry/reference.ts';
import { buildRegistryClient, requireImageReference } from '../registries.ts';
import { logLine, step } from '../progress.ts';
import { keepJson, getTrustedPaths, readStageJson, getWorkPaths, type Cloned } from '../work.ts';
import { BASE_NAME, writeRecipe } from './recipe.ts';
import {
  ensureBlob,
  fetchBlob,
  OWN_ARCHITECTURE,
  putManifest,
  readManifest,
  type Manifest,
} from '../registry/images.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { runProgram, type ProgramEnd } from '../command.ts';
import { AUTHORITIES } from './dockerfile.ts';
import { formatDaemonSettings, buildSolveFailure, hasOwnUsers } from './output.ts';

/** Folders of a build with BuildKit, below that of all stages: it writes locks beside the images that it is given. */
const getFolders = (work: string) => {
  const getFolder = (name: string): string => path.join(work, 'buildkit', name);
  return {
    all: getFolder('.'),
    base: getFolder('base'),
    cache: getFolder('cache'),
    image: getFolder('image'),
    kept: getFolder('kept'),
    state: getFolder('state'),
  };
};

/** The report to the stages that follow. */
type Fetched = { base: string; baseImage: string; cached: boolean };
/** The tag of the layers that BuildKit keeps for the next build of the same deployment. */
const CACHE_TAG = 'buildkit';

/** Fetches BuildKit's inputs: the base image, and the layers that it kept of an earlier build. It runs no user code. */
export async function restoreForBuildkit(
  given: ImageBuildConfig,
  signal: AbortSignal,
): Promise<undefined> {
  const config = applyAgentBaseImage(given);
  const folders = getFolders(config.work);
  rmSync(folders.all, { recursive: true, force: true });
  mkdirSync(folders.all, { recursive: true });
  if (writeRecipe(config, BASE_NAME) === undefined)
    throw new StageFailed(
      'BuildFailed',
      'gx.json asks for no Dockerfile: deploy the commit again.',
    );
  const ask = buildRegistryClient(config, signal);
  const place = requireImageReference(config.baseImage, 'GX_BASE_IMAGE');
  const base = await step('fetch the base image', () => fetchImage(ask, place, folders.base));
  if (base === undefined)
    throw new StageFailed(
      'PushFailed',
      `The base image ${config.baseImage} is not in its registry: copy it there.`,
    );
  const cached = await step('look for layers of an earlier build', () =>
    fetchCache(ask, parseCacheReference(config), folders.cache),
  );
  const fetched: Fetched = { base, baseImage: config.baseImage ?? '', cached };
  keepJson(getTrustedPaths(config).fetched, fetched);
}

const parseCacheReference = ({ cacheImage }: ImageBuildConfig): ImageReference | undefined =>
  cacheImage === undefined
    ? undefined
    : { ...requireImageReference(cacheImage, 'GX_CACHE_IMAGE'), tag: CACHE_TAG };

/** An earlier build's layers never fail a build: if they can't be used, everything is built again. */
async function fetchCache(
  ask: AskRegistry,
  place: ImageReference | undefined,
  folder: string,
): Promise<boolean> {
  try {
    return place !== undefined && (await fetchImage(ask, place, folder)) !== undefined;
  } catch (thrown) {
    logLine(`layers of an earlier build are not used: ${toError(thrown).message}`);
    rmSync(folder, { recursive: true, force: true });
    return false;
  }
}

/** Runs the Dockerfile. No credential is in this container, and none is given to BuildKit. */
export async function buildWithBuildkit(
  config: ImageBuildConfig,
  signal: AbortSignal,
): Promise<undefined> {
  const folders = getFolders(config.work);
  const { base, cached } = readStageJson<Fetched>(getTrustedPaths(config).fetched);
  const { source } = getWorkPaths(config.work);
  const { dockerfile, commit } = getTrustedPaths(config);
  const labels = buildImageLabels(
    config,
    config.git.commit ?? readStageJson<Cloned>(commit).commit,
  );
  await runBuildkit(
    { config, signal, folders, labels },
    {
      context: source,
      dockerfile,
      base: { folder: folders.base, digest: base },
      ...(cached && { cache: folders.cache }),
    },
  );
  if (!existsSync(path.join(folders.image, 'index.json')))
    throw new StageFailed('BuildFailed', 'BuildKit left no image.');
  // Files that only BuildKit needs take room that the next stage may need.
  for (const folder of [folders.state, folders.cache])
    rmSync(folder, { recursive: true, force: true });
}

/** Pushes BuildKit's image, and the layers that it keeps for the next build. */
export async function pushFromBuildkit(
  config: ImageBuildConfig,
  signal: AbortSignal,
): Promise<PushedImage> {
  const folders = getFolders(config.work);
  const to = requireImageReference(config.image, 'GX_IMAGE');
  const ask = buildRegistryClient(config, signal);
  const cloned = readStageJson<Cloned>(getTrustedPaths(config).commit);
  const { baseImage, cached } = readStageJson<Fetched>(getTrustedPaths(config).fetched);
  const requireTrusted = (file: string): string => requireStageFile(config.work, file);
  const base = requireImageReference(baseImage, 'GX_BASE_IMAGE');
  const { digest, sent } = await step('push layers', () =>
    pushFolder(ask, folders.image, { to, near: [base], trusted: requireTrusted }),
  );
  logLine(`${(sent / 1_000_000).toFixed(1)} MB of layers sent`);
  const cache = parseCacheReference(config);
  if (cache !== undefined)
    await tryKeepLayers(() =>
      pushFolder(ask, folders.kept, { to: cache, near: [to], trusted: requireTrusted }),
    );
  const commit = config.git.commit ?? cloned.commit;
  return {
    image: `${to.host}/${to.repository}@${digest}`,
    commit,
    digest,
    builder: readBuilderVersion(),
    restored: cached,
    architecture: OWN_ARCHITECTURE,
  };
}

/** The image is pushed by now, so that a failure here only costs the next build its time. */
async function tryKeepLayers(work: () => Promise<unknown>): Promise<void> {
  try {
    await step('keep layers', work);
  } catch (thrown) {
    logLine(`layers are not kept for the next build: ${toError(thrown).message}`);
  }
}

/*
 * Images in folders (OCI image-spec, image-layout.md), which is how BuildKit gets and gives them: it never asks a
 * registry with a credential of ours.
 */

const getBlobPath = (folder: string, digest: string): string =>
  path.join(folder, 'blobs', 'sha256', digest.replace('sha256:', ''));

/** Fetches an image into a folder, and returns its digest; undefined where the registry has none. */
async function fetchImage(
  ask: AskRegistry,
  place: ImageReference,
  folder: string,
): Promise<string | undefined> {
  const found = await readManifest(ask, place);
  if (found === undefined) return undefined;
  const { manifest, digest, bytes } = found;
  mkdirSync(path.join(folder, 'blobs', 'sha256'), { recursive: true });
  for (const blob of [manifest.config, ...manifest.layers])
    if (
      !existsSync(getBlobPath(folder, blob.digest)) &&
      !(await fetchBlob(ask, place, blob.digest, getBlobPath(folder, blob.digest)))
    )
      throw new StageFailed(
        'PushFailed',
        `The registry ${place.host} sent another layer than ${blob.digest}: try again.`,
      );
  writeFileSync(getBlobPath(folder, digest), bytes);
  const annotations = { 'org.opencontainers.image.ref.name': 'latest' };
  const described = { mediaType: manifest.mediaType, digest, size: bytes.length, annotations };
  writeFileSync(path.join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(
    path.join(folder, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [described] }),
  );
  return digest;
}

/**
 * Pushes the image of a folder, and returns its digest and how many bytes were sent. `trusted` returns a path, unless
 * the file is not the one that BuildKit wrote there.
 */
async function pushFolder(
  ask: AskRegistry,
  folder: string,
  {
    to,
    near,
    trusted,
  }: { to: ImageReference; near: readonly ImageReference[]; trusted: (file: string) => string },
): Promise<{ digest: string; sent: number }> {
  const readJson = <T>(file: string): T => JSON.parse(readFileSync(trusted(file), 'utf8')) as T;
  const [described] = readJson<{ manifests: { digest: string; mediaType: string }[] }>(
    path.join(folder, 'index.json'),
  ).manifests;
  if (described === undefined || !/^sha256:[0-9a-f]{64}$/.test(described.digest))
    throw new StageFailed('PushFailed', 'The build left no image.');
  const manifest = readJson<Manifest>(getBlobPath(folder, described.digest));
  let sent = 0;
  for (const blob of [...manifest.layers, manifest.config]) {
    if (!/^sha256:[0-9a-f]{64}$/.test(blob.digest))
      throw new StageFailed(
        'PushFailed',
        `The image has a layer without a digest: ${blob.digest}.`,
      );
    sent += await ensureBlob(ask, to, blob, {
      file: trusted(getBlobPath(folder, blob.digest)),
      near,
    });
  }
  const digest = await putManifest(ask, to, to.tag ?? 'latest', {
    ...manifest,
    mediaType: manifest.mediaType ?? OCI_MANIFEST,
  });
  return { digest, sent };
}

type Setting = {
  config: ImageBuildConfig;
  signal: AbortSignal;
  folders: { state: string; image: string; kept: string };
  labels: Record<string, string>;
};
type Solving = {
  context: string;
  dockerfile: string;
  base: { folder: string; digest: string };
  cache?: string;
};

/** Milliseconds between two looks whether the daemon answers, and how often it is looked. */
const LOOK = 200;
const LOOKS = 150;

async function runBuildkit(setting: Setting, solving: Solving): Promise<void> {
  const { config, signal, folders } = setting;
  if (!hasOwnUsers(readFileSync('/proc/self/uid_map', 'utf8')))
    throw new StageFailed(
      'UserNamespacesOff',
      'The pod of this build has no users of its own (hostUsers: false had no effect), so the lines of a Dockerfile are not run: turn user namespaces on, or build without a Dockerfile.',
    );
  mkdirSync(folders.state, { recursive: true });
  const settings = path.join(folders.state, 'buildkitd.toml');
  writeFileSync(settings, formatDaemonSettings(config.registry.insecure ? listHosts(config) : []));
  const socket = `unix://${path.join(folders.state, 'buildkitd.sock')}`;
  const env = { PATH: config.path, HOME: folders.state, ...buildNetworkEnv(config) };
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const run = [
    'buildkitd',
    '--config',
    settings,
    '--root',
    folders.state,
    '--addr',
    socket,
    '--oci-worker-binary',
    'runc',
  ] as const;
  const daemon = runProgram({ run, folder: '/', env, signal: stop }).catch((error: unknown) => ({
    code: 1,
    output: '',
    last: toError(error).message,
  }));
  try {
    await step('start BuildKit', () => waitForDaemon(socket, env, { daemon, signal }));
    const end = await step('run the Dockerfile', () =>
      runProgram({
        run: ['buildctl', '--addr', socket, ...buildArguments(setting, solving)],
        folder: '/',
        env,
        prefix: 'build',
        signal,
      }),
    );
    if (end.code !== 0) throw buildSolveFailure(end);
  } finally {
    over.abort();
    await daemon;
  }
}

const listHosts = ({ image, cacheImage, baseImage }: ImageBuildConfig): string[] => [
  ...new Set(
    [image, cacheImage, baseImage].flatMap((name) =>
      name === undefined ? [] : (parseImageReference(name)?.host ?? []),
    ),
  ),
];

/** BuildKit is written in Go, which looks for certificates in folders. */
function buildNetworkEnv({ network }: ImageBuildConfig): Record<string, string> {
  const { NODE_EXTRA_CA_CERTS: authorities, ...others } = network;
  return {
    ...others,
    ...(authorities && { SSL_CERT_DIR: `/etc/ssl/certs:${path.dirname(authorities)}` }),
  };
}

type Waiting = { daemon: Promise<ProgramEnd>; signal: AbortSignal };

async function waitForDaemon(
  socket: string,
  env: Record<string, string>,
  { daemon, signal }: Waiting,
): Promise<void> {
  let ended: ProgramEnd | undefined;
  for (let look = 0; look < LOOKS; look++) {
    const { code } = await runProgram({
      run: ['buildctl', '--addr', socket, 'debug', 'workers'],
      folder: '/',
      env,
      signal,
    });
    if (code === 0) return;
    ended = (await Promise.race([daemon, wait(LOOK, undefined, { signal })])) ?? undefined;
    if (ended !== undefined) break;
  }
  logLine(ended?.output ?? '');
  throw new StageFailed(
    'BuildFailed',
    `BuildKit did not start. Its last lines: ${ended?.last ?? 'none'}`,
  );
}

function buildArguments(
  { config, folders, labels }: Setting,
  { context, dockerfile, base, cache }: Solving,
): string[] {
  const authorities = config.network['NODE_EXTRA_CA_CERTS'];
  const buildOption = (text: string): string[] => ['--opt', text];
  return [
    'build',
    '--progress=plain',
    '--frontend',
    'dockerfile.v0',
    '--local',
    `context=${context}`,
    '--local',
    `dockerfile=${path.dirname(dockerfile)}`,
    ...buildOption(`filename=${path.basename(dockerfile)}`),
    '--oci-layout',
    `gx-base=${base.folder}`,
    ...buildOption(`context:${BASE_NAME}=oci-layout://gx-base@${base.digest}`),
    ...buildOption(`build-arg:AGENT_SERVER=${BASE_NAME}`),
    ...Object.entries(labels).flatMap(([name, value]) => buildOption(`label:${name}=${value}`)),
    ...(authorities === undefined ? [] : ['--secret', `id=${AUTHORITIES.id},src=${authorities}`]),
    ...(cache === undefined ? [] : ['--import-cache', `type=local,src=${cache}`]),
    '--output',
    `type=oci,dest=${folders.image},tar=false`,
    '--export-cache',
    `type=local,dest=${folders.kept},mode=max`,
  ];
}
