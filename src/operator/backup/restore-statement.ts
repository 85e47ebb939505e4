import { RESTORED } from '../../schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { findCondition } from '../kernel/conditions.ts';
import type {
  ReplaceFailure,
  ReplaceFailureReason,
  RestoreDone,
  RestoreFailure,
  RestoreFailureReason,
} from '../../schema/wire/restore-message.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import type { JobHindrance } from '../pods/job-state.ts';

const ADVICE: Record<RestoreFailureReason, string> = {
  BackupMissing:
    'Look at kubectl get gxb and at the folder of the target, and create the deployment again with a backup that is there.',
  TimeNotKept: 'Create the deployment again with a later moment.',
  SchemaTooNew: 'Upgrade this installation, or restore an older backup.',
  KeysMissing: "Add the keys to GX_AES_KEY in the deployment's secrets, with commas between them.",
  DatabaseNotEmpty:
    'Only a new database is restored: create the deployment again without gx.dev/database-of.',
  TargetMissing:
    "Create the bucket, or the Secret or the volume claim of the target in the deployment's namespace, or name another target.",
  TargetUnreachable:
    'Check that the store runs and that pods of the namespace reach it; its certificate must be known.',
  TargetRefused:
    "Check the credential in the target's Secret and its permissions; clocks must agree within 15 minutes.",
  RestoreFailed: 'The database is empty as before.',
};

/** Reports a restore that is not possible, or was not. `again`: it is tried again. */
export const restoreFailed = (
  { reason, message }: RestoreFailure,
  again: boolean,
): StatedCondition => ({
  type: RESTORED,
  status: 'False',
  reason,
  message: `${message} ${ADVICE[reason]}${again ? ' It is tried again.' : ''}`,
  event: 'Warning',
});

/** Reports a restore that is under way, or waits. */
export const buildRestoringCondition = (
  message: string,
  reason = 'Restoring',
): StatedCondition => ({
  type: RESTORED,
  status: 'Unknown',
  reason,
  message,
});

/** Reports a restore whose Job has no pod. */
export const buildHinderedCondition = ({ reason, message }: JobHindrance): StatedCondition =>
  buildRestoringCondition(`The restore waits for its pod. ${message}`, reason);

/** Reports the backup that the database was restored from. */
export function buildRestoredCondition({
  status = {},
}: Pick<DeploymentResource, 'status'>): StatedCondition {
  const { restoredBackup, restoredFrom } = status;
  const message =
    restoredBackup === undefined
      ? 'It serves.'
      : `The database was restored from ${restoredBackup}, with the data of ${restoredFrom}.`;
  return { type: RESTORED, status: 'True', reason: 'Restored', message };
}

const ADVICE_OF_LIVING: Partial<Record<ReplaceFailureReason, string>> = {
  BackupMissing:
    'Look at kubectl get gxb and at the folder of the target, and name a backup that is there.',
  TimeNotKept: 'Name a later moment.',
  VolumeMissing: 'Look at status.formerVolumes.',
  Hibernated: 'Wake the deployment first.',
  RequestTooOld: 'Use the current time.',
  BackupFailed:
    'Nothing was replaced. Set database.restore.withoutBackup to restore without a backup.',
  RestoreFailed: '',
};

/** Reports a restore into a living deployment that was not possible, or failed. It is not tried again by itself. */
export const buildNotReplacedCondition = ({
  reason,
  message,
}: ReplaceFailure): StatedCondition => ({
  type: RESTORED,
  status: 'False',
  reason,
  message:
    `${message} ${ADVICE_OF_LIVING[reason] ?? findAdvice(reason)} The deployment is as it was. Ask again with a new replaceRequestedAt.`.replaceAll(
      '  ',
      ' ',
    ),
  event: 'Warning',
});

const findAdvice = (reason: string): string =>
  Object.entries(ADVICE).find(([known]) => known === reason)?.[1] ?? '';

/** Reports a restore into a living deployment that is done: from a backup, or by a volume of before. */
export function buildReplacedCondition(
  done: RestoreDone | undefined,
  status: NonNullable<DeploymentResource['status']>,
): StatedCondition {
  const former = status.formerVolumes?.at(-1);
  const kept =
    former === undefined
      ? ''
      : ` The former data stays on volume claim ${former.claim} until ${former.until}.`;
  const message =
    done === undefined
      ? `The database is back on volume claim ${status.databaseVolume}.`
      : buildRestoredCondition({ status }).message;
  return {
    type: RESTORED,
    status: 'True',
    reason: 'Restored',
    message: `${message}${kept}`,
    event: 'Normal',
  };
}

/** Returns the last report on restores into the deployment. Without one, its first backup stands. */
export function repeatReplacedCondition(deployment: DeploymentResource): StatedCondition[] {
  if (deployment.spec.database?.restore?.replaceRequestedAt === undefined) return [];
  const known = findCondition(deployment, RESTORED);
  if (known === undefined) return [buildRestoredCondition(deployment)];
  const { type, status, reason, message } = known;
  return [{ type, status, reason, message }];
}
