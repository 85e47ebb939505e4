import { lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../config/image-build.ts';
import { StageFailed } from '../errors.ts';
import { layerOf, type Layer } from './layers/layer.ts';
import { imageSettings } from './packages/image-environment.ts';
import { LAYER_FILES } from './packages/package-layers.ts';
import type { BuildPlan } from './packages/plan.ts';
import type { Restored } from './restore.ts';
import { keptIn, placesIn } from './work.ts';

/** A layer that goes on top of the base image. The image's history names its contents, `holds`. */
export type OwnLayer = { layer: Layer; file: string; holds: string };

export const SOURCE_FILE = 'source.tar.gz';

/**
 * Returns the path of a file that an earlier stage wrote. Commands of the repository's author could write there, too,
 * and a link would lead to the registry's credential, which would be pushed as a layer.
 */
export function ownFile(work: string, file: string): string {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new StageFailed('PushFailed', `The stage before left no ${path.basename(file)}.`);
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
export async function builtLayers(config: ImageBuildConfig, { packages }: Restored): Promise<OwnLayer[]> {
  const { image } = placesIn(config.work);
  const file = path.join(keptIn(config).cache, LAYER_FILES.production);
  const production = packages === undefined ? await leftLayer(config, LAYER_FILES.production) : layerIn(packages.production, file);
  const source = ownFile(config.work, path.join(image, SOURCE_FILE));
  return [
    ...(production === undefined ? [] : [{ ...production, holds: 'packages' }]),
    { layer: await layerOf(source), file: source, holds: 'source' },
  ];
}

const layerIn = (layer: Layer | undefined, file: string): Omit<OwnLayer, 'holds'> | undefined => layer && { layer, file };

/** Returns a layer that the stage before wrote; undefined if it wrote none of that name. */
export async function leftLayer({ work }: ImageBuildConfig, name: string): Promise<Omit<OwnLayer, 'holds'> | undefined> {
  const place = path.join(placesIn(work).image, name);
  if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return undefined;
  const file = ownFile(work, place);
  return { layer: await layerOf(file), file };
}

/** Returns the additions to the base's configuration. */
export const settingsOfImage = ({ python, ...plan }: BuildPlan): ReturnType<typeof imageSettings> =>
  imageSettings({ ...plan, python: python !== undefined });
