import { Forbidden, NotFound } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { isOfKind } from '../../kube/object-key.ts';
import { BACKED_UP, DATABASE_READY } from '../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { COMPONENT, DEPLOYMENT, SECRETS_OF } from '../../schema/platform/objects/labels.ts';
import { toLabelValue, names } from '../../schema/names.ts';
import type { OperatorDeps } from '../view/deps.ts';
import type { Reconcile } from '../kernel/controller.ts';
import { buildSettledOutcome, buildWaitingOutcome, type Report } from '../kernel/outcome.ts';
import type { KindRow, KindTable } from '../kinds/row.ts';
import { AWAITING, isAwaitingBackup, type LastBackupPlan } from '../backup/before-deletion-plan.ts';
import {
  isLastBackupObject,
  observeLastBackup,
  stepLastBackup,
} from '../backup/before-deletion.ts';
import { getDatabaseEngine } from '../database/engines.ts';
import { isOrphan } from '../pods/workload-state.ts';
import type { DeploymentStatusFields } from '../reports/part-report.ts';
import { observeDeployment } from './observe.ts';
import { findDeploymentTenant } from '../view/tenancy.ts';

const LOOK_AGAIN = 2;
/** Seconds after which to look again at the backup that a deletion waits for. Its pod wakes the deployment, too. */
const LOOK_AGAIN_AT_BACKUP = 5;

/** Removes the objects of a deployment. Its policy decides about its data. It is settled when nothing is left. */
export const buildDeploymentFinalizer =
  (deps: OperatorDeps): Reconcile<DeploymentResource, DeploymentStatusFields> =>
  async (deployment, { signal, now }) => {
    const children = await listRemaining(deps, deployment, signal);
    const database = getDatabaseEngine(deployment.spec);
    await database.hold(deps, deployment, { children, signal });
    const last = await takeLastBackup(deps, deployment, { children, signal, now });
    if (last?.state === 'waits' || last?.isStored === false)
      return buildAwaitingReport(deployment, last);
    for (const child of listRemovableChildren(children, deps.table))
      await deps.writer.remove(child, signal);
    if (children.length > 0) return buildLeavingReport(deployment, children);
    const data = last?.keepsData === true ? [] : await database.release(deps, deployment, signal);
    if (data.length > 0) return buildLeavingReport(deployment, data);
    await removeTracingProject(deps, deployment, signal);
    return {
      ...buildLeavingReport(deployment, []),
      outcome: buildSettledOutcome('Nothing is left.', 'Deleted'),
    };
  };

/**
 * Makes the backup before a deletion that deletes data. The agents go first, because a server that stops still writes.
 * Undefined if the deletion waits for none.
 */
async function takeLastBackup(
  deps: OperatorDeps,
  deployment: DeploymentResource,
  { children, signal, now }: { children: KubeObject[]; signal: AbortSignal; now: Date },
): Promise<LastBackupPlan | undefined> {
  if (!isAwaitingBackup(deployment, deps.settings)) return undefined;
  const world = observeDeployment(deps, deployment);
  const plan = await observeLastBackup(deps, { ...world, deployment, signal, now });
  if (plan.state === 'over') return plan;
  const others = children.filter((child) => !isLastBackupObject(child, plan));
  const agents = others.filter((child) => isAgent(child, deps.table));
  for (const child of listRemovableChildren(agents, deps.table))
    await deps.writer.remove(child, signal);
  if (agents.length > 0) return plan;
  const tenant = findDeploymentTenant(deployment, deps.caches, deps.settings) ?? 'none';
  return stepLastBackup(deps, plan, { ...world, deployment, children, tenant, signal, now });
}

/** Takes an answer of this class for an empty list. */
const skipError =
  (Expected: typeof Forbidden | typeof NotFound) =>
  (error: unknown): [] => {
    if (error instanceof Expected) return [];
    throw error;
  };

/** Parts that agents use until they are gone. */
const SERVING_AGENTS = ['database', 'store'];

/**
 * Returns the objects to delete next: the agents first, because a server that stops still writes to its database, then
 * the rest. Pods go with their workloads, and a set stays until it has adopted its lost pod.
 */
export function listRemovableChildren(children: KubeObject[], table: KindTable): KubeObject[] {
  const agents = children.filter((child) => isAgent(child, table));
  const next = agents.length > 0 ? agents : children;
  const isAdopting = children.some((child) => isOrphan(child, 'database'));
  const isStaying = (child: KubeObject): boolean =>
    getRemoval(child, table) === 'follows' || (isAdopting && isOfKind(child, kinds.statefulSet));
  return next.filter(
    (child) => !isStaying(child) && child.metadata.deletionTimestamp === undefined,
  );
}

/** Returns true for objects of agents, and for Jobs. They go first. */
function isAgent(object: KubeObject, table: KindTable): boolean {
  const removed = getRemoval(object, table);
  return (
    removed === 'first' ||
    (removed === 'follows' && !SERVING_AGENTS.includes(object.metadata.labels?.[COMPONENT] ?? ''))
  );
}

/** When objects of a kind are removed. A kind in no row of the table is removed last. */
const getRemoval = (object: KubeObject, table: KindTable): KindRow['removed'] =>
  Object.values(table).find((row) => row.removed !== undefined && isOfKind(object, row.kind))
    ?.removed ?? 'last';

/**
 * Lists the objects that are left, from the API server and not from the caches, because the finalizer must not go
 * before the objects.
 */
async function listRemaining(
  { kube, table, settings }: OperatorDeps,
  { metadata }: DeploymentResource,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const scope = { ...(metadata.namespace !== undefined && { namespace: metadata.namespace }) };
  const labelSelector = `${DEPLOYMENT}=${toLabelValue(metadata.name)}`;
  const list = ({ kind, optional }: KindRow): Promise<KubeObject[]> => {
    const found = kube.listAll(kind, { ...scope, labelSelector }, signal);
    return optional === true ? found.catch(skipError(NotFound)) : found;
  };
  const lists = await Promise.all(
    Object.values(table)
      .filter(({ removed, isUsed }) => removed !== undefined && isUsed?.(settings) !== false)
      .map(list),
  );
  const isMine = (object: KubeObject): boolean => {
    if (isOfKind(object, kinds.revision))
      return (object.spec as { deploymentUid?: string }).deploymentUid === metadata.uid;
    return object.metadata.annotations?.[DEPLOYMENT] === metadata.name;
  };
  // A missing right must not hold the deployment forever. It may be missing because the namespace is being deleted.
  const secrets = await kube
    .listAll(
      kinds.secret,
      { ...scope, labelSelector: `${SECRETS_OF}=${toLabelValue(metadata.name)}` },
      signal,
    )
    .catch(skipError(Forbidden));
  return [...lists.flat().filter(isMine), ...secrets];
}

async function removeTracingProject(
  { kube, caches, settings }: OperatorDeps,
  deployment: DeploymentResource,
  signal: AbortSignal,
) {
  if (deployment.spec.deleteTracingProject !== true) return;
  const { namespace, name } = deployment.metadata;
  const project = names.tracingProject(
    findDeploymentTenant(deployment, caches, settings) ?? '',
    name,
  );
  await kube.delete(kinds.tracingProject, { namespace, name: project }, {}, signal);
}

/** Reports what a deletion waits for. The status has the end of the wait before anything else is removed. */
function buildAwaitingReport(
  deployment: DeploymentResource,
  { state, statement }: LastBackupPlan,
): Report<DeploymentStatusFields> {
  const report = buildLeavingReport(deployment, []);
  const { message } = statement;
  return {
    outcome: buildWaitingOutcome(
      AWAITING,
      message,
      state === 'waits' ? LOOK_AGAIN_AT_BACKUP : LOOK_AGAIN,
    ),
    status: { ...report.status, message },
    statements: [...report.statements.filter(({ type }) => type !== BACKED_UP), statement],
  };
}

function buildLeavingReport(
  deployment: DeploymentResource,
  left: KubeObject[],
): Report<DeploymentStatusFields> {
  const found = left.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
  const message = `Being deleted; still there: ${found.slice(0, 10).join(', ')}.`;
  const {
    conditions = [],
    observedGeneration: _,
    reason: _reason,
    ...status
  } = deployment.status ?? {};
  return {
    outcome: buildWaitingOutcome('Deleting', message, LOOK_AGAIN),
    status: { ...status, phase: 'AWAITING_DELETE', message },
    statements: conditions.filter(({ type }) => type === DATABASE_READY || type === BACKED_UP),
  };
}
