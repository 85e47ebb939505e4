import { command, dockerAnswers, succeeds } from '../commands.ts';
import { MissingRequirement } from '../errors.ts';
import type { Engine } from './engine.ts';
import { root } from './list.ts';
import { runSteps } from './run-steps.ts';

/**
 * Builds with Docker. The base images are the Dockerfile's own, from its registry, and its stages are in Docker's
 * cache.
 */
export const docker: Engine = {
  base: 'docker',

  async prepare() {
    if (!(await dockerAnswers())) throw new MissingRequirement('Docker does not answer: start it, or build with --engine buildah.');
    return {};
  },

  has: (reference) => succeeds('docker', ['image', 'inspect', reference]),

  async build({ image, reference, buildArguments, report }) {
    const target = image.target === undefined ? [] : ['--target', image.target];
    const args = Object.entries(buildArguments).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
    const build = [
      'docker',
      'build',
      '--progress=plain',
      '--file',
      image.dockerfile,
      ...target,
      ...args,
      '--tag',
      reference,
      image.context,
    ];
    await runSteps(build, { step: /^#\d+ \[/, report, cwd: root });
  },

  async save(reference, archive) {
    await command('docker', ['save', '--output', archive, reference]);
  },

  async remove(reference) {
    await succeeds('docker', ['image', 'rm', reference]);
  },
};
