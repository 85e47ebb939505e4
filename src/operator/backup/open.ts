import type { BackupResource } from '../../schema/platform/custom-resources.ts';
import type { PartDeps } from '../reports/part-report.ts';
import { BY_END } from '../view/caches.ts';
import { isBackupLost } from './result.ts';
import { isVerificationLost } from './verify-plan.ts';

/** Returns the backups that are being made or verified, which take the turns of all others. */
export function openBackups({ caches, settings }: Pick<PartDeps, 'caches' | 'settings'>, now: Date): BackupResource[] {
  const { deadlineMinutes } = settings.backups;
  const made = caches.backups.byIndex(BY_END, 'open').filter((one) => !isBackupLost(one, now, deadlineMinutes));
  const verified = caches.backups.byIndex(BY_END, 'verifying').filter((one) => !isVerificationLost(one, now, deadlineMinutes));
  return [...made, ...verified];
}
