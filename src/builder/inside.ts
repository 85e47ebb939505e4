import type { ImageBuildConfig } from '../config/image-build.ts';
import { build } from './build.ts';
import { buildPlanOf, INSIDE } from './packages/plan.ts';
import type { Restored } from './restore.ts';
import { keepJson, keptIn } from './work.ts';

/** Installs and builds while a Dockerfile is run. Its layers are unpacked by the Dockerfile itself. */
export async function buildInside(given: ImageBuildConfig, signal: AbortSignal): Promise<undefined> {
  const config = { ...given, baseImage: INSIDE };
  const { plan } = buildPlanOf(config, INSIDE);
  const decided: Restored = { plan };
  keepJson(keptIn(config).plan, decided);
  await build(config, signal);
}
