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
} from '../../schema/platform/conditions.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/platform/custom-resources.ts';
import type { DeploymentStatus } from '../../schema/platform/deployment.ts';
import { names } from '../../schema/names.ts';
import type { ObjectFault } from '../../schema/platform/object-fault.ts';
import { newestFirst } from '../../schema/platform/revision-of.ts';
import { conditionIn } from '../kernel/conditions.ts';
import {
  noLaterThan,
  settled,
  stalled,
  UNDER_WAY,
  waiting,
  type ReconcileOutcome,
  type Report,
  type StatedCondition,
} from '../kernel/outcome.ts';
import { databaseOf } from '../database/engines.ts';
import { areAgentsGone, availableReplicas, replicasOf } from '../pods/workload-state.ts';
import { replicasWanted } from '../rollout/replicas.ts';
import { reconcileRequest } from '../rollout/deployment.ts';
import { isEnded, revisionIn } from '../rollout/revisions.ts';
import { historyOf, nextExpiry } from './history.ts';
import type { DeploymentStatusFields, PartReport } from '../reports/part-report.ts';
import type { WrittenFacts } from './part.ts';

/** Characters of a message. */
const MOST = 4096;

/** Makes the status, the conditions and the outcome of a deployment from the facts and the reports of its parts. */
export function deploymentReport(facts: WrittenFacts, parts: PartReport[]): Report<DeploymentStatusFields> {
  const { deployment, active, trouble, revisions } = facts;
  const rest = restOf(facts);
  const serving = servingStatement(facts, rest);
  const unready = parts.find((part) => part.unready !== undefined)?.unready;
  const state = { ...rest, newest: newestFirst(revisions)[0], active, unready, serving, before: deployment.status?.phase };
  const underWay = parts.find((part) => part.underWay !== undefined)?.underWay;
  const outcome = trouble ?? butFor(underWay, outcomeOf(state));
  const due = [...parts.flatMap(({ again = [] }) => again), nextExpiry(revisions, active, historyOf(facts))];
  return {
    outcome: due.reduce<ReconcileOutcome>(noLaterThan, outcome),
    statements: [serving, ...parts.flatMap(({ statements = [] }) => statements)],
    status: {
      phase: phaseOf(state),
      ...revisionFields(revisions, active),
      ...parts.reduce((status, part) => ({ ...status, ...part.status }), {}),
      ...(outcome.kind === 'stalled' && { reason: outcome.reason }),
      message: outcome.message.slice(0, MOST),
      ...handledRequest(deployment),
    },
  };
}

/** Returns the newest revision, the serving one, and the version that its pods report. */
function revisionFields(revisions: RevisionResource[], active: string | undefined): DeploymentStatusFields {
  const newest = newestFirst(revisions)[0];
  const serverVersion = revisionIn(revisions, active)?.status?.serverVersion;
  return {
    ...(newest && { latestRevision: newest.metadata.name }),
    ...(active !== undefined && { activeRevision: active }),
    ...(serverVersion !== undefined && { serverVersion }),
  };
}

/** Returns the outcome of a change under way, if everything else is as asked. */
const butFor = (underWay: StatedCondition | undefined, outcome: ReconcileOutcome): ReconcileOutcome =>
  underWay === undefined || outcome.kind !== 'settled' ? outcome : waiting(underWay.reason, underWay.message);

/** Whether a deployment has no pods because its owner says so, or because nobody needs it. */
type Resting = {
  hibernates: boolean;
  /** True while it hibernates or sleeps. */
  isResting: boolean;
  /** True once no pod of it is left that is to stop. */
  stopped: boolean;
};

/** Returns how a deployment rests. */
function restOf(facts: WrittenFacts): Resting {
  const { spec } = facts.deployment;
  const hibernates = spec.hibernate === true;
  const areGone = areAgentsGone(facts.workloads, facts.agentPods);
  const stopped = areGone && (!hibernates || databaseOf(spec).isStopped(facts));
  return { hibernates, isResting: hibernates || facts.isAsleep, stopped };
}

/** Returns the outcome while its pods stop or are stopped, because its owner says so or nobody needs it. */
function outcomeOfRest({ hibernates, stopped }: Resting, serving: StatedCondition): ReconcileOutcome {
  // A workload may report later than its pods that they are gone.
  const isDone = stopped && serving.status !== 'True';
  if (hibernates)
    return isDone ? settled('All pods are stopped; the data is kept.', HIBERNATED) : waiting('Hibernating', 'The pods are being stopped.');
  return isDone
    ? settled('It sleeps, and wakes when somebody needs it.', ASLEEP)
    : waiting('FallingAsleep', 'It falls asleep: the pods are being stopped.');
}

function handledRequest(deployment: DeploymentResource): DeploymentStatusFields {
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
const isWaiting = (before: DeploymentStatus | undefined, unready: ReconcileOutcome | undefined): boolean =>
  before === 'UNUSED' || before === 'AWAITING_DATABASE' || unready?.reason === 'Restoring';

function phaseOf({ newest, active, unready, serving, isResting, before }: State): DeploymentStatus {
  if (serving.status === 'True') return 'READY';
  if (isResting || serving.reason === SCALED_TO_ZERO) return 'UNUSED';
  if (active !== undefined && isWaiting(before, unready)) return 'AWAITING_DATABASE';
  const isFirstUnderWay = active === undefined && (newest === undefined || !isEnded(newest));
  return isFirstUnderWay || (active === undefined && unready !== undefined) ? 'AWAITING_DATABASE' : 'UNKNOWN';
}

function outcomeOf(state: State): ReconcileOutcome {
  const { newest, active, unready, serving, isResting } = state;
  if (newest === undefined) return waiting('RevisionMissing', 'The revision is being made.');
  const { name } = newest.metadata;
  const isDeployed = newest.status?.phase === 'DEPLOYED';
  if (isEnded(newest) && !isDeployed) return failed(newest);
  if (isResting) return outcomeOfRest(state, serving);
  if (unready !== undefined) return unready;
  if (!isDeployed || active !== name) return rolling(newest);
  return isAsAsked(serving) ? wholeOrNot(newest, serving) : waiting(serving.reason, serving.message);
}

/**
 * Returns the outcome while traffic is served. It is not settled while some pods, perhaps those of the queue, are
 * broken.
 */
function wholeOrNot(newest: RevisionResource, serving: StatedCondition): ReconcileOutcome {
  const trouble = conditionIn(newest, READY);
  return trouble?.status === 'False'
    ? waiting(trouble.reason, `${serving.message} Some of its pods are not healthy. ${trouble.message}`)
    : settled(serving.message, serving.reason);
}

const isAsAsked = ({ status, reason }: StatedCondition): boolean => status === 'True' || reason === SCALED_TO_ZERO;

/**
 * Returns the outcome of a rollout. It repeats the revision's own message only if something is wrong, because the
 * message changes at every step.
 */
function rolling({ metadata, status }: RevisionResource): ReconcileOutcome {
  // The database is ready here. A revision that still says otherwise is about to notice.
  const reason = status?.reason === 'DatabaseNotReady' ? undefined : status?.reason;
  const detail = reason === undefined ? '' : ` ${status?.message ?? ''}`;
  return waiting(reason ?? UNDER_WAY, `Revision ${metadata.name} is being rolled out.${detail}`);
}

function failed({ metadata, status }: RevisionResource): ReconcileOutcome {
  const { phase = 'UNKNOWN', reason = phase, message = '' } = status ?? {};
  return stalled(reason, `Revision ${metadata.name} ended as ${phase}. ${message}`.trim());
}

function servingStatement(
  { workloads, revisions, active, settings }: WrittenFacts,
  { hibernates, isResting }: Pick<Resting, 'hibernates' | 'isResting'>,
): StatedCondition {
  if (active === undefined)
    return { type: SERVING, status: 'False', reason: 'NothingDeployed', message: 'No revision has been deployed yet.' };
  const api = workloads.find(({ metadata }) => metadata.name === names.apiWorkload(active));
  if (availableReplicas(api) > 0) return { type: SERVING, status: 'True', reason: 'Serving', message: `Revision ${active} serves.` };
  if (hibernates)
    return { type: SERVING, status: 'False', reason: HIBERNATED, message: `Revision ${active} serves again once the deployment wakes.` };
  if (isResting)
    return { type: SERVING, status: 'False', reason: ASLEEP, message: `Revision ${active} serves again when somebody needs it.` };
  const revision = revisionIn(revisions, active);
  if (revision !== undefined && replicasWanted(revision, 'api', settings) === 0 && replicasOf(api) === 0)
    return {
      type: SERVING,
      status: 'False',
      reason: SCALED_TO_ZERO,
      message: `Revision ${active} has no api pod, as its minScale of 0 asks.`,
    };
  return { type: SERVING, status: 'False', reason: 'NoReplicaAvailable', message: `No api pod of revision ${active} is available.` };
}

/** Reports that the API server refused one of the objects. Only another spec or setting helps. */
export function refusedDeployment(deployment: DeploymentResource, message: string): Report<DeploymentStatusFields> {
  const { conditions = [], observedGeneration: _, ...status } = deployment.status ?? {};
  const sentence = `The cluster refuses an object of the deployment: ${message}`.slice(0, MOST);
  return {
    outcome: stalled('Refused', sentence),
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
export const faultyDeployment = ({ status }: DeploymentResource, { reason, message }: ObjectFault): DeploymentStatusFields => ({
  phase: status?.activeRevision === undefined ? 'UNKNOWN' : (status.phase ?? 'UNKNOWN'),
  reason,
  message,
});
