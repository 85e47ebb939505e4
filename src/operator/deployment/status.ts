import type { OperatorSettings } from '../../config/operator.ts';
import {
  ASLEEP,
  DATABASE_READY,
  FOLLOWS_BRANCH,
  HIBERNATED,
  READY,
  SCALED_TO_ZERO,
  SERVING,
  POD_SECURITY_OPEN,
  TOKEN_MOUNTED,
  UNAUTHENTICATED,
  VOLUME_HAS_ROOM,
} from '../../schema/conditions.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import type { DeploymentStatus } from '../../schema/deployment.ts';
import { names } from '../../schema/names.ts';
import type { ObjectFault } from '../../schema/object-fault.ts';
import { newestFirst } from '../../schema/revision-of.ts';
import type { StoreKept } from '../store/keep.ts';
import { storeStatement } from '../store/ready.ts';
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
import { availableReplicas, replicasOf } from '../pods/workload-state.ts';
import { replicasWanted } from '../family/replicas.ts';
import type { DatabaseReport, Prepared } from '../database/database.ts';
import { databaseOf } from '../database/engines.ts';
import { reconcileRequest } from '../family/deployment.ts';
import type { KeyKept } from './keep-key.ts';
import type { DeploymentWorld } from './observe.ts';
import { isEnded } from '../family/revisions.ts';
import { apiStatement } from './autoscaler.ts';
import type { QueueState } from '../scale/queue-scale.ts';
import { queueReport } from './queue-status.ts';
import { outcomeOfRest, restOf, type Resting } from './rest.ts';
import { sleepFields } from './sleep.ts';
import { urlOf } from './service.ts';
import { trust } from './trust.ts';
import { fieldsWithoutEffect, withoutEffect } from './without-effect.ts';

export type DeploymentStatusFields = NonNullable<DeploymentResource['status']>;

/** The world as it was seen, updated with what was written since; and the objects as they were applied. */
export type Written = { world: DeploymentWorld; objects: KubeObject[] };

export type DeploymentView = {
  written: Written;
  active: string | undefined;
  /** What prevents everything else. */
  trouble?: ReconcileOutcome | undefined;
  prepared: Prepared;
  /** The key of its agents. Undefined if this pass did not look after it. */
  key?: KeyKept | undefined;
  /** The same of its key-value store. */
  store?: StoreKept | undefined;
  /** The condition of the step that the database took after its objects were applied. */
  step?: StatedCondition | undefined;
  /** Tells that its tracing project is another deployment's, too. */
  shared?: StatedCondition[];
  /** What was decided about its queue, by the work there is. */
  queue?: QueueState | undefined;
  now: Date;
};

/** Characters of a message. */
const MOST = 4096;

/** Makes the status, the conditions and the outcome of a deployment from what was observed. */
export function deploymentReport(
  deployment: DeploymentResource,
  { written: { world, objects }, active, trouble, prepared, key, store, step, shared = [], queue, now }: DeploymentView,
  settings: OperatorSettings,
): Report<DeploymentStatusFields> {
  const engine = databaseOf(deployment.spec);
  const database = engine.report(deployment, { view: world, written: objects, settings, active, secret: prepared.secret, now });
  const rest = restOf(deployment, world);
  const serving = servingStatement(world, { active, ...rest, settings });
  const state = {
    newest: newestFirst(world.revisions)[0],
    active,
    database: database.ready,
    serving,
    ...rest,
    before: deployment.status?.phase,
    poll: database.poll,
  };
  const outcome = trouble ?? butFor(prepared.underWay, outcomeOf(state));
  const scaled = queueReport(deployment, { ...world, active, state: queue, settings });
  return {
    outcome: noLaterThan(outcome, database.again),
    statements: [
      database.ready,
      serving,
      ...trust(world, active),
      ...database.statements,
      ...scaled.statements,
      ...apiStatement(deployment, { revision: world.revisions.find(({ metadata }) => metadata.name === active), settings }, objects),
      ...(step === undefined ? [] : [step]),
      ...prepared.statements,
      ...storeStatement(deployment, objects),
      ...shared,
      ...withoutEffect(fieldsWithoutEffect(deployment, settings, engine.withoutEffect), settings),
    ],
    status: {
      phase: phaseOf(state),
      url: urlOf(deployment, settings, { service: world.service, mountPrefix: activeStatus(world.revisions, active)?.mountPrefix }),
      ...revisionFields(world.revisions, active),
      ...databaseFields(deployment, prepared, database),
      ...scaled.status,
      ...secretFields(deployment, key, store),
      ...sleepFields(deployment),
      ...(outcome.kind === 'stalled' && { reason: outcome.reason }),
      message: outcome.message.slice(0, MOST),
      ...handledRequest(deployment),
    },
  };
}

const activeStatus = (revisions: RevisionResource[], active: string | undefined): RevisionResource['status'] =>
  revisions.find(({ metadata }) => metadata.name === active)?.status;

/** Returns the newest revision, the serving one, and the version that its pods report. */
function revisionFields(revisions: RevisionResource[], active: string | undefined): DeploymentStatusFields {
  const newest = newestFirst(revisions)[0];
  const serverVersion = activeStatus(revisions, active)?.serverVersion;
  return {
    ...(newest && { latestRevision: newest.metadata.name }),
    ...(active !== undefined && { activeRevision: active }),
    ...(serverVersion !== undefined && { serverVersion }),
  };
}

/** Returns what the database has under way, if everything else is as asked. */
const butFor = (underWay: StatedCondition | undefined, outcome: ReconcileOutcome): ReconcileOutcome =>
  underWay === undefined || outcome.kind !== 'settled' ? outcome : waiting(underWay.reason, underWay.message);

/**
 * Returns what the status says about the database. A Secret that is gone or broken stays the one that pods were started
 * with.
 */
function databaseFields({ status }: DeploymentResource, { secret, status: fields }: Prepared, { template }: DatabaseReport) {
  const { databaseSecret, databaseSecretVersion } = status ?? {};
  const named = secret !== undefined && 'secret' in secret ? secret : { secret: databaseSecret, version: databaseSecretVersion };
  return {
    ...(named.secret !== undefined && { databaseSecret: named.secret }),
    ...(named.version !== undefined && { databaseSecretVersion: named.version }),
    ...fields,
    ...(template !== undefined && { databaseTemplate: template }),
  };
}

/** Returns what the status already says of the key. */
const keyFields = ({
  status: { keySecret, keyRequest, keyPreviousUntil, keyHashes } = {},
}: DeploymentResource): DeploymentStatusFields => ({
  ...(keySecret !== undefined && { keySecret }),
  ...(keyHashes !== undefined && { keyHashes }),
  ...(keyRequest !== undefined && { keyRequest }),
  ...(keyPreviousUntil !== undefined && { keyPreviousUntil }),
});

/** Returns what the status says of the Secrets of agents. A pass that did not look after them says the same again. */
const secretFields = (deployment: DeploymentResource, key?: KeyKept, store?: StoreKept): DeploymentStatusFields => ({
  ...(key?.status ?? keyFields(deployment)),
  ...(store ?? (deployment.status?.storeSecret !== undefined && { storeSecret: deployment.status.storeSecret })),
});

function handledRequest(deployment: DeploymentResource): DeploymentStatusFields {
  const handled = reconcileRequest(deployment);
  return handled === undefined ? {} : { lastHandledReconcileAt: handled };
}

type State = Resting & {
  newest: RevisionResource | undefined;
  active: string | undefined;
  database: StatedCondition;
  serving: StatedCondition;
  before: DeploymentStatus | undefined;
  /** Seconds after which to look again while the database is not ready. */
  poll: number | undefined;
};

function phaseOf({ newest, active, database, serving, isResting, before }: State): DeploymentStatus {
  if (serving.status === 'True') return 'READY';
  if (isResting || serving.reason === SCALED_TO_ZERO) return 'UNUSED';
  const isWaking = active !== undefined && (before === 'UNUSED' || before === 'AWAITING_DATABASE');
  if (isWaking) return 'AWAITING_DATABASE';
  const isFirstUnderWay = active === undefined && (newest === undefined || !isEnded(newest));
  return isFirstUnderWay || (active === undefined && database.status !== 'True') ? 'AWAITING_DATABASE' : 'UNKNOWN';
}

function outcomeOf(state: State): ReconcileOutcome {
  const { newest, active, database, serving, isResting, poll } = state;
  if (newest === undefined) return waiting('RevisionMissing', 'The revision is being made.');
  const { name } = newest.metadata;
  const isDeployed = newest.status?.phase === 'DEPLOYED';
  if (isEnded(newest) && !isDeployed) return failed(newest);
  if (isResting) return outcomeOfRest(state, serving);
  if (database.status !== 'True') return waiting(database.reason, database.message, poll);
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
  const said = reason === undefined ? '' : ` ${status?.message ?? ''}`;
  return waiting(reason ?? UNDER_WAY, `Revision ${metadata.name} is being rolled out.${said}`);
}

function failed({ metadata, status }: RevisionResource): ReconcileOutcome {
  const { phase = 'UNKNOWN', reason = phase, message = '' } = status ?? {};
  return stalled(reason, `Revision ${metadata.name} ended as ${phase}. ${message}`.trim());
}

type Served = Pick<Resting, 'hibernates' | 'isResting'> & { active: string | undefined; settings: OperatorSettings };

function servingStatement({ workloads, revisions }: DeploymentWorld, { active, hibernates, isResting, settings }: Served): StatedCondition {
  if (active === undefined)
    return { type: SERVING, status: 'False', reason: 'NothingDeployed', message: 'No revision has been deployed yet.' };
  const api = workloads.find(({ metadata }) => metadata.name === names.apiWorkload(active));
  if (availableReplicas(api) > 0) return { type: SERVING, status: 'True', reason: 'Serving', message: `Revision ${active} serves.` };
  if (hibernates)
    return { type: SERVING, status: 'False', reason: HIBERNATED, message: `Revision ${active} serves again once the deployment wakes.` };
  if (isResting)
    return { type: SERVING, status: 'False', reason: ASLEEP, message: `Revision ${active} serves again when somebody needs it.` };
  const revision = revisions.find(({ metadata }) => metadata.name === active);
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
  const sentence = `The cluster refuses what the deployment asks for: ${message}`.slice(0, MOST);
  return {
    outcome: stalled('Refused', sentence),
    status: { ...status, reason: 'Refused', message: sentence },
    statements: conditions.filter(({ type }) =>
      [DATABASE_READY, FOLLOWS_BRANCH, SERVING, POD_SECURITY_OPEN, TOKEN_MOUNTED, UNAUTHENTICATED, VOLUME_HAS_ROOM].includes(type),
    ),
  };
}

/** Returns what the status of a deployment says that is out of bounds. One that serves goes on as it is. */
export const faultyDeployment = ({ status }: DeploymentResource, { reason, message }: ObjectFault): DeploymentStatusFields => ({
  phase: status?.activeRevision === undefined ? 'UNKNOWN' : (status.phase ?? 'UNKNOWN'),
  reason,
  message,
});
