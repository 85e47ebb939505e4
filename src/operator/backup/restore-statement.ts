import { RESTORED } from '../../schema/platform/conditions.ts';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import type { RestoreFailure, RestoreFailureReason } from '../../schema/wire/restore-message.ts';
import type { StatedCondition } from '../kernel/outcome.ts';

/** The advice on a restore that failed. */
const ADVICE: Record<RestoreFailureReason, string> = {
  BackupMissing: 'Look at kubectl get gxb and at the folder of the target, and create the deployment again with a backup that is there.',
  TimeNotKept: 'Create the deployment again with a later moment.',
  SchemaTooNew: 'Upgrade this installation, or restore an older backup.',
  KeysMissing: "Add the keys to GX_AES_KEY in the deployment's secrets, with commas between them.",
  DatabaseNotEmpty: 'Only a new database is restored: create the deployment again without gx.dev/database-of.',
  TargetMissing: "Create the bucket, or the Secret of the target in the deployment's namespace, or name another target.",
  TargetUnreachable: 'Check that the store runs and that pods of the namespace reach it; its certificate must be known.',
  TargetRefused: "Check the credential in the target's Secret and its permissions; clocks must agree within 15 minutes.",
  RestoreFailed: 'The database is empty as before.',
};

/** Reports a restore that is not possible, or was not. `again`: it is tried again. */
export const restoreFailed = ({ reason, message }: RestoreFailure, again: boolean): StatedCondition => ({
  type: RESTORED,
  status: 'False',
  reason,
  message: `${message} ${ADVICE[reason]}${again ? ' It is tried again.' : ''}`,
  event: 'Warning',
});

/** Reports a restore that is under way, or waits. */
export const restoring = (message: string, reason = 'Restoring'): StatedCondition => ({
  type: RESTORED,
  status: 'Unknown',
  reason,
  message,
});

/** Reports the backup that the database was restored from. */
export function restored({ status = {} }: Pick<DeploymentResource, 'status'>): StatedCondition {
  const { restoredBackup, restoredFrom } = status;
  const message =
    restoredBackup === undefined ? 'It serves.' : `The database was restored from ${restoredBackup}, with the data of ${restoredFrom}.`;
  return { type: RESTORED, status: 'True', reason: 'Restored', message };
}
