import type { BackupSpec } from '../../schema/platform/backup/backup-spec.ts';
import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { names } from '../../schema/names.ts';
import { API_VERSION } from '../../schema/platform/objects/api-group.ts';
import { backupName } from '../../schema/wire/backup-message.ts';
import { buildObjectKey } from '../../kube/cache.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import { buildConditions } from '../kernel/conditions.ts';
import { buildSettledOutcome, buildStalledOutcome } from '../kernel/outcome.ts';
import { buildOwnedMetadata } from '../objects/metadata.ts';
import { readPodlessJobState } from '../pods/follow-job.ts';
import { deriveJobState, type JobHindrance, type JobState } from '../pods/job-state.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { backupJob, backupOrder, type BackupGiven } from './job.ts';
import { hasTurn } from './open.ts';
import { resolveKeptBackups } from './plan.ts';
import {
  BACKUP_CONTAINERS,
  buildFailedBackup,
  isBackupLost,
  findBackupPod,
  readBackupResult,
  describeJobTimeout,
  type BackupStatus,
} from './result.ts';

type BackupPass = BackupGiven & {
  deployment: DeploymentResource;
  plan: { spec: BackupSpec; requestedAt: string | undefined };
  pods: readonly KubeObject[];
  /** True if the database takes connections. One that sleeps is woken once it is the deployment's turn. */
  isUp: boolean;
  now: Date;
  signal: AbortSignal;
};

/**
 * Begins a backup if it is its turn, and makes its Job if the database is up. Returns false if others of the tenant
 * have all turns.
 */
export async function beginBackup(deps: OperatorDeps, making: BackupPass): Promise<boolean> {
  const { deployment, plan, now, signal } = making;
  const backup = buildBackupResource(deployment, plan, now);
  const isBegun = await deps.backupTurns.run(async () => {
    return hasTurn(deps, deployment, now) && deps.writer.create(backup, signal);
  });
  if (isBegun && making.isUp) await createJob(deps, backup, making);
  return isBegun;
}

function buildBackupResource(
  deployment: DeploymentResource,
  { spec, requestedAt }: BackupPass['plan'],
  now: Date,
): BackupResource {
  const backup = backupName(now);
  const { name, uid = '' } = deployment.metadata;
  return {
    apiVersion: API_VERSION,
    kind: 'Backup',
    metadata: buildOwnedMetadata(deployment, 'backup', names.backup(name, backup)),
    spec: {
      deployment: name,
      deploymentUid: uid,
      backup,
      target: spec.target,
      method: spec.method ?? 'dump',
      ...(requestedAt !== undefined && { requestedAt }),
    },
  };
}

async function createJob(
  deps: OperatorDeps,
  backup: BackupResource,
  making: BackupPass,
): Promise<boolean> {
  const order = backupOrder(making.deployment, backup, { ...making, settings: deps.settings });
  if (order === undefined) return false;
  return deps.writer.create(
    backupJob(making.deployment, backup, order, making.secret, deps.settings),
    making.signal,
  );
}

/** Looks after the backup that is under way: ends it once its Job has, or notes why the Job has no pod. */
export async function followBackup(
  deps: OperatorDeps,
  backup: BackupResource,
  making: BackupPass,
): Promise<void> {
  const { plan, now, signal } = making;
  const { deadlineMinutes } = deps.settings.backups;
  const state = await readBackupState(deps, backup, making);
  const result =
    state.is === 'absent'
      ? await makeJob(deps, backup, making)
      : readBackupResult(state, resolveKeptBackups(plan.spec));
  const hindrance = state.is === 'hindered' ? state : undefined;
  const late = isBackupLost(backup, now, deadlineMinutes)
    ? buildFailedBackup(
        backup.spec.method === 'dump' ? 'DumpFailed' : 'CopyFailed',
        describeJobTimeout(deadlineMinutes, hindrance),
      )
    : undefined;
  const end = result ?? late;
  if (end === undefined) await noteHindrance(deps, backup, hindrance, signal);
  else await endBackup(deps, backup, { end, now, signal });
}

async function readBackupState(
  { kube, settings }: OperatorDeps,
  backup: BackupResource,
  { pods, now, signal }: BackupPass,
): Promise<JobState | { is: 'absent' }> {
  const pod = findBackupPod(pods, backup);
  if (pod !== undefined) return deriveJobState(pod, BACKUP_CONTAINERS, { now, work: 'the backup' });
  return readPodlessJobState(kube, backup.metadata, {
    deadline: describeJobTimeout(settings.backups.deadlineMinutes),
    now,
    signal,
  });
}

/** Notes on a backup under way why its Job has no pod, or that it has one by now. */
async function noteHindrance(
  { kube, caches }: OperatorDeps,
  { metadata, status }: BackupResource,
  hindrance: JobHindrance | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { reason = null, message = null } = hindrance ?? {};
  if (reason === (status?.reason ?? null) && message === (status?.message ?? null)) return;
  const { namespace, name } = metadata;
  await caches.backups.write(buildObjectKey(metadata), () =>
    kube.patchStatus(kinds.backup, { namespace, name }, { reason, message }, signal),
  );
}

/** Writes how a backup ended, and removes its Job. */
export async function endBackup(
  deps: OperatorDeps,
  backup: BackupResource,
  { end, now, signal }: { end: BackupStatus } & Pick<BackupPass, 'now' | 'signal'>,
): Promise<void> {
  const { namespace, name } = backup.metadata;
  const at = { generation: backup.metadata.generation ?? 1, now: formatKubernetesTime(now) };
  const { phase, reason = 'DumpFailed', message = '' } = end;
  const outcome =
    phase === 'Succeeded'
      ? buildSettledOutcome('It is complete.', 'Complete')
      : buildStalledOutcome(reason, message);
  // A reason from the time without a pod goes.
  const status = {
    reason: null,
    message: null,
    ...end,
    conditions: buildConditions({ outcome, statements: [] }, [], at),
    observedGeneration: at.generation,
  };
  await deps.caches.backups.write(buildObjectKey(backup.metadata), () =>
    deps.kube.patchStatus(kinds.backup, { namespace, name }, status, signal),
  );
  await deps.kube.delete(kinds.job, { namespace, name }, { propagation: 'Background' }, signal);
}

/** Makes the Job that a crash has prevented, or that waits for the database. */
async function makeJob(
  deps: OperatorDeps,
  backup: BackupResource,
  making: BackupPass,
): Promise<BackupStatus | undefined> {
  if (!making.isUp) return undefined;
  const isMade = await createJob(deps, backup, making);
  return isMade
    ? undefined
    : buildFailedBackup('TargetMissing', `The target ${backup.spec.target} no longer exists.`);
}
