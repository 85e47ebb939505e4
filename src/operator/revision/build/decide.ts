import type { Builder } from '../../../config/builder.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { BUILD_CONTAINER } from '../../../schema/names.ts';
import { diagnose, statusOfPod, type Diagnosis } from '../../pods/diagnose.ts';
import { idle, type Decision, type Situation, type Question } from '../decision.ts';
import { imageOf } from '../../family/revisions.ts';
import { buildFailed, byJob, LOOK_FOR_POD, NEXT, buildSecondsLeft, podStarting } from './by-job.ts';
import { targetImage } from './job.ts';
import { builtBy } from './result.ts';
import { stagedBuild } from './staged.ts';

/** Decides the next step of a revision that has yet to be built; undefined for one that has its image. */
export const building: Question = (situation) => {
  const { revision, world, settings } = situation;
  const { builder } = settings;
  if (revision.spec.source !== 'git' || imageOf(revision) !== undefined || builder === undefined) return undefined;
  if (world.repeated !== undefined)
    return idle('AWAITING_DEPLOY', `The image of ${revision.spec.rollbackOf} is deployed again.`, { image: world.repeated, ...NEXT });
  if (builder.staged !== undefined) return stagedBuild(builder, situation);
  const { pod, job } = world.build ?? {};
  if (pod !== undefined) return byPod(pod, builder, situation);
  if (job === undefined) return idle('AWAITING_BUILD', 'The build is being requested.', { build: 'make', again: LOOK_FOR_POD });
  return byJob(job, builder, situation);
};

const reads = (pod: KubeObject): Diagnosis['log'] => ({ pod: pod.metadata.name, container: BUILD_CONTAINER, previous: false });

function byPod(pod: KubeObject, builder: Builder, situation: Situation): Decision {
  const { phase } = statusOfPod(pod);
  if (phase === 'Succeeded') return succeeded(pod, builder, situation);
  if (phase === 'Failed') return failed(pod);
  return late(pod, builder, situation) ?? underWay(pod, builder, situation);
}

const endOf = (pod: KubeObject) => statusOfPod(pod).containerStatuses?.find(({ name }) => name === BUILD_CONTAINER)?.state?.terminated;

function succeeded(pod: KubeObject, builder: Builder, { revision }: Situation): Decision {
  const built = builtBy(endOf(pod)?.message, targetImage(revision, builder));
  const log = reads(pod);
  if ('problem' in built) return buildFailed({ reason: 'BuildFailed', message: built.problem, ...(log && { log }) });
  const message = `The image was built: ${built.image}.`;
  return idle('AWAITING_DEPLOY', message, { image: built.image, commitSha: built.commitSha, ...NEXT });
}

function failed(pod: KubeObject): Decision {
  const { reason = '', exitCode, message = '' } = endOf(pod) ?? {};
  const log = reads(pod);
  const more = { ...(log && { log }) };
  if (reason === 'OOMKilled') return buildFailed({ reason, message: 'The builder needs more memory than its limit.', ...more });
  const how = exitCode === undefined ? 'The build was ended from outside' : `The build ended with exit code ${exitCode}`;
  return buildFailed({ reason: 'BuildFailed', message: [how, message.trim().slice(0, 1000)].filter(Boolean).join(': '), ...more });
}

/** Gives up a build that waits longer than the deadline, or for something that will not come. */
function late(pod: KubeObject, builder: Builder, situation: Situation): Decision | undefined {
  const trouble = troubleOf(pod, situation);
  const log = reads(pod);
  if (trouble?.final === true) return buildFailed(trouble, { build: 'drop' });
  if (buildSecondsLeft(pod, builder, situation) > 0) return undefined;
  const said = trouble === undefined ? '' : ` ${trouble.message}`;
  const message = `The build did not end within ${builder.deadlineSeconds} seconds.${said}`;
  return buildFailed({ reason: 'DeadlineExceeded', message, ...(log && { log }) }, { build: 'drop' });
}

function underWay(pod: KubeObject, builder: Builder, situation: Situation): Decision {
  const left = buildSecondsLeft(pod, builder, situation);
  if (statusOfPod(pod).phase === 'Running') return idle('BUILDING', 'The builder is running.', { started: true, again: left });
  return podStarting(troubleOf(pod, situation), left);
}

const troubleOf = (pod: KubeObject, { world, settings }: Situation): Diagnosis | undefined =>
  statusOfPod(pod).phase === 'Running'
    ? undefined
    : diagnose(undefined, [pod], { now: world.now.getTime(), imagePullSeconds: settings.imagePullPatienceSeconds });
