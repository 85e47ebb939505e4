import { runProcess, isDockerRunning, canRun } from '../commands.ts';
import { extendEnvironment } from '../env.ts';
import { MissingRequirement } from '../errors.ts';
import type { Engine } from './engine.ts';
import { root } from './list.ts';
import { runWithPackageSettings } from './native/package-settings.ts';
import { runSteps } from './run-steps.ts';

/**
 * Builds with Docker. The base images are the Dockerfile's own, from its registry, and its stages are in Docker's
 * cache.
 */
export const docker: Engine = {
  base: 'docker',

  async prepare() {
    await requireDocker();
    return {};
  },

  has: (reference) => canRun('docker', ['image', 'inspect', reference]),

  async build({ image, reference, buildArguments, report }) {
    const target = image.target === undefined ? [] : ['--target', image.target];
    const args = Object.entries(buildArguments).flatMap(([name, value]) => [
      '--build-arg',
      `${name}=${value}`,
    ]);
    await runWithPackageSettings({ withCache: false }, async (settings) => {
      const options = [
        '--progress=plain',
        ...settings,
        '--file',
        image.dockerfile,
        ...target,
        ...args,
        '--tag',
        reference,
      ];
      await runSteps(['docker', 'build', ...options, image.context], {
        step: /^#\d+ \[/,
        report,
        cwd: root,
        env: buildEnvironment(),
      });
    });
  },

  async save(reference, archive) {
    await runProcess('docker', ['save', '--output', archive, reference]);
  },

  async remove(reference) {
    await canRun('docker', ['image', 'rm', reference]);
  },
};

/** Docker before 23 builds with BuildKit only if it is asked to. */
const buildEnvironment = (): NodeJS.ProcessEnv => extendEnvironment({ DOCKER_BUILDKIT: '1' });

/**
 * Throws `MissingRequirement` if Docker does not answer, or lacks its BuildKit, whose secrets and mounts the Dockerfile
 * needs.
 */
export async function requireDocker(): Promise<void> {
  if (!(await isDockerRunning()))
    throw new MissingRequirement(
      'Docker does not answer: start it, or do without by GX_CLUSTER=native.',
    );
  const help = await runProcess('docker', ['build', '--help'], { env: buildEnvironment() }).catch(
    () => '',
  );
  if (help.includes('--secret')) return;
  throw new MissingRequirement(
    "Docker's plugin buildx, with which the images are built, is missing: install docker-buildx.",
  );
}
