import process from 'node:process';
import type { ImageBuildConfig } from '../config/jobs/image-build.ts';
import { StartError } from '../errors.ts';
import { type BuildStage, INDEXES, STAGES } from '../schema/wire/build-message.ts';
import { build } from './build.ts';
import { serveIndexes } from './indexes/proxy.ts';
import { buildWithBuildkit, pushFromBuildkit, restoreForBuildkit } from './buildkit/stages.ts';
import { clone } from './clone/clone.ts';
import { push } from './push.ts';
import { restore, type Restored } from './restore.ts';
import { logLine, stageFailureOf, writeTerminationMessage } from './progress.ts';
import { INSIDE } from './packages/base.ts';
import { buildPlanOf } from './packages/plan.ts';
import { keepJson, getTrustedPaths } from './work.ts';

export const BUILDER_HELP = `gx-platform builder: makes the image of an agent from its git repository, without Docker and without root

Usage: node src/main.ts builder <stage>

  clone     fetches the commit into /work/source
  restore   reads gx.json and fetches the packages that an earlier build installed
  build     installs, builds and writes the layers of the image below /work/image
  push      puts the layers onto the base image and pushes it
  indexes   answers for private indexes of packages beside "build", which has not their credentials
  inside    installs and builds while a Dockerfile is run, which the platform writes for "dockerfile_lines"
  local     makes the image of a folder on this machine (npm run build-agent)

Each stage is a container of one pod. It takes no options; its settings come from the environment, where the operator
writes them (docs/reference/builder.md). It writes a result or a reason as the container's termination message.
`;

/** A stage returns its termination message, if it has one. */
type Stage = (config: ImageBuildConfig, signal: AbortSignal) => Promise<object | undefined>;

const stages: Record<BuildStage, Stage> = { clone, restore, build, push };
const withBuildkit: Record<BuildStage, Stage> = {
  clone,
  restore: restoreForBuildkit,
  build: buildWithBuildkit,
  push: pushFromBuildkit,
};

/** Runs one stage of a build and reports how it ended. */
export async function runBuilder(
  args: string[],
  config: ImageBuildConfig,
  signal: AbortSignal,
): Promise<void> {
  const [name, more] = args;
  if (name === undefined || args.includes('--help') || args.includes('-h'))
    return void process.stdout.write(BUILDER_HELP);
  if (name === 'inside') return runStage('build', buildInside, { config, signal });
  if (name === INDEXES) return serveIndexes(config, signal);
  const stage = STAGES.find((known) => known === name);
  if (stage === undefined || more !== undefined)
    throw new StartError(
      `builder: "${more ?? name}" is not known; stages: ${STAGES.join(', ')}. See builder --help.`,
    );
  await runStage(stage, (config.buildkit ? withBuildkit : stages)[stage], { config, signal });
}

async function runStage(
  stage: BuildStage,
  run: Stage,
  { config, signal }: { config: ImageBuildConfig; signal: AbortSignal },
): Promise<void> {
  try {
    const result = await run(config, signal);
    if (result !== undefined) writeTerminationMessage(config.terminationLog, result);
  } catch (thrown) {
    // The operator knows better why it stopped the pod.
    const failure = signal.aborted
      ? {
          ...stageFailureOf(stage, undefined),
          message: 'The stage was stopped before its end.',
        }
      : stageFailureOf(stage, thrown);
    logLine(`${failure.reason}: ${failure.message}`);
    writeTerminationMessage(config.terminationLog, failure);
    process.exitCode = 1;
  }
}

/** Installs and builds while a Dockerfile is run. Its layers are unpacked by the Dockerfile itself. */
async function buildInside(given: ImageBuildConfig, signal: AbortSignal): Promise<undefined> {
  const config = { ...given, baseImage: INSIDE };
  const { plan } = buildPlanOf(config, INSIDE);
  const decided: Restored = { plan };
  keepJson(getTrustedPaths(config).plan, decided);
  await build(config, signal);
}
