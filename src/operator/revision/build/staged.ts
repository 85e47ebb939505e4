import type { Builder } from '../../../config/platform/builder.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import { LAST_STAGE, NEEDS_DOCKERFILE } from '../../../schema/wire/build-message.ts';
import { BUILD_STAGES } from '../../../schema/names.ts';
import type { FailureReason } from '../../../schema/platform/deployment/statuses.ts';
import { findRevisionImage } from '../../rollout/revisions.ts';
import {
  findWorstDiagnosis,
  isPodOver,
  getPodStatus,
  type ContainerStatus,
  type Diagnosis,
} from '../../pods/diagnose.ts';
import { findEnd } from '../../pods/job-state.ts';
import { buildIdleDecision, type Decision } from '../decision.ts';
import type { BuildSituation } from './observe.ts';
import {
  buildFailed,
  decideByJob,
  buildSecondsLeft,
  LOOK_FOR_POD,
  NEXT,
  decidePodStarting,
} from './by-job.ts';
import { chooseBuildPlace, buildTargetImage } from './place.ts';
import { formatOrdinal } from './turn.ts';
import { parseImageRepository } from '../image-name.ts';
import { parseJsonOr } from '../../../schema/json.ts';

/** Seconds after which a build that waits for its turn looks again. The end of another one wakes it sooner. */
const LOOK_FOR_TURN = 15;

/** Reasons that the builder itself reports. The operator reports those that the pod shows. */
const BY_BUILDER: readonly FailureReason[] = [
  'CloneFailed',
  'RefMissing',
  'ConfigMissing',
  'InstallFailed',
  'BuildFailed',
  'PushFailed',
  'DiskFull',
  'UserNamespacesOff',
];
const BY_STAGE: Record<string, FailureReason> = {
  clone: 'CloneFailed',
  restore: 'BuildFailed',
  build: 'BuildFailed',
  push: 'PushFailed',
};

/** Decides the next step of a revision that has yet to be built; undefined for one that has its image. */
export const decideBuild = (situation: BuildSituation): Decision | undefined => {
  const { revision, world, settings } = situation;
  const { builder } = settings;
  if (
    revision.spec.source !== 'git' ||
    findRevisionImage(revision) !== undefined ||
    builder === undefined
  )
    return undefined;
  if (world.repeated !== undefined) {
    const { image, architecture } = world.repeated;
    return buildIdleDecision(
      'AWAITING_DEPLOY',
      `The image of ${revision.spec.rollbackOf} is deployed again.`,
      { image, architecture, ...NEXT },
    );
  }
  return decideStagedBuild(builder, situation);
};

function decideStagedBuild(builder: Builder, situation: BuildSituation): Decision {
  const { pod, job, source, place = 0 } = situation.world.build ?? {};
  if (pod !== undefined) return decideByStages(pod, builder, situation);
  if (job !== undefined) return decideByJob(job, builder, situation);
  if (source !== undefined && 'fault' in source)
    return buildFailed({ reason: 'Refused', message: source.fault });
  if (place > 0) return buildInLineDecision(place);
  return buildIdleDecision('AWAITING_BUILD', 'The build is being requested.', {
    build: 'make',
    again: LOOK_FOR_POD,
  });
}

/** Decides for a build that waits for others to end. `again`: seconds until the next look. */
export const buildInLineDecision = (place: number, again = LOOK_FOR_TURN): Decision =>
  buildIdleDecision(
    'AWAITING_BUILD',
    `Waiting for other builds to end: ${formatOrdinal(place)} in line.`,
    { reason: 'BuildQueued', again },
  );

type StageStatus = ContainerStatus & { state?: { terminated?: { finishedAt?: string | null } } };

const listStages = (pod: KubeObject): StageStatus[] => {
  const { initContainerStatuses = [], containerStatuses = [] } = getPodStatus(pod);
  return BUILD_STAGES.flatMap(
    (stage) =>
      [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === stage) ?? [],
  );
};

/** The last stage decides, because containers of others may run on beside it. */
function decideByStages(pod: KubeObject, builder: Builder, situation: BuildSituation): Decision {
  const { phase } = getPodStatus(pod);
  const last = findEnd(pod, LAST_STAGE);
  // A Job whose pod others keep would hold a place in the line of builds.
  const drop: Partial<Decision> = isPodOver(pod) ? {} : { build: 'drop' };
  if (last?.exitCode === 0 || (last === undefined && phase === 'Succeeded'))
    return { ...decideSucceeded(pod, builder, situation), ...drop };
  if (last !== undefined || phase === 'Failed')
    return { ...decideFailed(pod, builder, situation), ...drop };
  const running = listStages(pod).findLast(
    ({ state }) => state?.running !== undefined || state?.terminated !== undefined,
  );
  return running === undefined
    ? decideStarting(pod, builder, situation)
    : decideRunning(pod, builder, running.name, situation);
}

function decideRunning(
  pod: KubeObject,
  builder: Builder,
  stage: string,
  situation: BuildSituation,
): Decision {
  const left = buildSecondsLeft(pod, builder, situation);
  if (left > 0)
    return buildIdleDecision('BUILDING', `The builder is running: stage ${stage}.`, {
      started: true,
      again: left,
    });
  return buildFailed(
    { ...describeTimeout(builder, `It was at the stage ${stage}.`), ...buildLogSource(pod, stage) },
    { build: 'drop' },
  );
}

function decideStarting(pod: KubeObject, builder: Builder, situation: BuildSituation): Decision {
  const trouble = findWorstDiagnosis(undefined, [pod], {
    now: situation.world.now.getTime(),
    imagePullSeconds: situation.settings.imagePullPatienceSeconds,
  });
  if (trouble?.final === true) return buildFailed(trouble, { build: 'drop' });
  const left = buildSecondsLeft(pod, builder, situation);
  if (left <= 0) return buildFailed(describeTimeout(builder, trouble?.message), { build: 'drop' });
  return decidePodStarting(trouble, left);
}

const describeTimeout = (
  { deadlineSeconds }: Builder,
  more = '',
): { reason: 'DeadlineExceeded'; message: string } => ({
  reason: 'DeadlineExceeded',
  message: `The build did not end within ${deadlineSeconds} seconds. ${more}`.trim(),
});

const buildLogSource = ({ metadata }: KubeObject, container: string): Pick<Diagnosis, 'log'> => ({
  log: { pod: metadata.name, container, previous: false, namespace: metadata.namespace },
});

function decideSucceeded(
  pod: KubeObject,
  builder: Builder,
  { revision, world }: BuildSituation,
): Decision {
  const text = findEnd(pod, LAST_STAGE)?.message;
  const built = parseBuildResult(text, buildTargetImage(revision, builder));
  if ('problem' in built)
    return buildFailed({
      reason: 'PushFailed',
      message: built.problem,
      ...buildLogSource(pod, 'push'),
    });
  const [, digest] = built.image.split('@');
  if (digest === undefined)
    return buildFailed({
      reason: 'PushFailed',
      message: `The builder named no digest, but: ${built.image}.`,
      ...buildLogSource(pod, 'push'),
    });
  // Later stages run beside files that user code has written, so the stage before it says which commit it was.
  const { builder: version, architecture } = parseFields(text);
  return buildIdleDecision('AWAITING_DEPLOY', `The image was built: ${built.image}.`, {
    ...NEXT,
    image: built.image,
    digest,
    commitSha: readClonedCommit(pod) ?? built.commitSha,
    buildSeconds: measureBuildSeconds(pod, world.now),
    ...(typeof version === 'string' && VERSION.test(version) && { builderVersion: version }),
    ...(typeof architecture === 'string' && ARCHITECTURE.test(architecture) && { architecture }),
  });
}

const COMMIT = /^[0-9a-f]{40,64}$/;
const VERSION = /^[\w.+-]{1,128}$/;
const ARCHITECTURE = /^[a-z0-9]{1,16}$/;

/** Returns how long a build took, from its pod's creation to the end of its last stage. */
function measureBuildSeconds(pod: KubeObject, now: Date): number {
  const ends = listStages(pod).flatMap(({ state }) => state?.terminated?.finishedAt ?? []);
  const end = Math.max(
    ...ends.map((at) => Date.parse(at)).filter((at) => !Number.isNaN(at)),
    -Infinity,
  );
  const from = Date.parse(pod.metadata.creationTimestamp ?? '');
  return Math.max(0, Math.round(((end === -Infinity ? now.getTime() : end) - from) / 1000));
}

function decideFailed(pod: KubeObject, builder: Builder, situation: BuildSituation): Decision {
  const { world } = situation;
  const end = listStages(pod).find(
    ({ state }) => state?.terminated !== undefined && state.terminated.exitCode !== 0,
  );
  const elsewhere = decideHandOver(pod, builder, { end, situation });
  if (elsewhere !== undefined) return elsewhere;
  const { reason, message } = explainPodFailure(pod, builder) ?? stageFailure(end);
  const last = end ?? listStages(pod).findLast(({ state }) => state?.terminated !== undefined);
  return buildFailed(
    { reason, message, ...(last !== undefined && buildLogSource(pod, last.name)) },
    { buildSeconds: measureBuildSeconds(pod, world.now) },
  );
}

/** Goes on with BuildKit, if a build without root has found that the repository needs it. The commit stays the same. */
function decideHandOver(
  pod: KubeObject,
  builder: Builder,
  { end, situation }: { end: StageStatus | undefined; situation: BuildSituation },
): Decision | undefined {
  if (
    builder.buildkit === undefined ||
    chooseBuildPlace(situation.revision, builder).hasBuildkit ||
    end === undefined
  )
    return undefined;
  if (parseFields(end.state?.terminated?.message).reason !== NEEDS_DOCKERFILE) return undefined;
  const commitSha = readClonedCommit(pod);
  const message = 'The repository asks for Dockerfile lines, so it is built with BuildKit.';
  return buildIdleDecision('AWAITING_BUILD', message, {
    build: 'drop',
    buildsWith: 'buildkit',
    again: 1,
    ...(commitSha && { commitSha }),
  });
}

function readClonedCommit(pod: KubeObject): string | undefined {
  const { commit } = parseFields(findEnd(pod, 'clone')?.message);
  return typeof commit === 'string' && COMMIT.test(commit) ? commit : undefined;
}

/** Reports a pod that a node or the Job gave up: its disk was full, its time was over, or somebody ended it. */
function explainPodFailure(
  pod: KubeObject,
  builder: Builder,
): { reason: FailureReason; message: string } | undefined {
  const { reason, message = '' } = getPodStatus(pod);
  if (reason === 'DeadlineExceeded') return describeTimeout(builder);
  if (reason === 'Evicted' && /ephemeral|emptyDir|disk/i.test(message))
    return {
      reason: 'DiskFull',
      message: `The build wrote more than it may, or its node has no room: ${message}`,
    };
  return reason === undefined
    ? undefined
    : { reason: 'Interrupted', message: `The node ended the build (${reason}): ${message}` };
}

function stageFailure(end: StageStatus | undefined): { reason: FailureReason; message: string } {
  const ended = end?.state?.terminated;
  if (end === undefined || ended?.exitCode === undefined)
    return { reason: 'Interrupted', message: 'The build was ended from outside.' };
  if (ended.reason === 'OOMKilled')
    return {
      reason: 'OutOfMemory',
      message: `The stage ${end.name} needs more memory than its limit.`,
    };
  const text = (ended.message ?? '').trim();
  const { reason, message } = parseFields(text);
  const sentence = typeof message === 'string' ? message : text;
  const plain = `The stage ${end.name} ended with exit code ${ended.exitCode}.`;
  return {
    reason: BY_BUILDER.find((word) => word === reason) ?? BY_STAGE[end.name] ?? 'BuildFailed',
    message: (sentence === '' ? plain : sentence).slice(0, 1000),
  };
}

const DIGEST_OR_TAG = /^(:[\w][\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;
const BUILT_COMMIT = /^[0-9a-f]{7,64}$/;

/**
 * Reads the termination message of the builder: `{"image": ..., "commit": ...}`. Otherwise it returns a sentence on the
 * problem. Only the name that was asked for is accepted, because a build runs its author's commands, which must not
 * name somebody else's image.
 */
export function parseBuildResult(
  message: string | undefined,
  target: string,
): { image: string; commitSha?: string } | { problem: string } {
  const text = (message ?? '').trim();
  if (text === '')
    return {
      problem: 'The builder succeeded but named no image: its termination message is empty.',
    };
  const { image, commit } = parseFields(text);
  const repository = parseImageRepository(target);
  const tail =
    typeof image === 'string' && image.startsWith(repository) ? image.slice(repository.length) : '';
  if (typeof image !== 'string' || tail === '' || !DIGEST_OR_TAG.test(tail))
    return { problem: `The builder named no image of ${repository}, but: ${text.slice(0, 500)}` };
  return {
    image,
    ...(typeof commit === 'string' && BUILT_COMMIT.test(commit) && { commitSha: commit }),
  };
}

type Fields = {
  image?: unknown;
  commit?: unknown;
  builder?: unknown;
  architecture?: unknown;
  reason?: unknown;
  message?: unknown;
};

/** Returns the fields of a termination message. One that is no JSON object has none. */
function parseFields(message = ''): Fields {
  const text = message.trim();
  return text.startsWith('{') ? (parseJsonOr(text, {}) as Fields) : {};
}
