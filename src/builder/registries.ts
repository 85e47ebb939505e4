import type { ImageBuildConfig } from '../config/jobs/image-build.ts';
import { StageFailed } from '../errors.ts';
import { askRegistries, type AskRegistry } from './registry/client.ts';
import { readManifest, type BaseManifest } from './registry/images.ts';
import { parseImageReference, type ImageReference } from './registry/reference.ts';

/** Annotations of a layer of the cache: its role and its digest. */
export const ANNOTATIONS = { role: 'dev.gx.layer', diffId: 'dev.gx.diff-id' } as const;

/** Returns how the registries of this build are asked. Plain http is for the registry of the pushed image alone. */
export function buildRegistryClient(
  { image, cacheImage, registry }: ImageBuildConfig,
  signal: AbortSignal,
): AskRegistry {
  const hosts = [image, cacheImage].map((name) =>
    name === undefined ? undefined : parseImageReference(name)?.host,
  );
  const plainHosts = registry.insecure ? hosts.filter((host) => host !== undefined) : [];
  return askRegistries({ plainHosts, credentials: registry.credentials, signal });
}

/** Returns the base image of agents. */
export async function fetchBaseImage(
  ask: AskRegistry,
  { baseImage }: ImageBuildConfig,
): Promise<{ place: ImageReference; manifest: BaseManifest; digest: string }> {
  const place = requireImageReference(baseImage, 'GX_BASE_IMAGE');
  const found = await readManifest(ask, place);
  if (found === undefined)
    throw new StageFailed(
      'PushFailed',
      `The base image ${baseImage} is not in its registry: copy it there.`,
    );
  return { place, ...found };
}

/** Returns the reference that a setting names. */
export function requireImageReference(name: string | undefined, setting: string): ImageReference {
  const found = name === undefined ? undefined : parseImageReference(name);
  if (found === undefined)
    throw new StageFailed(
      'PushFailed',
      `${setting} is ${name === undefined ? 'not set' : `no name of an image: ${name}`}.`,
    );
  return found;
}
