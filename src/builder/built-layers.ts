import { lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../config/jobs/image-build.ts';
import { StageFailed } from '../errors.ts';
import { readLayer, type Layer } from './layers/layer.ts';
import { buildImageSettings } from './packages/image-environment.ts';
import { LAYER_FILES } from './packages/package-layers.ts';
import type { BuildPlan } from './packages/plan.ts';
import type { Restored } from './restore.ts';
import { getTrustedPaths, getWorkPaths } from './work.ts';

/** A layer that goes on top of the base image. The image's history names its contents, `holds`. */
export type OwnLayer = { layer: Layer; file: string; holds: string };

export const SOURCE_FILE = 'source.tar.gz';

/**
 * Returns the path of a file that an earlier stage wrote. Commands of the repository's author could write there, too,
 * and a link would lead to the registry's credential, which would be pushed as a layer.
 */
export function requireStageFile(work: string, file: string): string {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined)
    throw new StageFailed('PushFailed', `The previous stage left no ${path.basename(file)}.`);
  const expected = path.join(realpathSync(work), path.relative(work, file));
  if (!stats.isFile() || realpathSync(file) !== expected)
    throw new StageFailed(
      'PushFailed',
      `${path.basename(file)} is not the file that the builder wrote: no command may change the files in ${work}/image.`,
    );
  return file;
}

/**
 * Returns the layers of the build, from the bottom up. Packages that were restored are those that `restore` fetched.
 * Digests and sizes of all others are those of the files themselves, because the repository's commands ran beside them.
 */
export async function readBuiltLayers(
  config: ImageBuildConfig,
  { packages }: Restored,
): Promise<OwnLayer[]> {
  const { image } = getWorkPaths(config.work);
  const file = path.join(getTrustedPaths(config).cache, LAYER_FILES.production);
  const production =
    packages === undefined
      ? await readStageLayer(config, LAYER_FILES.production)
      : packages.production && { layer: packages.production, file };
  const source = requireStageFile(config.work, path.join(image, SOURCE_FILE));
  return [
    ...(production === undefined ? [] : [{ ...production, holds: 'packages' }]),
    { layer: await readLayer(source), file: source, holds: 'source' },
  ];
}

/** Returns a layer that the stage before wrote; undefined if it wrote none of that name. */
export async function readStageLayer(
  { work }: ImageBuildConfig,
  name: string,
): Promise<Omit<OwnLayer, 'holds'> | undefined> {
  const place = path.join(getWorkPaths(work).image, name);
  if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return undefined;
  const file = requireStageFile(work, place);
  return { layer: await readLayer(file), file };
}

/** Returns the additions to the base's configuration. */
export const toImageSettings = ({
  python,
  ...plan
}: BuildPlan): ReturnType<typeof buildImageSettings> =>
  buildImageSettings({ ...plan, python: python !== undefined });
