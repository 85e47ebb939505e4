import type { Change } from '../kube/cache.ts';
import type { KubeObject } from '../kube/kube.ts';
import { DATABASE_READY } from '../schema/conditions.ts';
import type { DeploymentResource } from '../schema/custom-resources.ts';
import { canonicalJson } from '../schema/revision-of.ts';
import { statusOfPod } from './diagnose.ts';
import { conditionIn } from './kernel/conditions.ts';
import { factsOf } from './workload-state.ts';

type DeploymentStatus = NonNullable<DeploymentResource['status']>;

/*
 * Kubernetes writes a workload and its pods some ten times until they are ready, and most of it says nothing that a reconcile reads.
 */

/** The change of a child may make a difference to a reconcile of its owner (pure). */
export const isNews = ({ before, after }: Change): boolean => {
  if (after === undefined) return true;
  if (before === undefined) return !isUntold(after);
  return canonicalJson(readOf(before)) !== canonicalJson(readOf(after));
};

/** A pod that nobody has said a word of yet: it was waited for already. */
const isUntold = (object: KubeObject): boolean =>
  object.kind === 'Pod' && Object.values(statusOfPod(object)).every((value) => value === undefined || value === 'Pending');

/** The change of a deployment may make a difference to its revisions (pure): what its status says of itself does not. */
export const isNewsToRevisions = ({ before, after }: Change): boolean =>
  before === undefined || after === undefined || canonicalJson(readByRevisions(before)) !== canonicalJson(readByRevisions(after));

function readByRevisions({ metadata, spec, status }: KubeObject): object {
  const { resourceVersion: _version, managedFields: _fields, ...told } = metadata as Record<string, unknown>;
  const { phase: _phase, reason: _reason, message: _message, observedGeneration: _seen, ...known } = (status ?? {}) as DeploymentStatus;
  const database = conditionIn({ status: known }, DATABASE_READY);
  return { metadata: told, spec, status: { ...known, conditions: [database?.status, database?.message] } };
}

/** Of an object what a reconcile may read. */
function readOf(object: KubeObject): object {
  const { resourceVersion: _version, managedFields: _fields, annotations = {}, ...metadata } = object.metadata as Record<string, unknown>;
  const { 'deployment.kubernetes.io/revision': _turn, ...told } = annotations as Record<string, string>;
  // Where generations are counted, another spec is another generation.
  const spec = object.metadata.generation === undefined ? object.spec : undefined;
  return { metadata: { ...metadata, annotations: told }, spec, status: statusRead(object) };
}

function statusRead(object: KubeObject): object | undefined {
  switch (object.kind) {
    case 'Pod': {
      const { conditions = [], ...status } = statusOfPod(object);
      // That it was scheduled, or initialised, shows by what its containers do next.
      const read = conditions.filter(({ type, status: is }) => type === 'Ready' || type === 'DisruptionTarget' || is === 'False');
      return { ...status, conditions: read.map(({ type, status: is, reason, message }) => ({ type, is, reason, message })) };
    }
    case 'Deployment':
    case 'StatefulSet':
      return factsOf(object);
    default:
      return undefined;
  }
}
