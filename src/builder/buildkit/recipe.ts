import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { StageFailed } from '../../errors.ts';
import { findDockerfileKey, isOfPython } from '../packages/demands.ts';
import { readAgentSource } from '../packages/plan.ts';
import { getTrustedPaths, getWorkPaths, resolveRealFile } from '../work.ts';
import { AUTHORITIES, buildDockerfile } from './dockerfile.ts';

/** The name of the platform's base image while a Dockerfile is run; a repository's own gets it as AGENT_SERVER. */
export const BASE_NAME = 'gx-agent-server';

/**
 * Writes the Dockerfile that gx.json asks for into the build's folder, and returns the file; undefined if gx.json asks
 * for none. `baseImage` is the name that it uses for the platform's base image.
 */
export function writeRecipe(config: ImageBuildConfig, baseImage: string): string | undefined {
  const agent = readAgentSource(config);
  const { settings } = agent;
  const python = isOfPython(settings);
  const key = findDockerfileKey(settings, { baseImage: config.baseImage ?? '' });
  if (key === undefined) return undefined;
  const { dockerfile: own, dockerfile_lines: lines, base_image: base, ...rest } = settings;
  if (own !== undefined && (lines !== undefined || base !== undefined))
    throw new StageFailed(
      'BuildFailed',
      `"dockerfile" of gx.json defines the whole image: remove "${lines === undefined ? 'base_image' : 'dockerfile_lines'}".`,
    );
  const { dockerfile: file } = getTrustedPaths(config);
  mkdirSync(path.dirname(file), { recursive: true });
  const text =
    own === undefined
      ? buildDockerfile({
          ...agent,
          settings: {
            ...rest,
            ...(lines && { dockerfile_lines: lines }),
            ...(key === 'base_image' && base !== undefined && { base_image: base }),
          },
          python,
          baseImage,
          env: buildContainerEnv(config),
        })
      : readDockerfile(config, path.join(agent.folder, own));
  writeFileSync(file, text);
  return file;
}

function readDockerfile({ work }: ImageBuildConfig, name: string): string {
  const real = resolveRealFile(getWorkPaths(work).source, name);
  if (real === undefined)
    throw new StageFailed(
      'ConfigMissing',
      `"dockerfile" of gx.json names ${name}, which the repository does not have.`,
    );
  return readFileSync(real, 'utf8');
}

function buildContainerEnv({
  installCommand,
  buildCommand,
  npmRegistry,
  pypiIndex,
  network,
}: ImageBuildConfig): Record<string, string> {
  const { NODE_EXTRA_CA_CERTS: authorities, ...others } = network;
  const proxies = Object.fromEntries(
    Object.entries(others).filter(([name]) => /_proxy$/i.test(name)),
  );
  return {
    ...(installCommand && { GX_INSTALL_COMMAND: installCommand }),
    ...(buildCommand && { GX_BUILD_COMMAND: buildCommand }),
    ...(npmRegistry && { GX_NPM_REGISTRY: npmRegistry }),
    ...(pypiIndex && { GX_PYPI_INDEX: pypiIndex }),
    ...(authorities && { NODE_EXTRA_CA_CERTS: AUTHORITIES.path }),
    ...proxies,
  };
}
