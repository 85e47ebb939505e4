import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { StageFailed } from '../../errors.ts';

/** Stands for the base image where a Dockerfile already names it. */
export const INSIDE = 'inside';

/** Returns the settings with the base image of the graphs' language. Throws where there is none for Python. */
export function applyBaseImage(
  { python }: { python: boolean },
  config: ImageBuildConfig,
): ImageBuildConfig {
  if (!python || config.baseImage === INSIDE) return config;
  const { pythonBaseImage: baseImage } = config;
  if (baseImage === undefined)
    throw new StageFailed(
      'BuildFailed',
      'A graph of gx.json is in Python, and this installation has no base image for Python: set images.agentServerPython of the chart.',
    );
  return { ...config, baseImage };
}
