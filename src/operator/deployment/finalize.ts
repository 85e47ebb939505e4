import { Forbidden } from '../../errors.ts';
import { kinds, type Kind, type KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, SECRETS_OF } from '../../schema/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import type { OperatorDeps } from '../family/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { settled, waiting, type Report } from '../kernel/outcome.ts';
import { databaseSet } from '../database/own/set.ts';
import { dataOwner } from '../family/metadata.ts';
import { listCredentials } from '../database/own/credentials/list.ts';
import type { DeploymentStatusFields } from './status.ts';
import { tenantIn } from './tracing-project.ts';
import { claimName } from '../database/own/volume.ts';

const LOOK_AGAIN = 2;
const CHILDREN: Kind[] = [
  kinds.revision,
  kinds.workload,
  kinds.job,
  kinds.service,
  kinds.statefulSet,
  kinds.networkPolicy,
  kinds.disruptionBudget,
  kinds.pod,
];

/** Removes what a deployment had; what is left of its data is the policy's word. Ends when nothing else is there any more. */
export const finalizeDeployment =
  (deps: OperatorDeps): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (deployment, { signal }) => {
    const children = await remaining(deps, deployment, signal);
    if (children.some(isLost)) await holdAgain(deps, deployment, { children, signal });
    for (const child of removable(children)) await deps.writer.remove(child, signal);
    if (children.length > 0) return leaving(deployment, children);
    const data = await removeData(deps, deployment, signal);
    if (data.length > 0) return leaving(deployment, data);
    await removeTracingProject(deps, deployment, signal);
    return { ...leaving(deployment, []), outcome: settled('Nothing is left.', 'Deleted') };
  };

const unlessForbidden = (error: unknown): [] => {
  if (error instanceof Forbidden) return [];
  throw error;
};

const AGENT_KINDS = ['Revision', 'Deployment', 'Job'];

/**
 * What goes next: the agents first, because a server that stops still writes to its database, then the rest. Pods go with their
 * workloads, in their own time; a set stays until it has taken its lost pod.
 */
export function removable(children: KubeObject[]): KubeObject[] {
  const isAgent = ({ kind, metadata }: KubeObject): boolean =>
    AGENT_KINDS.includes(kind) || (kind === 'Pod' && metadata.labels?.[COMPONENT] !== 'database');
  const next = children.some(isAgent) ? children.filter(isAgent) : children;
  const stays = children.some(isLost) ? ['Pod', 'StatefulSet'] : ['Pod'];
  return next.filter(({ kind, metadata }) => !stays.includes(kind) && metadata.deletionTimestamp === undefined);
}

/** A database pod without its set: the deployment was deleted between the two steps in which a volume grows. */
const isLost = ({ kind, metadata }: KubeObject): boolean =>
  kind === 'Pod' &&
  metadata.labels?.[COMPONENT] === 'database' &&
  (metadata.ownerReferences ?? []).length === 0 &&
  metadata.deletionTimestamp === undefined;

type Left = { children: KubeObject[]; signal: AbortSignal };

/** Makes the set again, which takes the pod and goes together with it: the operator itself has no right to delete pods. */
async function holdAgain({ writer, settings }: OperatorDeps, deployment: DeploymentResource, { children, signal }: Left): Promise<void> {
  if (children.some(({ kind }) => kind === 'StatefulSet')) return;
  await writer.reconcile([databaseSet(deployment, settings, {})], [], signal);
}

/** Live, not from the caches: the finalizer must not go before its objects. */
async function remaining({ kube }: OperatorDeps, { metadata }: DeploymentResource, signal: AbortSignal): Promise<KubeObject[]> {
  const scope = { ...(metadata.namespace !== undefined && { namespace: metadata.namespace }) };
  const lists = await Promise.all(
    CHILDREN.map((kind) => kube.all(kind, { ...scope, labelSelector: `${DEPLOYMENT}=${labelValue(metadata.name)}` }, signal)),
  );
  const isMine = (object: KubeObject): boolean => {
    if (object.kind === 'Revision') return (object.spec as { deploymentUid?: string }).deploymentUid === metadata.uid;
    return object.metadata.annotations?.[DEPLOYMENT] === metadata.name;
  };
  // A right that was taken back, or that went with a namespace that is being deleted, must not hold the deployment for ever.
  const secrets = await kube
    .all(kinds.secret, { ...scope, labelSelector: `${SECRETS_OF}=${labelValue(metadata.name)}` }, signal)
    .catch(unlessForbidden);
  return [...lists.flat().filter(isMine), ...secrets];
}

/** The volume and its credential, where the policy is Delete and the data is this deployment's own. */
async function removeData({ kube, settings }: OperatorDeps, deployment: DeploymentResource, signal: AbortSignal): Promise<KubeObject[]> {
  const { namespace } = deployment.metadata;
  const policy = deployment.spec.deletionPolicy ?? settings.deletionPolicy;
  if (policy === 'Retain' || deployment.spec.database?.external !== undefined) return [];
  const claim = claimName(deployment);
  const credentials = await listCredentials({ kube }, deployment, signal).catch(unlessForbidden);
  const admin = names.databaseAdmin(deployment.metadata.name, dataOwner(deployment));
  for (const secret of [...credentials.map((known) => known.secret), admin])
    await kube.delete(kinds.secret, { namespace, name: secret }, {}, signal).catch(unlessForbidden);
  await kube.delete(kinds.volumeClaim, { namespace, name: claim }, {}, signal);
  const scope = { ...(namespace !== undefined && { namespace }) };
  return kube.all(kinds.volumeClaim, { ...scope, fieldSelector: `metadata.name=${claim}` }, signal);
}

async function removeTracingProject({ kube, caches, settings }: OperatorDeps, deployment: DeploymentResource, signal: AbortSignal) {
  if (deployment.spec.deleteTracingProject !== true) return;
  const { namespace, name } = deployment.metadata;
  const project = names.tracingProject(tenantIn(deployment, caches, settings), name);
  await kube.delete(kinds.tracingProject, { namespace, name: project }, {}, signal);
}

function leaving(deployment: DeploymentResource, left: KubeObject[]): Report<DeploymentStatusFields> {
  const found = left.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
  const message = `Being deleted; still there: ${found.slice(0, 10).join(', ')}.`;
  const { conditions = [], observedGeneration: _, reason: _reason, ...status } = deployment.status ?? {};
  return {
    outcome: waiting('Deleting', message, LOOK_AGAIN),
    status: { ...status, phase: 'AWAITING_DELETE', message },
    statements: conditions.filter(({ type }) => type === 'DatabaseReady'),
  };
}
