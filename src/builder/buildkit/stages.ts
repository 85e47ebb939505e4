import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { toError, StageFailed } from '../../errors.ts';
import type { PushedImage } from '../../schema/wire/build-message.ts';
import { requireStageFile } from '../built-layers.ts';
import { applyAgentBaseImage } from '../packages/plan.ts';
import { readBuilderVersion, buildImageLabels } from '../push.ts';
import type { AskRegistry } from '../registry/client.ts';
import type { ImageReference } from '../registry/reference.ts';
import { buildRegistryClient, requireImageReference } from '../registries.ts';
import { logLine, step } from '../progress.ts';
import { keepJson, getTrustedPaths, readStageJson, getWorkPaths, type Cloned } from '../work.ts';
import { BASE_NAME, writeRecipe } from './recipe.ts';
import { OWN_ARCHITECTURE } from '../registry/images.ts';
import { fetchImage, pushFolder } from './image-folders.ts';
import { runBuildkit } from './daemon.ts';

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
