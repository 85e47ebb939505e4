import { BUILD_SUCCEEDED, ROLLED_OUT } from '../../schema/platform/objects/conditions.ts';
import type { RevisionResource } from '../../schema/platform/resources/custom-resources.ts';
import type { RevisionStatus } from '../../schema/platform/deployment/statuses.ts';
import type { ObjectFault } from '../../schema/platform/objects/object-fault.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import { Denied, type KubeRefused } from '../../kube/errors.ts';
import { findRevisionImage, isEnded } from '../rollout/revisions.ts';
import {
  buildStalledOutcome,
  buildWaitingOutcome,
  type ReconcileOutcome,
  type Report,
} from '../kernel/outcome.ts';
import { hasBeenPaused } from './deadline.ts';
import { buildIdleDecision } from './decision.ts';
import { buildRevisionConditions, type RevisionStatusFields } from './status.ts';

type Refusal = {
  refusal: KubeRefused | Denied;
  /** True if one of its workloads exists. */
  isMade: boolean;
  /** Seconds until its deadline. */
  secondsLeft: number;
  now: Date;
};

/** Seconds after which a quota is tried again. Nothing wakes the revision when it gets room. */
const QUOTA_POLL = 10;

/**
 * Reports that the API server refused one of the objects. A quota may get room, so the revision waits for it until the
 * deadline. Nothing else that was refused becomes possible later. A revision without a workload could not be created,
 * and one with a workload has failed to roll out. Undefined for the repair of a revision that has ended, which is tried
 * again.
 */
export function buildRefusedRevisionReport(
  revision: RevisionResource,
  refused: Refusal,
): Report<RevisionStatusFields> | undefined {
  const { refusal, isMade } = refused;
  if (isEnded(revision))
    return refusal instanceof Denied ? undefined : buildUnrepairedReport(revision, refusal);
  if (refusal instanceof Denied && refusal.isQuota)
    return buildQuotaReport(revision, refusal, refused);
  return buildReport(
    revision,
    { phase: isMade ? 'DEPLOY_FAILED' : 'CREATE_FAILED', endedAt: refused.now },
    buildRefusedOutcome(refusal),
  );
}

/** Characters of a message. */
const MOST = 4096;

const buildRefusedOutcome = ({ message }: Error): ReconcileOutcome =>
  buildStalledOutcome(
    'Refused',
    `The cluster refuses what the revision asks for: ${message}`.slice(0, MOST),
  );

function buildQuotaReport(
  revision: RevisionResource,
  { message: words }: Denied,
  { secondsLeft, now }: Refusal,
): Report<RevisionStatusFields> {
  const message = `The namespace's quota leaves no room for the revision's objects: ${words}`;
  const isBuilt = findRevisionImage(revision) !== undefined;
  if (secondsLeft <= 0) {
    const failed = buildStalledOutcome(
      'QuotaExceeded',
      `Not ready in time. ${message}`.slice(0, MOST),
    );
    return buildReport(
      revision,
      { phase: isBuilt ? 'DEPLOY_FAILED' : 'BUILD_FAILED', endedAt: now },
      failed,
    );
  }
  const { phase } = revision.status ?? {};
  const next = isBuilt ? 'AWAITING_DEPLOY' : 'AWAITING_BUILD';
  const again = Math.max(1, Math.ceil(Math.min(QUOTA_POLL, secondsLeft)));
  const outcome = buildWaitingOutcome('QuotaExceeded', message.slice(0, MOST), again);
  return buildReport(
    revision,
    { phase: isBuilt && phase === 'DEPLOYING' ? phase : next, startedAt: now },
    outcome,
  );
}

/** Returns the former status with the changes by the refusal. */
function buildReport(
  revision: RevisionResource,
  { phase, startedAt, endedAt }: { phase: RevisionStatus; startedAt?: Date; endedAt?: Date },
  outcome: ReconcileOutcome,
): Report<RevisionStatusFields> {
  const { conditions: _, observedGeneration: _generation, ...before } = revision.status ?? {};
  const { reason, message } = outcome;
  return {
    outcome,
    status: {
      ...before,
      phase,
      reason,
      message,
      ...(startedAt &&
        (before.startedAt === undefined || hasBeenPaused(revision)) && {
          startedAt: formatKubernetesTime(startedAt),
        }),
      ...(endedAt && { endedAt: formatKubernetesTime(endedAt) }),
    },
    statements: buildRevisionConditions(revision, buildIdleDecision(phase, message, { reason })),
  };
}

/** Reports that the objects of an ended revision can't be repaired. Its phase stays. */
function buildUnrepairedReport(
  { status }: RevisionResource,
  refusal: KubeRefused,
): Report<RevisionStatusFields> {
  const { conditions = [], observedGeneration: _, ...before } = status ?? {};
  const known = conditions.filter(({ type }) => type === ROLLED_OUT || type === BUILD_SUCCEEDED);
  return { outcome: buildRefusedOutcome(refusal), status: before, statements: known };
}

/** Returns the status of a revision that is out of bounds. One that has ended stays as it ended. */
export const buildFaultyRevisionStatus = (
  revision: RevisionResource,
  { reason, message }: ObjectFault,
  now: Date,
): Partial<RevisionStatusFields> =>
  isEnded(revision)
    ? {}
    : { phase: 'CREATE_FAILED', reason, message, endedAt: formatKubernetesTime(now) };
