import {
  ASLEEP,
  BACKED_UP,
  DATABASE_READY,
  DRAINING,
  FOLLOWS_BRANCH,
  HIBERNATED,
  READY,
  RESTORED,
  ROUTED,
  SCALED_TO_ZERO,
  SERVING,
  POD_SECURITY_OPEN,
  TOKEN_MOUNTED,
  UNAUTHENTICATED,
  VOLUME_HAS_ROOM,
} from '../../schema/platform/objects/conditions.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { DeploymentStatus } from '../../schema/platform/deployment/statuses.ts';
import { names } from '../../schema/names.ts';
import type { ObjectFault } from '../../schema/platform/objects/object-fault.ts';
import { sortRevisions } from '../../schema/platform/resources/revision-of.ts';
import { findCondition } from '../kernel/conditions.ts';
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
import { getDatabaseEngine } from '../database/engines.ts';
import { hasNoAgentsLeft, getAvailableReplicas, getReplicas } from '../pods/workload-state.ts';
import { resolveWantedReplicas } from '../rollout/replicas.ts';
import { reconcileRequest } from '../rollout/deployment.ts';
import { isEnded, findRevisionByName } from '../rollout/revisions.ts';
import { resolveHistory, countSecondsToExpiry } from './history.ts';
import type { DeploymentStatusFields, PartReport } from '../reports/part-report.ts';
import { pickStatusFields } from '../reports/status-inputs.ts';
import type { WrittenFacts } from './part.ts';

/** Characters of a message. */
const MOST = 4096;

/** Makes the status, the conditions and the outcome of a deployment from the facts and the reports of its parts. */
export function buildDeploymentReport(
  facts: WrittenFacts,
  parts: PartReport[],
): Report<DeploymentStatusFields> {
  const { deployment, active, trouble, revisions } = facts;
  const rest = resolveRest(facts);
  const serving = buildServingCondition(facts, rest);
  const unready = parts.find((part) => part.unready !== undefined)?.unready;
  const state = {
    ...rest,
    newest: sortRevisions(revisions)[0],
    active,
    unready,
    serving,
    before: deployment.status?.phase,
  };
  const underWay = parts.find((part) => part.underWay !== undefined)?.underWay;
  const outcome = trouble ?? chooseOutcome(underWay, decideOutcome(state));
  const due = [
    ...parts.flatMap(({ again = [] }) => again),
    countSecondsToExpiry(revisions, active, resolveHistory(facts)),
  ];
  return {
    outcome: due.reduce<ReconcileOutcome>(limitDelay, outcome),
    statements: [serving, ...parts.flatMap(({ statements = [] }) => statements)],
    status: {
      phase: decidePhase(state),
      ...buildRevisionFields(revisions, active),
      ...parts.reduce((status, part) => ({ ...status, ...part.status }), {}),
      ...(outcome.kind === 'stalled' && { reason: outcome.reason }),
      message: outcome.message.slice(0, MOST),
      ...buildHandledRequest(deployment),
    },
  };
}

/** Returns the newest revision, the serving one, and the version that its pods report. */
function buildRevisionFields(
  revisions: RevisionResource[],
  active: string | undefined,
): DeploymentStatusFields {
  const newest = sortRevisions(revisions)[0];
  const serverVersion = findRevisionByName(revisions, active)?.status?.serverVersion;
  return {
    ...(newest && { latestRevision: newest.metadata.name }),
    ...(active !== undefined && { activeRevision: active }),
    ...(serverVersion !== undefined && { serverVersion }),
  };
}

/** Returns the outcome of a change under way, if everything else is as asked. */
const chooseOutcome = (
  underWay: StatedCondition | undefined,
  outcome: ReconcileOutcome,
): ReconcileOutcome =>
  underWay === undefined || outcome.kind !== 'settled'
    ? outcome
    : buildWaitingOutcome(underWay.reason, underWay.message);

/** Whether a deployment has no pods because its owner says so, or because nobody needs it. */
type Resting = {
  hibernates: boolean;
  /** True while it hibernates or sleeps. */
  isResting: boolean;
  /** True once no pod of it is left that is to stop. */
  stopped: boolean;
};

function resolveRest(facts: WrittenFacts): Resting {
  const { spec } = facts.deployment;
  const hibernates = spec.hibernate === true;
  const areGone = hasNoAgentsLeft(facts.workloads, facts.agentPods);
  const stopped = areGone && (!hibernates || getDatabaseEngine(spec).isStopped(facts));
  return { hibernates, isResting: hibernates || facts.isAsleep, stopped };
}

/** Returns the outcome while its pods stop or are stopped, because its owner says so or nobody needs it. */
function decideRestOutcome(
  { hibernates, stopped }: Resting,
  serving: StatedCondition,
): ReconcileOutcome {
  // A workload may report later than its pods that they are gone.
  const isDone = stopped && serving.status !== 'True';
  if (hibernates)
    return isDone
      ? buildSettledOutcome('All pods are stopped; the data is kept.', HIBERNATED)
      : buildWaitingOutcome('Hibernating', 'The pods are being stopped.');
  return isDone
    ? buildSettledOutcome('It sleeps, and wakes for the next request.', ASLEEP)
    : buildWaitingOutcome('FallingAsleep', 'It is falling asleep: the pods are being stopped.');
}

function buildHandledRequest(deployment: DeploymentResource): DeploymentStatusFields {
  const handled = reconcileRequest(deployment);
  return handled === undefined ? {} : { lastHandledReconcileAt: handled };
}

type State = Resting & {
  newest: RevisionResource | undefined;
  active: string | undefined;
  /** The outcome while it waits for one of its parts, such as its database. */
  unready: ReconcileOutcome | undefined;
  serving: StatedCondition;
  before: DeploymentStatus | undefined;
};

/** Returns true while it wakes, or gets other data. */
const isWaiting = (
  before: DeploymentStatus | undefined,
  unready: ReconcileOutcome | undefined,
): boolean =>
  before === 'UNUSED' || before === 'AWAITING_DATABASE' || unready?.reason === 'Restoring';

function decidePhase({
  newest,
  active,
  unready,
  serving,
  isResting,
  before,
}: State): DeploymentStatus {
  if (serving.status === 'True') return 'READY';
  if (isResting || serving.reason === SCALED_TO_ZERO) return 'UNUSED';
  if (active !== undefined && isWaiting(before, unready)) return 'AWAITING_DATABASE';
  const isFirstUnderWay = active === undefined && (newest === undefined || !isEnded(newest));
  return isFirstUnderWay || (active === undefined && unready !== undefined)
    ? 'AWAITING_DATABASE'
    : 'UNKNOWN';
}

function decideOutcome(state: State): ReconcileOutcome {
  const { newest, active, unready, serving, isResting } = state;
  if (newest === undefined)
    return buildWaitingOutcome('RevisionMissing', 'The revision is being made.');
  const { name } = newest.metadata;
  const isDeployed = newest.status?.phase === 'DEPLOYED';
  if (isEnded(newest) && !isDeployed) return buildFailedOutcome(newest);
  if (isResting) return decideRestOutcome(state, serving);
  if (unready !== undefined) return unready;
  if (!isDeployed || active !== name) return buildRollingOutcome(newest);
  return serving.status === 'True' || serving.reason === SCALED_TO_ZERO
    ? decideServingOutcome(newest, serving)
    : buildWaitingOutcome(serving.reason, serving.message);
}

/**
 * Returns the outcome while traffic is served. It is not settled while some pods, perhaps those of the queue, are
 * broken.
 */
function decideServingOutcome(
  newest: RevisionResource,
  serving: StatedCondition,
): ReconcileOutcome {
  const trouble = findCondition(newest, READY);
  return trouble?.status === 'False'
    ? buildWaitingOutcome(
        trouble.reason,
        `${serving.message} Some of its pods are not healthy. ${trouble.message}`,
      )
    : buildSettledOutcome(serving.message, serving.reason);
}

/**
 * Returns the outcome of a rollout. It repeats the revision's own message only if something is wrong, because the
 * message changes at every step.
 */
function buildRollingOutcome({ metadata, status }: RevisionResource): ReconcileOutcome {
  // The database is ready here. A revision that still says otherwise is about to notice.
  const reason = status?.reason === 'DatabaseNotReady' ? undefined : status?.reason;
  const detail = reason === undefined ? '' : ` ${status?.message ?? ''}`;
  return buildWaitingOutcome(
    reason ?? UNDER_WAY,
    `Revision ${metadata.name} is being rolled out.${detail}`,
  );
}

function buildFailedOutcome({ metadata, status }: RevisionResource): ReconcileOutcome {
  const { phase = 'UNKNOWN', reason = phase, message = '' } = status ?? {};
  return buildStalledOutcome(
    reason,
    `Revision ${metadata.name} ended as ${phase}. ${message}`.trim(),
  );
}

function buildServingCondition(
  { workloads, revisions, active, settings }: WrittenFacts,
  { hibernates, isResting }: Resting,
): StatedCondition {
  if (active === undefined)
    return {
      type: SERVING,
      status: 'False',
      reason: 'NothingDeployed',
      message: 'No revision has been deployed yet.',
    };
  const api = workloads.find(({ metadata }) => metadata.name === names.apiWorkload(active));
  if (getAvailableReplicas(api) > 0)
    return {
      type: SERVING,
      status: 'True',
      reason: 'Serving',
      message: `Revision ${active} serves.`,
    };
  if (hibernates)
    return {
      type: SERVING,
      status: 'False',
      reason: HIBERNATED,
      message: `Revision ${active} serves again once the deployment wakes.`,
    };
  if (isResting)
    return {
      type: SERVING,
      status: 'False',
      reason: ASLEEP,
      message: `Revision ${active} serves again with the next request.`,
    };
  const revision = findRevisionByName(revisions, active);
  if (
    revision !== undefined &&
    resolveWantedReplicas(revision, 'api', settings) === 0 &&
    getReplicas(api) === 0
  )
    return {
      type: SERVING,
      status: 'False',
      reason: SCALED_TO_ZERO,
      message: `Revision ${active} has no api pod, as its minScale of 0 asks.`,
    };
  return {
    type: SERVING,
    status: 'False',
    reason: 'NoReplicaAvailable',
    message: `No api pod of revision ${active} is available.`,
  };
}

/** Reports that the API server refused one of the objects. Only another spec or setting helps. */
export function buildRefusedDeploymentReport(
  deployment: DeploymentResource,
  message: string,
): Report<DeploymentStatusFields> {
  const { conditions = [], observedGeneration: _, ...status } = deployment.status ?? {};
  const sentence = `The cluster refuses an object of the deployment: ${message}`.slice(0, MOST);
  return {
    outcome: buildStalledOutcome('Refused', sentence),
    status: { ...status, reason: 'Refused', message: sentence },
    statements: conditions.filter(({ type }) =>
      [
        BACKED_UP,
        DATABASE_READY,
        DRAINING,
        FOLLOWS_BRANCH,
        RESTORED,
        ROUTED,
        SERVING,
        POD_SECURITY_OPEN,
        TOKEN_MOUNTED,
        UNAUTHENTICATED,
        VOLUME_HAS_ROOM,
      ].includes(type),
    ),
  };
}

/** Returns the status of a deployment that is out of bounds. One that serves goes on as it is. */
export const buildFaultyDeploymentStatus = (
  deployment: DeploymentResource,
  { reason, message }: ObjectFault,
): DeploymentStatusFields => ({
  // Budgets of its tenant count these sums.
  ...pickStatusFields(deployment, ['usageToday', 'usageYesterday', 'usageEarlier']),
  phase:
    deployment.status?.activeRevision === undefined
      ? 'UNKNOWN'
      : (deployment.status.phase ?? 'UNKNOWN'),
  reason,
  message,
});
