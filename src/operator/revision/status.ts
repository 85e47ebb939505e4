import { BUILD_SUCCEEDED, DRAINING, ROLLED_OUT } from '../../schema/platform/objects/conditions.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import { AGENT_CONTAINER } from '../../schema/names.ts';
import { hashJson } from '../../schema/canonical-json.ts';
import { ENDED } from '../../schema/platform/deployment/statuses.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { Pin } from '../../schema/platform/rollout/pins.ts';
import { mergeServerFields } from '../rollout/reported-server.ts';
import { findRevisionImage, isEnded } from '../rollout/revisions.ts';
import { getPodStatus } from '../pods/diagnose.ts';
import { findImageDigest } from './image-name.ts';
import {
  limitDelay,
  buildSettledOutcome,
  buildStalledOutcome,
  UNDER_WAY,
  buildWaitingOutcome,
  type ReconcileOutcome,
  type Report,
  type StatedCondition,
} from '../kernel/outcome.ts';
import { deriveSeenTemplate } from '../pods/settled-template.ts';
import { hasBeenPaused } from './deadline.ts';
import type { Decision } from './decision.ts';
import type { RevisionWorld } from './world.ts';
import { getWorkloadName } from './objects/workload.ts';

export type RevisionStatusFields = NonNullable<RevisionResource['status']>;

export type RevisionView = {
  decision: Decision;
  world: RevisionWorld;
  secondsLeft: number;
  /** Name of the Secret that its pods get. */
  secretName?: string | undefined;
  logTail?: string | undefined;
  pin?: Pin | undefined;
  /** Name of the ConfigMap with the whole log of its build, if that was kept just now. */
  buildLog?: string | undefined;
  /** Its workloads as they are after the writes. */
  standing?: KubeObject[];
};

/** Makes the status, the conditions and the outcome of a revision from the decision. */
export function buildRevisionReport(
  revision: RevisionResource,
  view: RevisionView,
): Report<RevisionStatusFields> {
  const { phase, message, reason } = view.decision;
  return {
    outcome: decideOutcome(view),
    statements: buildRevisionConditions(revision, view.decision),
    status: {
      phase,
      message: message.slice(0, 4096),
      ...(reason !== undefined && { reason }),
      ...mergeFirstValues(revision, view),
      // Until it has rolled out, its reports may come from pods of others.
      ...mergeServerFields(revision, view.decision.rolledOut ? view.world.server : undefined),
      ...deriveTemplates(revision, view),
    },
  };
}

/**
 * Returns the templates of its pods as they were seen. Until a revision has ended, today's operator makes its pods.
 * Then they stay as they were seen.
 */
function deriveTemplates(
  { metadata, status }: RevisionResource,
  { decision, standing = [] }: RevisionView,
): RevisionStatusFields {
  if (!ENDED.includes(decision.phase)) return {};
  const [api, queue] = (['api', 'queue'] as const).map((component) => {
    const name = getWorkloadName(metadata.name, component);
    const workload = standing.find((object) => object.metadata.name === name);
    return deriveSeenTemplate(
      workload,
      component === 'api' ? status?.apiTemplate : status?.queueTemplate,
    );
  });
  return {
    ...(api !== undefined && { apiTemplate: api }),
    ...(queue !== undefined && { queueTemplate: queue }),
  };
}

function mergeFirstValues(revision: RevisionResource, view: RevisionView): RevisionStatusFields {
  const { decision, world, secretName, logTail, buildLog } = view;
  const { spec, status: before = {} } = revision;
  const time = formatKubernetesTime(world.now);
  const found = {
    specHash: hashJson(spec),
    secretName,
    imageDigest: decision.digest ?? (decision.rolledOut ? findDigest(revision, world) : undefined),
    startedAt: decision.started ? time : undefined,
    endedAt: ENDED.includes(decision.phase) ? time : undefined,
    logTail,
    pin: view.decision.started && view.pin !== 'None' ? view.pin : undefined,
    image: decision.image,
    commitSha: decision.commitSha,
    buildsWith: decision.buildsWith,
    builderVersion: decision.builderVersion,
    imageArchitecture: decision.architecture,
    buildSeconds: decision.buildSeconds,
    buildLog,
    builtAt: decision.image !== undefined && spec.source === 'git' ? time : undefined,
  };
  // A revision that hibernation has queued again or that was suspended gets its whole deadline.
  const known =
    decision.phase === 'QUEUED' || (hasBeenPaused(revision) && !isEnded(revision))
      ? { ...before, startedAt: undefined, builtAt: undefined }
      : before;
  const entries = Object.entries(found).map(([name, value]) => [
    name,
    known[name as keyof typeof found] ?? value,
  ]);
  return Object.fromEntries(
    entries.filter(([, value]) => value !== undefined),
  ) as RevisionStatusFields;
}

function decideOutcome(view: RevisionView): ReconcileOutcome {
  const { decision } = view;
  const { phase, message, reason, diagnosis } = decision;
  if (reason === 'SpecChanged') return buildStalledOutcome(reason, message);
  if (phase === 'DEPLOYED')
    return diagnosis === undefined
      ? limitDelay(buildSettledOutcome(message, 'Deployed'), decision.again)
      : buildWaitingOutcome(diagnosis.reason, diagnosis.message);
  if (phase === 'SKIPPED') return buildSettledOutcome(message, 'Skipped');
  if (ENDED.includes(phase)) return buildStalledOutcome(reason ?? 'Failed', message);
  const isRollingOut = decision.started && phase !== 'BUILDING';
  return buildWaitingOutcome(
    reason ?? (isRollingOut ? UNDER_WAY : toPascalCase(phase)),
    message,
    lookAgain(view),
  );
}

const SECRET_POLL = 5;

/**
 * Returns the seconds after which to look again. Pods and the database wake the revision by themselves; a Secret, an
 * image that stays away and the deadline do not.
 */
function lookAgain({ decision, secondsLeft }: RevisionView): number | undefined {
  if (decision.again !== undefined) return Math.max(1, Math.ceil(decision.again));
  if (!decision.started) return undefined;
  const soon =
    decision.reason === 'SecretMissing' ? SECRET_POLL : (decision.diagnosis?.again ?? secondsLeft);
  return Math.max(1, Math.ceil(Math.min(soon, secondsLeft)));
}

/** States how the rollout and the build stand. */
export function buildRevisionConditions(
  revision: RevisionResource,
  decision: Decision,
): StatedCondition[] {
  const { phase, rolledOut, message, reason } = decision;
  const rollout: StatedCondition = rolledOut
    ? { type: ROLLED_OUT, status: 'True', reason: 'RolledOut', message: 'All pods were ready.' }
    : { type: ROLLED_OUT, status: 'False', reason: reason ?? toPascalCase(phase), message };
  const kept: StatedCondition[] =
    decision.draining === undefined
      ? []
      : [{ type: DRAINING, status: 'True', reason: 'PinnedWork', message: decision.draining }];
  return [
    rollout,
    ...kept,
    ...(revision.spec.source === 'git' ? [buildStatement(revision, decision)] : []),
  ];
}

/** States how the build stands: unknown until it has ended one way or the other. */
function buildStatement(
  { status }: RevisionResource,
  { phase, image = status?.image, message, reason }: Decision,
): StatedCondition {
  const buildCondition = (
    word: StatedCondition['status'],
    why: string,
    sentence: string,
  ): StatedCondition => ({
    type: BUILD_SUCCEEDED,
    status: word,
    reason: why,
    message: sentence,
  });
  if (image !== undefined) return buildCondition('True', 'Built', `The image is ${image}.`);
  return ENDED.includes(phase)
    ? buildCondition('False', reason ?? toPascalCase(phase), message)
    : buildCondition('Unknown', reason ?? toPascalCase(phase), message);
}

/** Turns `AWAITING_DEPLOY` into `AwaitingDeploy`. */
const toPascalCase = (phase: string): string =>
  phase
    .toLowerCase()
    .split('_')
    .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
    .join('');

/** Returns the digest of the image that the api pods run, so that a moved tag changes no later rollback. */
function findDigest(revision: RevisionResource, { apiPods }: RevisionWorld): string | undefined {
  const image = findRevisionImage(revision) ?? '';
  const ids = apiPods
    .flatMap((pod) => getPodStatus(pod).containerStatuses ?? [])
    .filter(({ name }) => name === AGENT_CONTAINER);
  return ids
    .map(({ imageID = '' }) => findImageDigest(imageID, image))
    .find((digest) => digest !== undefined);
}
