import type { Change } from '../kube/cache.ts';
import type { KubeObject } from '../kube/kube.ts';
import {
  DATABASE_READY,
  READY,
  ROLLED_OUT,
  type Condition,
} from '../schema/platform/objects/conditions.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../schema/platform/resources/custom-resources.ts';
import { isReplacing } from '../schema/platform/backup/replacement.ts';
import { formatCanonicalJson } from '../schema/canonical-json.ts';
import { ENDED } from '../schema/platform/deployment/statuses.ts';
import { getDatabaseEngine } from './database/engines.ts';
import { isRollingOut } from './rollout/complete.ts';
import { findCondition, isTrue } from './kernel/conditions.ts';
import type { KindRow } from './kinds/row.ts';

/*
 * Filters changes that make no difference to a reconcile: Kubernetes writes a workload and its pods some ten times
 * until they are ready, and a reconcile reads little of that. A test compares these filters with the fields that
 * reconciles read (test/operator/unit/wake-reads.test.ts).
 */

/** Returns true if the change of a child may make a difference to a reconcile of its owner. */
export const isRelevantToOwner = ({ before, after }: Change, row: KindRow): boolean => {
  if (after === undefined) return true;
  if (before === undefined) return row.isSilent?.(after) !== true;
  return (
    formatCanonicalJson(pickReadParts(before, row)) !==
    formatCanonicalJson(pickReadParts(after, row))
  );
};

/**
 * Returns true if the change of a deployment may make a difference to its revisions. Of its status, only the fields of
 * readByRevisions do.
 */
export const isRelevantToRevisions = ({ before, after }: Change): boolean =>
  before === undefined ||
  after === undefined ||
  formatCanonicalJson(readByRevisions(before)) !== formatCanonicalJson(readByRevisions(after));

function readByRevisions(object: KubeObject): object {
  const deployment = object as DeploymentResource & KubeObject;
  const database = {
    address: getDatabaseEngine(deployment.spec).address(deployment),
    ready: isTrue(deployment, DATABASE_READY),
  };
  const {
    activeRevision: active,
    asleepSince: asleep,
    restoredAt,
    rollout,
  } = deployment.status ?? {};
  const draining = rollout?.draining;
  const kept = draining?.map(({ revision, runs, threads }) => [revision, runs, threads]);
  const tried = { candidate: rollout?.candidate, aborted: rollout?.aborted };
  return {
    ...pickDesiredState(object),
    status: {
      active,
      asleep,
      replacing: isReplacing(deployment),
      restoredAt,
      isPlanned: rollout !== undefined,
      kept,
      tried,
      database,
    },
  };
}

/**
 * Returns true if the change of a revision may make a difference to its deployment. Steps of a rollout that goes well
 * do not.
 */
export const isRelevantToDeployment = ({ before, after }: Change): boolean =>
  before === undefined ||
  after === undefined ||
  formatCanonicalJson(readByDeployment(before)) !== formatCanonicalJson(readByDeployment(after));

function readByDeployment(object: KubeObject): object {
  const revision = object as RevisionResource & KubeObject;
  const { status = {} } = revision;
  const { phase, reason, message, serverVersion, mountPrefix, guard, pin, endedAt } = status;
  const over =
    phase !== undefined && ENDED.includes(phase)
      ? { phase, endedAt, ready: pickConditionFields(findCondition({ status }, READY)) }
      : undefined;
  // The deployment itself knows more about the database.
  const trouble =
    reason === undefined || reason === 'DatabaseNotReady' ? undefined : [reason, message];
  return {
    ...pickDesiredState(object),
    status: {
      over,
      trouble,
      serverVersion,
      mountPrefix,
      guard,
      pin,
      underWay: isRollingOut(revision),
      rolledOut: isTrue({ status }, ROLLED_OUT),
    },
  };
}

/**
 * Returns true if the answer to a write shows a change that others asked for. A reconcile changes nothing that is asked
 * of its own object, and nothing else shows the change if the answer comes before the watch's event.
 */
export const isAskedByOthers = ({ before, after }: Change): boolean =>
  before !== undefined &&
  after !== undefined &&
  formatCanonicalJson(pickUserMetadata(before)) !== formatCanonicalJson(pickUserMetadata(after));

/** Returns true if the answer shows that others changed a child, whose status they write. */
export const isReportedByOthers = ({ before, after }: Change, { statusRead }: KindRow): boolean =>
  before !== undefined &&
  after !== undefined &&
  formatCanonicalJson({ status: statusRead?.(before) }) !==
    formatCanonicalJson({ status: statusRead?.(after) });

/** Returns the parts of an object that others change. Its finalizers are the reconcile's own. */
function pickUserMetadata({ metadata }: KubeObject): object {
  const { generation, deletionTimestamp, labels, annotations } = metadata as Record<
    string,
    unknown
  >;
  return { generation, deletionTimestamp, labels, annotations };
}

const pickConditionFields = (condition: Condition | undefined): string[] | undefined =>
  condition && [condition.status, condition.reason, condition.message];

/** Returns the parts of an object by which others ask for something. */
function pickDesiredState({ metadata, spec }: KubeObject): object {
  const {
    resourceVersion: _version,
    managedFields: _fields,
    ...asked
  } = metadata as Record<string, unknown>;
  return { metadata: asked, spec };
}

/** Returns the parts of an object that a reconcile may read. */
function pickReadParts(object: KubeObject, { statusRead }: KindRow): object {
  const {
    resourceVersion: _version,
    managedFields: _fields,
    annotations = {},
    ...metadata
  } = object.metadata as Record<string, unknown>;
  const { 'deployment.kubernetes.io/revision': _turn, ...kept } = annotations as Record<
    string,
    string
  >;
  // If the kind counts generations, another spec has another generation.
  const spec = object.metadata.generation === undefined ? object.spec : undefined;
  return { metadata: { ...metadata, annotations: kept }, spec, status: statusRead?.(object) };
}
