import path from 'node:path';
import type { ImageBuildConfig } from '../../config/image-build.ts';
import { StageFailed, StartError } from '../../errors.ts';
import { AUTHORITIES } from '../buildkit/dockerfile.ts';
import { runProgram } from '../command.ts';
import { labelsOf } from '../push.ts';
import { say } from '../progress.ts';
import { keptIn, keptJson, placesIn, type Cloned } from '../work.ts';
import type { LocalOptions } from './options.ts';
import { engineHere, type Engine } from './outputs.ts';

type Here = { config: ImageBuildConfig; options: LocalOptions; base: string; env: Record<string, string> };

/** Makes the image that gx.json wants from a Dockerfile, with an engine of this machine. */
export async function buildByDockerfile(dockerfile: string, { config, options, base, env }: Here): Promise<void> {
  const { to, tag, insecure } = options;
  const engine = to !== undefined && typeof to === 'object' && 'engine' in to ? to.engine : await engineHere(env);
  const { source } = placesIn(config.work);
  const labels = labelsOf(config, keptJson<Cloned>(keptIn(config).commit).commit);
  const authorities = config.network['NODE_EXTRA_CA_CERTS'];
  await must(engine, env, [
    'build',
    ...(engine === 'buildah' ? ['--isolation', 'chroot', '--pull=false'] : []),
    '--file',
    dockerfile,
    '--tag',
    tag,
    '--build-arg',
    `AGENT_SERVER=${base}`,
    ...Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]),
    ...(authorities === undefined ? [] : ['--secret', `id=${AUTHORITIES.id},src=${authorities}`]),
    source,
  ]);
  if (to === 'registry') await must(engine, env, ['push', ...(insecure && engine === 'buildah' ? ['--tls-verify=false'] : []), tag]);
  else if (to !== undefined && 'folder' in to) {
    if (engine !== 'buildah')
      throw new StartError('build-agent: --output of an image with a Dockerfile needs buildah; Docker keeps its images itself.');
    await must(engine, env, ['push', tag, `oci:${path.resolve(to.folder)}`]);
  }
  say(`${tag} is an image of ${engine}`);
}

async function must(engine: Engine, env: Record<string, string>, args: readonly string[]): Promise<void> {
  const { code, last } = await runProgram({ run: [engine, ...args], folder: '/', env: { DOCKER_BUILDKIT: '1', ...env }, prefix: engine });
  if (code !== 0) throw new StageFailed('BuildFailed', `"${engine} ${args[0]}" failed. Its last lines: ${last}`);
}
