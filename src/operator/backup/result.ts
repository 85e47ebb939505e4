import type { KubeObject } from '../../kube/kube.ts';
import type { BackupResource } from '../../schema/platform/custom-resources.ts';
import { BACKUP } from '../../schema/platform/labels.ts';
import { BACKUP_FAILURES, type BackupDone, type BackupFailure, type BackupKeep } from '../../schema/wire/backup-message.ts';
import { dateTimeOf } from '../../schema/types.ts';
import { isPodOver, isUnconfigured, missingClaim, statusOfPod, type ContainerStatus } from '../pods/diagnose.ts';
import { COPIER, SENDER } from './pod.ts';

export type BackupStatus = Omit<NonNullable<BackupResource['status']>, 'conditions' | 'observedGeneration'>;

/** Returns the pod that makes a backup. */
export const podOfBackup = (pods: readonly KubeObject[], { metadata }: BackupResource): KubeObject | undefined =>
  pods.find((pod) => pod.metadata.annotations?.[BACKUP] === metadata.name);

/** Returns how a backup ended, by its pod. Undefined while it is being made. */
export function resultOf(pod: KubeObject, keep: BackupKeep, now: Date): BackupStatus | undefined {
  if (isUnconfigured(pod)) return failedBackup('TargetMissing', waitingWords(pod) ?? 'A Secret of the backup is not there.');
  const claim = missingClaim(pod);
  if (claim !== undefined) return failedBackup('TargetMissing', `${claim}.`);
  const { containerStatuses = [], phase, reason, message = '' } = statusOfPod(pod);
  const ended = containerStatuses.find(({ name }) => name === SENDER)?.state?.terminated;
  if (ended !== undefined) return fromMessage(ended, keep);
  if (!isPodOver(pod)) return killedCopier(containerStatuses.find(({ name }) => name === COPIER)?.state?.terminated, now);
  return failedBackup('DumpFailed', `The pod of the backup ended as ${phase} (${[reason, message].filter(Boolean).join(': ')}).`);
}

type Killed = { exitCode?: number; reason?: string; finishedAt?: string | null };

/** The container that sends the backup may look on for a while after the one that copies was killed. */
function killedCopier(killed: Killed | undefined, now: Date): BackupStatus | undefined {
  const since = now.getTime() - Date.parse(killed?.finishedAt ?? now.toISOString());
  if (killed === undefined || killed.exitCode === 0 || since < 60_000) return undefined;
  return failedBackup('CopyFailed', `The container that copies ended with ${killed.exitCode} (${killed.reason ?? 'no reason'}).`);
}

/** Returns why a container of a pod does not start. */
export const waitingWords = (pod: KubeObject): string | undefined =>
  statusOfPod(pod)
    .containerStatuses?.map(({ state }: ContainerStatus) => state?.waiting?.message)
    .find((words) => words !== undefined);

export const failedBackup = (reason: BackupFailure['reason'], message: string): BackupStatus => ({
  phase: 'Failed',
  reason,
  message: message.slice(0, 2000),
});

type End = { exitCode?: number; reason?: string; message?: string };

function fromMessage({ exitCode, reason, message }: End, keep: BackupKeep): BackupStatus {
  const fields = terminationFields<BackupFailure>(message);
  const known = BACKUP_FAILURES.find((each) => each === fields.reason);
  if (known !== undefined) return failedBackup(known, fields.message ?? '');
  const { from, until, bytes, migration, keys, trouble } = fields as Partial<BackupDone>;
  if (exitCode !== 0 || from === undefined || until === undefined || bytes === undefined)
    return failedBackup(
      'DumpFailed',
      `The program that sends the backup ended with ${exitCode} (${reason ?? 'no reason'}) and left no message.`,
    );
  return {
    phase: 'Succeeded',
    from: dateTimeOf(new Date(from)),
    until: dateTimeOf(new Date(until)),
    sizeBytes: bytes,
    size: sizeText(bytes),
    ...(migration !== undefined && { migration }),
    ...(keys !== undefined && { keys }),
    ...('days' in keep && { expires: dateTimeOf(new Date(Date.parse(until) + keep.days * 86_400_000)) }),
    ...(trouble !== undefined && { message: `Expired backups could not be removed: ${trouble}`.slice(0, 2000) }),
  };
}

/** Returns the fields of a termination message. */
export function terminationFields<T extends object>(message = ''): Partial<T> {
  try {
    return JSON.parse(message) as T;
  } catch {
    return {};
  }
}

/** Returns a size as people read it. */
function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/** Returns true if work was begun so long ago that its Job can't be under way any more, or at no moment of the past. */
export function isOverdueSince(begun: string | undefined, now: Date, deadlineMinutes: number): boolean {
  const age = now.getTime() - Date.parse(begun ?? '');
  // The clock of the API server may be ahead.
  return !(age <= (deadlineMinutes + 5) * 60_000 && age > -5 * 60_000);
}

/**
 * Returns true if a backup was begun too long ago to be under way. The API server knows when: its name is somebody's
 * word.
 */
export const isBackupLost = ({ metadata }: BackupResource, now: Date, deadlineMinutes: number): boolean =>
  isOverdueSince(metadata.creationTimestamp, now, deadlineMinutes);

/** Returns the sentence on a Job that ran into its deadline. */
export const tooLong = (deadlineMinutes: number): string => `It was not complete within ${deadlineMinutes} minutes, and was ended.`;

type JobStatus = { conditions?: { type: string; status: string; reason?: string; message?: string }[] };

/** Returns why a Job failed, where its pods can't tell. Undefined if it has not. */
export function failureOfJob({ status }: KubeObject, deadlineMinutes: number): string | undefined {
  const { conditions = [] } = (status ?? {}) as JobStatus;
  const failed = conditions.find((each) => each.type === 'Failed' && each.status === 'True');
  if (failed === undefined) return undefined;
  return failed.reason === 'DeadlineExceeded' ? tooLong(deadlineMinutes) : `Its Job failed: ${failed.message ?? failed.reason}.`;
}
