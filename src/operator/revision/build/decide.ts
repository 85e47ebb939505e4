import type { Builder } from '../../../config/builder.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { BUILD_CONTAINER } from '../../../schema/names.ts';
import { diagnose, statusOfPod, type Diagnosis } from '../../pods/diagnose.ts';
import { idle, type Decision, type Situation, type Question } from '../decision.ts';
import { imageOf } from '../../family/revisions.ts';
import { targetImage } from './job.ts';
import { builtBy } from './result.ts';

/** Seconds after which a Job without a pod is looked at again. Only events say why it has no pod. */
const LOOK_FOR_POD = 5;

/** The status first stores the image. The next reconcile makes its pods. */
const NEXT = { started: true, again: 1 };

/** Decides the next step of a revision that has yet to be built; undefined for one that has its image. */
export const building: Question = (situation) => {
  const { revision, world, settings } = situation;
  const { builder } = settings;
  if (revision.spec.source !== 'git' || imageOf(revision) !== undefined || builder === undefined) return undefined;
  if (world.repeated !== undefined)
    return idle('AWAITING_DEPLOY', `The image of ${revision.spec.rollbackOf} is deployed again.`, { image: world.repeated, ...NEXT });
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

const buildFailed = (diagnosis: Omit<Diagnosis, 'final'>, more: Partial<Decision> = {}): Decision =>
  idle('BUILD_FAILED', diagnosis.message, { reason: diagnosis.reason, diagnosis: { ...diagnosis, final: true }, ...more });

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
  if (secondsLeft(pod, builder, situation) > 0) return undefined;
  const said = trouble === undefined ? '' : ` ${trouble.message}`;
  const message = `The build did not end within ${builder.deadlineSeconds} seconds.${said}`;
  return buildFailed({ reason: 'DeadlineExceeded', message, ...(log && { log }) }, { build: 'drop' });
}

function underWay(pod: KubeObject, builder: Builder, situation: Situation): Decision {
  const left = secondsLeft(pod, builder, situation);
  if (statusOfPod(pod).phase === 'Running') return idle('BUILDING', 'The builder is running.', { started: true, again: left });
  const trouble = troubleOf(pod, situation);
  return idle('AWAITING_BUILD', trouble?.message ?? "The build's pod is starting.", {
    again: Math.min(left, trouble?.again ?? left),
    ...(trouble && { reason: trouble.reason }),
  });
}

const troubleOf = (pod: KubeObject, { world, settings }: Situation): Diagnosis | undefined =>
  statusOfPod(pod).phase === 'Running'
    ? undefined
    : diagnose(undefined, [pod], { now: world.now.getTime(), imagePullSeconds: settings.imagePullPatienceSeconds });

const secondsLeft = ({ metadata }: KubeObject, { deadlineSeconds }: Builder, { world }: Situation): number =>
  deadlineSeconds - (world.now.getTime() - Date.parse(metadata.creationTimestamp ?? world.now.toISOString())) / 1000;

type JobStatus = { conditions?: { type: string; status: string; reason?: string; message?: string }[] };

/** Decides by the Job, if it has no pod yet or its pod went before anybody read the result. */
function byJob(job: KubeObject, builder: Builder, situation: Situation): Decision {
  const { conditions = [] } = (job.status ?? {}) as JobStatus;
  const end = conditions.find(({ type, status }) => (type === 'Failed' || type === 'Complete') && status === 'True');
  if (end?.reason === 'DeadlineExceeded')
    return buildFailed({ reason: 'DeadlineExceeded', message: `The build did not end within ${builder.deadlineSeconds} seconds.` });
  if (end !== undefined) return buildFailed({ reason: 'BuildFailed', message: "The build's pod is gone, and its result is lost." });
  const left = secondsLeft(job, builder, situation);
  const message = `The build has no pod: see the events of Job ${job.metadata.name}.`;
  if (left <= 0) return buildFailed({ reason: 'DeadlineExceeded', message }, { build: 'drop' });
  return idle('AWAITING_BUILD', message, { again: Math.min(LOOK_FOR_POD, left) });
}
