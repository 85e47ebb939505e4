import type { KubeObject } from '../../kube/kube.ts';
import type { BackupResource } from '../../schema/platform/resources/custom-resources.ts';
import { isBackupOver } from '../../schema/platform/backup/backup-spec.ts';
import { BACKUP } from '../../schema/platform/objects/labels.ts';
import {
  BACKUP_FAILURES,
  type BackupDone,
  type BackupFailure,
  type BackupKeep,
} from '../../schema/wire/backup-message.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import type { ContainerEnd, JobHindrance, JobState } from '../pods/job-state.ts';
import { COPIER, SENDER } from './pod.ts';

export type BackupStatus = Omit<
  NonNullable<BackupResource['status']>,
  'conditions' | 'observedGeneration'
>;

/** Returns the pod that makes a backup. */
export const findBackupPod = (
  pods: readonly KubeObject[],
  { metadata }: BackupResource,
): KubeObject | undefined =>
  pods.find((pod) => pod.metadata.annotations?.[BACKUP] === metadata.name);

/** The containers of a backup: the sender decides, and learns by itself how those with programs of the database end. */
export const BACKUP_CONTAINERS = {
  decides: SENDER,
  others: ['dump', 'ask', COPIER],
  unseen: [COPIER],
};

/** Returns how a backup ended, by its Job. Undefined while it is being made. */
export function readBackupResult(state: JobState, keep: BackupKeep): BackupStatus | undefined {
  if (state.is === 'ended') return parseMessage(state.end, keep);
  if (state.is === 'incomplete') return buildFailedBackup('TargetMissing', state.message);
  if (state.is === 'lost')
    return buildFailedBackup(state.killed === COPIER ? 'CopyFailed' : 'DumpFailed', state.message);
  return undefined;
}

/** Returns why the Job of a backup under way has no pod, as its record says. */
export function getBackupHindrance({
  status,
}: BackupResource): { reason: string; message: string } | undefined {
  const { phase, reason, message = '' } = status ?? {};
  return isBackupOver(phase) || reason === undefined ? undefined : { reason, message };
}

export const buildFailedBackup = (
  reason: BackupFailure['reason'],
  message: string,
): BackupStatus => ({
  phase: 'Failed',
  reason,
  message: message.slice(0, 2000),
});

function parseMessage({ exitCode, reason, message }: ContainerEnd, keep: BackupKeep): BackupStatus {
  const fields = parseTerminationFields<BackupFailure>(message);
  const known = BACKUP_FAILURES.find((each) => each === fields.reason);
  if (known !== undefined) return buildFailedBackup(known, fields.message ?? '');
  const { from, until, bytes, migration, keys, trouble } = fields as Partial<BackupDone>;
  if (exitCode !== 0 || from === undefined || until === undefined || bytes === undefined)
    return buildFailedBackup(
      'DumpFailed',
      `The program that sends the backup ended with ${exitCode} (${reason ?? 'no reason'}) and left no message.`,
    );
  return {
    phase: 'Succeeded',
    from: formatKubernetesTime(new Date(from)),
    until: formatKubernetesTime(new Date(until)),
    sizeBytes: bytes,
    size: formatSize(bytes),
    ...(migration !== undefined && { migration }),
    ...(keys !== undefined && { keys }),
    ...('days' in keep && {
      expires: formatKubernetesTime(new Date(Date.parse(until) + keep.days * 86_400_000)),
    }),
    ...(trouble !== undefined && {
      message: `Expired backups could not be removed: ${trouble}`.slice(0, 2000),
    }),
  };
}

/** Returns the fields of a termination message. */
export function parseTerminationFields<T extends object>(message = ''): Partial<T> {
  try {
    return JSON.parse(message) as T;
  } catch {
    return {};
  }
}

/** Returns a size as people read it. */
function formatSize(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

/** Returns true if work was begun so long ago that its Job can't be under way any more, or at no moment of the past. */
export function isOverdueSince(
  begun: string | undefined,
  now: Date,
  deadlineMinutes: number,
): boolean {
  const age = now.getTime() - Date.parse(begun ?? '');
  // The clock of the API server may be ahead.
  return !(age <= (deadlineMinutes + 5) * 60_000 && age > -5 * 60_000);
}

/**
 * Returns true if a backup was begun too long ago to be under way. The API server knows when: its name is somebody's
 * word.
 */
export const isBackupLost = (
  { metadata }: BackupResource,
  now: Date,
  deadlineMinutes: number,
): boolean => isOverdueSince(metadata.creationTimestamp, now, deadlineMinutes);

/** Returns the sentence on a Job that ran into its deadline, and on the obstacle to its pod. */
export const describeJobTimeout = (deadlineMinutes: number, hindrance?: JobHindrance): string =>
  [`It was not complete within ${deadlineMinutes} minutes, and was ended.`, hindrance?.message]
    .filter(Boolean)
    .join(' ');
