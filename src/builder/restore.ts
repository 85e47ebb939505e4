import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../config/jobs/image-build.ts';
import { toError } from '../errors.ts';
import { LAYER_FILES, type PackageLayers } from './packages/package-layers.ts';
import { buildPlanOf, applyAgentBaseImage, type BuildPlan } from './packages/plan.ts';
import type { AskRegistry } from './registry/client.ts';
import { fetchBlob, readManifest } from './registry/images.ts';
import { parseImageReference } from './registry/reference.ts';
import { ANNOTATIONS, buildRegistryClient, fetchBaseImage } from './registries.ts';
import { logLine, step } from './progress.ts';
import { keepJson, getTrustedPaths } from './work.ts';

/** The results of `restore` for the stages after it. */
export type Restored = { plan: BuildPlan; packages?: PackageLayers };

/** Decides how the repository is built, and fetches the packages if an earlier build has installed the same ones. */
export async function restore(given: ImageBuildConfig, signal: AbortSignal): Promise<undefined> {
  const config = applyAgentBaseImage(given);
  const { plan: file, cache } = getTrustedPaths(config);
  const ask = buildRegistryClient(config, signal);
  const { plan } = buildPlanOf(config, (await fetchBaseImage(ask, config)).digest);
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const packages = await step('look for installed packages', () =>
    fetchCachedPackages(ask, config, plan.key),
  );
  logLine(
    packages === undefined
      ? 'packages will be installed'
      : 'packages are those of an earlier build',
  );
  const restored: Restored = { plan, ...(packages && { packages }) };
  keepJson(file, restored);
}

/** A cache is never in the way: whatever is wrong with it, packages are installed instead. */
async function fetchCachedPackages(
  ask: AskRegistry,
  config: ImageBuildConfig,
  key: string | undefined,
): Promise<PackageLayers | undefined> {
  const { cacheImage } = config;
  const place = cacheImage === undefined ? undefined : parseImageReference(cacheImage);
  if (place === undefined || key === undefined) return undefined;
  try {
    const kept = await readManifest(ask, { ...place, tag: key });
    if (kept === undefined) return undefined;
    const packages: PackageLayers = {};
    for (const { digest, size, annotations = {} } of kept.manifest.layers) {
      const [role, diffId] = [annotations[ANNOTATIONS.role], annotations[ANNOTATIONS.diffId]];
      if ((role !== 'production' && role !== 'development') || diffId === undefined)
        return undefined;
      if (
        !(await fetchBlob(
          ask,
          place,
          digest,
          path.join(getTrustedPaths(config).cache, LAYER_FILES[role]),
        ))
      )
        return undefined;
      packages[role] = { digest, size, diffId };
    }
    return packages;
  } catch (thrown) {
    logLine(`packages of an earlier build can't be read: ${toError(thrown).message}`);
    return undefined;
  }
}
