import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../config/jobs/image-build.ts';
import { toError } from '../errors.ts';
import type { PushedImage } from '../schema/wire/build-message.ts';
import { readBuiltLayers, readStageLayer, toImageSettings, type OwnLayer } from './built-layers.ts';
import { applyBaseImage } from './packages/base.ts';
import { LAYER_FILES } from './packages/package-layers.ts';
import type { AskRegistry } from './registry/client.ts';
import { buildImageConfig, toLayerType, type ImageConfig } from './registry/image-config.ts';
import {
  ensureBlob,
  computeDigest,
  OWN_ARCHITECTURE,
  putManifest,
  readBlob,
  type BaseManifest,
  type Descriptor,
} from './registry/images.ts';
import { OCI_MANIFEST, getImageVersion, type ImageReference } from './registry/reference.ts';
import {
  ANNOTATIONS,
  buildRegistryClient,
  fetchBaseImage,
  requireImageReference,
} from './registries.ts';
import type { Restored } from './restore.ts';
import { logLine, step } from './progress.ts';
import { getTrustedPaths, readStageJson, type Cloned } from './work.ts';

/**
 * Puts the layers onto the base image and pushes them. Layers that the registry has already are not sent.
 * Its requests to the registry come from its settings, from `kept` and from the layers: all else may be forged.
 */
export async function push(given: ImageBuildConfig, signal: AbortSignal): Promise<PushedImage> {
  const kept = getTrustedPaths(given);
  const restored = readStageJson<Restored>(kept.plan);
  const config = applyBaseImage({ python: restored.plan.python !== undefined }, given);
  const to = requireImageReference(config.image, 'GX_IMAGE');
  const cache =
    config.cacheImage === undefined
      ? undefined
      : requireImageReference(config.cacheImage, 'GX_CACHE_IMAGE');
  const { key } = restored.plan;
  const cloned = readStageJson<Cloned>(kept.commit);
  const commit = config.git.commit ?? cloned.commit;
  const ask = buildRegistryClient(config, signal);
  const base = await fetchBaseImage(ask, config);
  const layers = await step('digests of the layers', () => readBuiltLayers(config, restored));
  await step('push layers', async () => {
    let sent = 0;
    for (const descriptor of base.manifest.layers)
      sent += await ensureBlob(ask, to, descriptor, { from: base.place });
    for (const { layer, file } of layers)
      sent += await ensureBlob(ask, to, layer, { file, ...(cache && { near: [cache] }) });
    logLine(`${(sent / 1_000_000).toFixed(1)} MB of layers sent`);
  });
  const labels = { ...buildImageLabels(config, commit), ...(key && { 'dev.gx.packages': key }) };
  const added = layers.map(({ layer, holds }) => ({ diffId: layer.diffId, holds }));
  const baseConfig = (await (
    await readBlob(ask, base.place, base.manifest.config.digest)
  ).json()) as ImageConfig;
  const own = buildImageConfig(baseConfig, {
    layers: added,
    ...toImageSettings(restored.plan),
    labels,
    created: cloned.at,
  });
  const digest = await step('push manifest', () =>
    pushManifest(ask, to, base.manifest, layers, own),
  );
  logLine(`pushed ${formatImageName(to)}:${getImageVersion(to)} as ${digest}`);
  const isRestored = restored.packages !== undefined;
  if (cache !== undefined && key !== undefined && !isRestored)
    await tryKeepPackages(() => keepPackages(ask, cache, config, key, to));
  return {
    image: `${formatImageName(to)}@${digest}`,
    commit,
    digest,
    builder: readBuilderVersion(),
    restored: isRestored,
    architecture: OWN_ARCHITECTURE,
  };
}

const formatImageName = ({ host, repository }: ImageReference): string => `${host}/${repository}`;

async function pushManifest(
  ask: AskRegistry,
  to: ImageReference,
  base: BaseManifest,
  layers: readonly OwnLayer[],
  config: ImageConfig,
): Promise<string> {
  const bytes = new Uint8Array(Buffer.from(JSON.stringify(config)));
  const own: Descriptor = {
    mediaType: base.config.mediaType,
    digest: computeDigest(bytes),
    size: bytes.length,
  };
  await ensureBlob(ask, to, own, { bytes });
  const mediaType = toLayerType(base.mediaType);
  return putManifest(ask, to, to.tag ?? 'latest', {
    schemaVersion: 2,
    mediaType: base.mediaType,
    config: own,
    layers: [
      ...base.layers,
      ...layers.map(({ layer: { digest, size } }) => ({ mediaType, digest, size })),
    ],
  });
}

async function keepPackages(
  ask: AskRegistry,
  to: ImageReference,
  config: ImageBuildConfig,
  key: string,
  pushed: ImageReference,
): Promise<void> {
  const layers: Descriptor[] = [];
  for (const role of ['production', 'development'] as const) {
    const left = await readStageLayer(config, LAYER_FILES[role]);
    if (left === undefined) continue;
    const { layer, file } = left;
    await ensureBlob(ask, to, layer, { file, near: [pushed] });
    const annotations = { [ANNOTATIONS.role]: role, [ANNOTATIONS.diffId]: layer.diffId };
    layers.push({
      mediaType: toLayerType(OCI_MANIFEST),
      digest: layer.digest,
      size: layer.size,
      annotations,
    });
  }
  if (layers.length === 0) return;
  const empty = new Uint8Array(Buffer.from('{}'));
  const none: Descriptor = {
    mediaType: 'application/vnd.oci.empty.v1+json',
    digest: computeDigest(empty),
    size: empty.length,
  };
  await ensureBlob(ask, to, none, { bytes: empty });
  const artifactType = 'application/vnd.gx.packages.v1+json';
  await putManifest(ask, to, key, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType,
    config: none,
    layers,
  });
}

/** The image is pushed by now, so that a failure here only costs the next build its time. */
async function tryKeepPackages(work: () => Promise<void>): Promise<void> {
  try {
    await step('keep packages', work);
  } catch (thrown) {
    logLine(`the packages are not kept for the next build: ${toError(thrown).message}`);
  }
}

export function buildImageLabels(
  { git }: ImageBuildConfig,
  commit: string,
): Record<string, string> {
  return {
    'org.opencontainers.image.revision': commit,
    ...(git.url === undefined ? {} : { 'org.opencontainers.image.source': git.url }),
    'dev.gx.builder': readBuilderVersion(),
  };
}

/** Returns the version of this builder. */
export function readBuilderVersion(): string {
  const file = path.join(import.meta.dirname, '..', '..', 'package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
