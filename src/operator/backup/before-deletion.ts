import { Forbidden } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { isBackupOver } from '../../schema/platform/backup/backup-spec.ts';
import { BACKUP, COMPONENT } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import { getDatabaseEngine } from '../database/engines.ts';
import { buildDatabaseSet } from '../database/own/set.ts';
import { claimName } from '../database/own/volume-name.ts';
import { isOrphan, getReplicas } from '../pods/workload-state.ts';
import type { OperatorDeps } from '../view/deps.ts';
import {
  planLastBackup,
  buildNoBackupCondition,
  type LastBackupPlan,
} from './before-deletion-plan.ts';
import { beginBackup, endBackup, followBackup } from './make.ts';
import { buildFailedBackup } from './result.ts';
import { clearVerification } from './verify-make.ts';

/** The rest of a deployment that is being deleted. */
export type Leaving = {
  deployment: DeploymentResource;
  children: readonly KubeObject[];
  backups: readonly BackupResource[];
  backupPods: readonly KubeObject[];
  tenant: string;
  now: Date;
  signal: AbortSignal;
  database: KubeObject | undefined;
  databasePods: KubeObject[];
};

/** Observes the volume, and decides about the backup before the deletion of a deployment that awaits one. */
export async function observeLastBackup(
  { kube, settings }: OperatorDeps,
  leaving: Pick<Leaving, 'deployment' | 'backups' | 'database' | 'databasePods' | 'now' | 'signal'>,
): Promise<LastBackupPlan> {
  const { deployment, backups, now, signal } = leaving;
  const ref = {
    namespace: deployment.metadata.namespace,
    name: claimName(deployment, leaving.database),
  };
  const claim = await kube.find(kinds.volumeClaim, ref, signal);
  return planLastBackup(deployment, {
    backups,
    claim,
    settings,
    now,
    isUp: canTakeConnections(leaving),
  });
}

const canTakeConnections = ({
  deployment,
  ...view
}: Pick<Leaving, 'deployment' | 'database' | 'databasePods'>): boolean =>
  getDatabaseEngine(deployment.spec).takesConnections(deployment, view);

/** Returns true for the Job and the pod that make the backup before a deletion. They stay until it is made. */
export function isLastBackupObject(
  { kind, metadata }: KubeObject,
  { running }: Extract<LastBackupPlan, { state: 'waits' }>,
): boolean {
  if (running === undefined || metadata.labels?.[COMPONENT] !== 'backup') return false;
  const { name } = running.metadata;
  return kind === 'Job'
    ? metadata.name === name
    : kind === 'Pod' && metadata.annotations?.[BACKUP] === name;
}

/**
 * Makes the backup before a deletion, once no agent is left. Returns the plan with which the deletion goes on: in a
 * namespace that is being deleted, nothing can be backed up any more.
 */
export async function stepLastBackup(
  deps: OperatorDeps,
  plan: Extract<LastBackupPlan, { state: 'waits' }>,
  leaving: Leaving,
): Promise<LastBackupPlan> {
  try {
    await makeLastBackup(deps, plan, leaving);
    return plan;
  } catch (error) {
    if (!(error instanceof Forbidden) || !error.message.includes('because it is being terminated'))
      throw error;
    return {
      state: 'over',
      keepsData: false,
      isStored: false,
      statement: buildNoBackupCondition('The namespace is being deleted.'),
    };
  }
}

async function makeLastBackup(
  deps: OperatorDeps,
  plan: Extract<LastBackupPlan, { state: 'waits' }>,
  leaving: Leaving,
): Promise<void> {
  const { deployment, backupPods, tenant, now, signal } = leaving;
  const { backup: spec } = deployment.spec.database ?? {};
  const secret = deployment.status?.databaseSecret;
  await endOthers(deps, leaving, plan.requestedAt);
  await startDatabase(deps, leaving);
  if (spec === undefined || secret === undefined) return;
  const making = {
    deployment,
    plan: { spec, requestedAt: plan.requestedAt },
    pods: backupPods,
    now,
    signal,
    isUp: canTakeConnections(leaving),
    secret,
    tenant,
    revision: undefined,
  };
  const { running } = plan;
  if (running !== undefined) await followBackup(deps, running, making);
  else if (plan.mayBegin) await beginBackup(deps, making);
}

/** Ends the other backup and the verification under way, whose Jobs are gone. They would keep their turns. */
async function endOthers(
  deps: OperatorDeps,
  { deployment, backups, now, signal }: Leaving,
  requestedAt: string,
): Promise<void> {
  const end = buildFailedBackup(
    'DumpFailed',
    `Deployment ${deployment.metadata.name} is being deleted.`,
  );
  for (const each of backups) {
    if (!isBackupOver(each.status?.phase) && each.spec.requestedAt !== requestedAt)
      await endBackup(deps, each, { end, now, signal });
    if (each.status?.verifying !== undefined) await clearVerification(deps, each, signal);
  }
}

/** Starts a database that hibernates, sleeps or has lost its set. */
async function startDatabase(
  { writer, settings }: OperatorDeps,
  { deployment, children, signal }: Leaving,
): Promise<void> {
  const name = names.database(deployment.metadata.name);
  const live = children.find(
    ({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === name,
  );
  if (
    live?.metadata.deletionTimestamp !== undefined ||
    (live !== undefined && getReplicas(live) > 0)
  )
    return;
  if (live === undefined && children.some((child) => isOrphan(child, 'database'))) return;
  await writer.reconcile(
    [buildDatabaseSet(deployment, settings, { live })],
    live === undefined ? [] : [live],
    signal,
  );
}
