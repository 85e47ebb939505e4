import { existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/image-build.ts';
import { asError, StageFailed } from '../../errors.ts';
import type { PushedImage } from '../../schema/wire/build-message.ts';
import { ownFile } from '../built-layers.ts';
import { onOwnBase } from '../packages/plan.ts';
import { builderVersion, labelsOf } from '../push.ts';
import type { AskRegistry } from '../registry/client.ts';
import type { ImageReference } from '../registry/reference.ts';
import { asker, required } from '../registries.ts';
import { say, step } from '../progress.ts';
import { keepJson, keptIn, keptJson, placesIn, type Cloned } from '../work.ts';
import { fetchImage, pushFolder } from './image-folder.ts';
import { BASE_NAME, writeRecipe } from './recipe.ts';
import { solve } from './solve.ts';

/** Folders of a build with BuildKit, below that of all stages: it writes locks beside the images that it is given. */
const foldersIn = (work: string) => {
  const at = (name: string): string => path.join(work, 'buildkit', name);
  return { all: at('.'), base: at('base'), cache: at('cache'), image: at('image'), kept: at('kept'), state: at('state') };
};

/** The report to the stages that follow. */
type Fetched = { base: string; baseImage: string; cached: boolean };
/** The tag of the layers that BuildKit keeps for the next build of the same deployment. */
const CACHE_TAG = 'buildkit';

/** Fetches BuildKit's inputs: the base image, and the layers that it kept of an earlier build. It runs no user code. */
export async function restoreForBuildkit(given: ImageBuildConfig, signal: AbortSignal): Promise<undefined> {
  const config = onOwnBase(given);
  const folders = foldersIn(config.work);
  rmSync(folders.all, { recursive: true, force: true });
  mkdirSync(folders.all, { recursive: true });
  if (writeRecipe(config, BASE_NAME) === undefined)
    throw new StageFailed('BuildFailed', 'gx.json asks for no Dockerfile: deploy the commit again.');
  const ask = asker(config, signal);
  const place = required(config.baseImage, 'GX_BASE_IMAGE');
  const base = await step('fetch the base image', () => fetchImage(ask, place, folders.base));
  if (base === undefined) throw new StageFailed('PushFailed', `The base image ${config.baseImage} is not in its registry: copy it there.`);
  const cached = await step('look for layers of an earlier build', () => fetchCache(ask, cacheOf(config), folders.cache));
  const fetched: Fetched = { base, baseImage: config.baseImage ?? '', cached };
  keepJson(keptIn(config).fetched, fetched);
}

const cacheOf = ({ cacheImage }: ImageBuildConfig): ImageReference | undefined =>
  cacheImage === undefined ? undefined : { ...required(cacheImage, 'GX_CACHE_IMAGE'), tag: CACHE_TAG };

/** An earlier build's layers never fail a build: if they can't be used, everything is built again. */
async function fetchCache(ask: AskRegistry, place: ImageReference | undefined, folder: string): Promise<boolean> {
  try {
    return place !== undefined && (await fetchImage(ask, place, folder)) !== undefined;
  } catch (thrown) {
    say(`layers of an earlier build are not used: ${asError(thrown).message}`);
    rmSync(folder, { recursive: true, force: true });
    return false;
  }
}

/** Runs the Dockerfile. No credential is in this container, and none is given to BuildKit. */
export async function buildWithBuildkit(config: ImageBuildConfig, signal: AbortSignal): Promise<undefined> {
  const folders = foldersIn(config.work);
  const { base, cached } = keptJson<Fetched>(keptIn(config).fetched);
  const { source } = placesIn(config.work);
  const { dockerfile, commit } = keptIn(config);
  const labels = labelsOf(config, config.git.commit ?? keptJson<Cloned>(commit).commit);
  await solve(
    { config, signal, folders, labels },
    { context: source, dockerfile, base: { folder: folders.base, digest: base }, ...(cached && { cache: folders.cache }) },
  );
  if (!existsSync(path.join(folders.image, 'index.json'))) throw new StageFailed('BuildFailed', 'BuildKit left no image.');
  // Files that only BuildKit needs take room that the next stage may need.
  for (const folder of [folders.state, folders.cache]) rmSync(folder, { recursive: true, force: true });
}

/** Pushes BuildKit's image, and the layers that it keeps for the next build. */
export async function pushFromBuildkit(config: ImageBuildConfig, signal: AbortSignal): Promise<PushedImage> {
  const folders = foldersIn(config.work);
  const to = required(config.image, 'GX_IMAGE');
  const ask = asker(config, signal);
  const cloned = keptJson<Cloned>(keptIn(config).commit);
  const { baseImage, cached } = keptJson<Fetched>(keptIn(config).fetched);
  const trusted = (file: string): string => ownFile(config.work, file);
  const base = required(baseImage, 'GX_BASE_IMAGE');
  const { digest, sent } = await step('push layers', () => pushFolder(ask, folders.image, { to, near: [base], trusted }));
  say(`${(sent / 1_000_000).toFixed(1)} MB of layers sent`);
  const cache = cacheOf(config);
  if (cache !== undefined) await kept(() => pushFolder(ask, folders.kept, { to: cache, near: [to], trusted }));
  const commit = config.git.commit ?? cloned.commit;
  return { image: `${to.host}/${to.repository}@${digest}`, commit, digest, builder: builderVersion(), restored: cached };
}

/** The image is pushed by now, so that a failure here only costs the next build its time. */
async function kept(work: () => Promise<unknown>): Promise<void> {
  try {
    await step('keep layers', work);
  } catch (thrown) {
    say(`layers are not kept for the next build: ${asError(thrown).message}`);
  }
}
