import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../config/image-build.ts';
import { asError, StageFailed } from '../errors.ts';
import type { PushedImage } from '../schema/build-message.ts';
import { BUILT_FILE, SOURCE_FILE, type BuiltAgent } from './build.ts';
import type { Layer } from './layers/layer.ts';
import { LAYER_FILES } from './packages/package-layers.ts';
import type { AskRegistry } from './registry/client.ts';
import { configOf, layerType, type ImageConfig } from './registry/image-config.ts';
import { bringBlob, digestOfBytes, putManifest, readBlob, type BaseManifest, type Descriptor } from './registry/images.ts';
import { OCI_MANIFEST, versionOf, type ImageReference } from './registry/reference.ts';
import { ANNOTATIONS, asker, baseOf, required } from './registries.ts';
import { say, step } from './told.ts';
import { keptJson, placesIn, type Cloned } from './work.ts';

export type OwnLayer = { layer: Layer; file: string; holds: string };

/** Puts the layers onto the base image and pushes them. Layers that the registry has already are not sent. */
export async function push(config: ImageBuildConfig, signal: AbortSignal): Promise<PushedImage> {
  const { image, commit: commitFile } = placesIn(config.work);
  const to = required(config.image, 'GX_IMAGE');
  const cache = config.cacheImage === undefined ? undefined : required(config.cacheImage, 'GX_CACHE_IMAGE');
  const built = keptJson<BuiltAgent>(ownFile(config.work, path.join(image, BUILT_FILE)));
  const cloned = keptJson<Cloned>(ownFile(config.work, commitFile));
  const commit = config.git.commit ?? cloned.commit;
  const ask = asker(config, signal);
  const base = await baseOf(ask, config);
  const layers = ownLayers(config.work, built);
  await step('push layers', async () => {
    let sent = 0;
    for (const descriptor of base.manifest.layers) sent += await bringBlob(ask, to, descriptor, { from: base.place });
    for (const { layer, file } of layers) sent += await bringBlob(ask, to, layer, { file, ...(cache && { near: [cache] }) });
    say(`${(sent / 1_000_000).toFixed(1)} MB of layers sent`);
  });
  const labels = { ...labelsOf(config, commit), ...(built.key && { 'dev.gx.packages': built.key }) };
  const added = layers.map(({ layer, holds }) => ({ diffId: layer.diffId, holds }));
  const baseConfig = (await (await readBlob(ask, base.place, base.manifest.config.digest)).json()) as ImageConfig;
  const own = configOf(baseConfig, { layers: added, env: built.env, workdir: built.workdir, labels, created: cloned.at });
  const digest = await step('push manifest', () => pushManifest(ask, to, { base: base.manifest, layers, config: own }));
  say(`pushed ${nameOf(to)}:${versionOf(to)} as ${digest}`);
  if (cache !== undefined && !built.restored) await kept(() => keepPackages(ask, cache, { built, work: config.work, pushed: to }));
  return { image: `${nameOf(to)}@${digest}`, commit, digest, builder: builderVersion(), restored: built.restored };
}

const nameOf = ({ host, repository }: ImageReference): string => `${host}/${repository}`;

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
      `${path.basename(file)} is not the file that the builder wrote: no command may change what lies in ${work}/image.`,
    );
  return file;
}

/** Returns the layers of the build, from the bottom up, and their files. */
export function ownLayers(work: string, { packages, source, restored }: BuiltAgent): OwnLayer[] {
  const { image, cache } = placesIn(work);
  const { production } = packages;
  return [
    ...(production === undefined
      ? []
      : [{ layer: production, file: ownFile(work, path.join(restored ? cache : image, LAYER_FILES.production)), holds: 'packages' }]),
    { layer: source, file: ownFile(work, path.join(image, SOURCE_FILE)), holds: 'source' },
  ];
}

type NewImage = { base: BaseManifest; layers: readonly OwnLayer[]; config: ImageConfig };

async function pushManifest(ask: AskRegistry, to: ImageReference, { base, layers, config }: NewImage): Promise<string> {
  const bytes = new Uint8Array(Buffer.from(JSON.stringify(config)));
  const own: Descriptor = { mediaType: base.config.mediaType, digest: digestOfBytes(bytes), size: bytes.length };
  await bringBlob(ask, to, own, { bytes });
  const mediaType = layerType(base.mediaType);
  return putManifest(ask, to, to.tag ?? 'latest', {
    schemaVersion: 2,
    mediaType: base.mediaType,
    config: own,
    layers: [...base.layers, ...layers.map(({ layer: { digest, size } }) => ({ mediaType, digest, size }))],
  });
}

type Keeping = { built: BuiltAgent; work: string; pushed: ImageReference };

/** Keeps the packages for the builds to come. */
async function keepPackages(ask: AskRegistry, to: ImageReference, { built: { packages, key }, work, pushed }: Keeping): Promise<void> {
  if (key === undefined) return;
  const layers: Descriptor[] = [];
  for (const role of ['production', 'development'] as const) {
    const layer = packages[role];
    if (layer === undefined) continue;
    const file = ownFile(work, path.join(placesIn(work).image, LAYER_FILES[role]));
    await bringBlob(ask, to, layer, { file, near: [pushed] });
    const annotations = { [ANNOTATIONS.role]: role, [ANNOTATIONS.diffId]: layer.diffId };
    layers.push({ mediaType: layerType(OCI_MANIFEST), digest: layer.digest, size: layer.size, annotations });
  }
  if (layers.length === 0) return;
  const empty = new Uint8Array(Buffer.from('{}'));
  const none: Descriptor = { mediaType: 'application/vnd.oci.empty.v1+json', digest: digestOfBytes(empty), size: empty.length };
  await bringBlob(ask, to, none, { bytes: empty });
  const artifactType = 'application/vnd.gx.packages.v1+json';
  await putManifest(ask, to, key, { schemaVersion: 2, mediaType: OCI_MANIFEST, artifactType, config: none, layers });
}

/** The image is pushed by now, so that a failure here only costs the next build its time. */
async function kept(work: () => Promise<void>): Promise<void> {
  try {
    await step('keep packages', work);
  } catch (thrown) {
    say(`the packages are not kept for the next build: ${asError(thrown).message}`);
  }
}

export function labelsOf({ git }: ImageBuildConfig, commit: string): Record<string, string> {
  return {
    'org.opencontainers.image.revision': commit,
    ...(git.url === undefined ? {} : { 'org.opencontainers.image.source': git.url }),
    'dev.gx.builder': builderVersion(),
  };
}

/** Returns the version of this builder. */
export function builderVersion(): string {
  const file = path.join(import.meta.dirname, '..', '..', 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
