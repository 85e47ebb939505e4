import { Forbidden } from '../../errors.ts';
import { kinds, type Kind, type KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, SECRETS_OF } from '../../schema/labels.ts';
import { labelValue, names } from '../../schema/names.ts';
import type { OperatorDeps } from '../family/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { settled, waiting, type Report } from '../kernel/outcome.ts';
import { databaseOf } from '../database/engines.ts';
import { isOrphan } from '../pods/workload-state.ts';
import type { DeploymentStatusFields } from './status.ts';
import { tenantIn } from './tracing-project.ts';

const LOOK_AGAIN = 2;
const CHILDREN: Kind[] = [
  kinds.revision,
  kinds.workload,
  kinds.job,
  kinds.service,
  kinds.statefulSet,
  kinds.networkPolicy,
  kinds.disruptionBudget,
  kinds.endpointSlice,
  kinds.autoscaler,
  kinds.pod,
];

/** Removes what a deployment had. Its policy decides about its data. The outcome is settled when nothing is left. */
export const finalizeDeployment =
  (deps: OperatorDeps): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (deployment, { signal }) => {
    const children = await remaining(deps, deployment, signal);
    const database = databaseOf(deployment.spec);
    await database.hold(deps, deployment, { children, signal });
    for (const child of removable(children)) await deps.writer.remove(child, signal);
    if (children.length > 0) return leaving(deployment, children);
    const data = await database.release(deps, deployment, signal);
    if (data.length > 0) return leaving(deployment, data);
    await removeTracingProject(deps, deployment, signal);
    return { ...leaving(deployment, []), outcome: settled('Nothing is left.', 'Deleted') };
  };

const unlessForbidden = (error: unknown): [] => {
  if (error instanceof Forbidden) return [];
  throw error;
};

/** What agents use until they are gone. */
const SERVING_AGENTS = ['database', 'store'];
const AGENT_KINDS = ['Revision', 'Deployment', 'Job'];

/**
 * Returns what is deleted next: the agents first, because a server that stops still writes to its database, then the
 * rest. Pods go with their workloads, and a set stays until it has adopted its lost pod.
 */
export function removable(children: KubeObject[]): KubeObject[] {
  const isAgent = ({ kind, metadata }: KubeObject): boolean =>
    AGENT_KINDS.includes(kind) || (kind === 'Pod' && !SERVING_AGENTS.includes(metadata.labels?.[COMPONENT] ?? ''));
  const next = children.some(isAgent) ? children.filter(isAgent) : children;
  const stays = children.some((child) => isOrphan(child, 'database')) ? ['Pod', 'StatefulSet'] : ['Pod'];
  return next.filter(({ kind, metadata }) => !stays.includes(kind) && metadata.deletionTimestamp === undefined);
}

/**
 * Lists what is left, from the API server and not from the caches, because the finalizer must not go before the
 * objects.
 */
async function remaining(
  { kube }: Pick<OperatorDeps, 'kube'>,
  { metadata }: DeploymentResource,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const scope = { ...(metadata.namespace !== undefined && { namespace: metadata.namespace }) };
  const lists = await Promise.all(
    CHILDREN.map((kind) => kube.all(kind, { ...scope, labelSelector: `${DEPLOYMENT}=${labelValue(metadata.name)}` }, signal)),
  );
  const isMine = (object: KubeObject): boolean => {
    if (object.kind === 'Revision') return (object.spec as { deploymentUid?: string }).deploymentUid === metadata.uid;
    return object.metadata.annotations?.[DEPLOYMENT] === metadata.name;
  };
  // A missing right must not hold the deployment for ever. It may be missing because the namespace is being deleted.
  const secrets = await kube
    .all(kinds.secret, { ...scope, labelSelector: `${SECRETS_OF}=${labelValue(metadata.name)}` }, signal)
    .catch(unlessForbidden);
  return [...lists.flat().filter(isMine), ...secrets];
}

type Removing = Pick<OperatorDeps, 'kube' | 'caches' | 'settings'>;

async function removeTracingProject({ kube, caches, settings }: Removing, deployment: DeploymentResource, signal: AbortSignal) {
  if (deployment.spec.deleteTracingProject !== true) return;
  const { namespace, name } = deployment.metadata;
  const project = names.tracingProject(tenantIn(deployment, caches, settings) ?? '', name);
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
