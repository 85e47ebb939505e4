import type { BackupTarget } from './backup-message.ts';

/* Messages between the operator and the Job of a restore. */

/** The order to restore one backup into the empty database of a new deployment. */
export type RestoreOrder = {
  target: BackupTarget;
  owner: { tenant: string; id: string };
  /** Its name in the catalogue. Unset: the newest with data of `at` or before, or the newest of all. */
  name?: string;
  at?: string;
  /** The uid of the deployment that gets the data. */
  into: string;
  /** False: the copy does nothing that the original would do. */
  resume: boolean;
  /** True if the database was filled with a copy of the files before it started. */
  filled?: boolean;
};

/** The order to restore one backup into a scratch database, and to count its rows. */
export type VerifyOrder = Pick<RestoreOrder, 'target' | 'owner'> & {
  name: string;
  /** The folder for the scratch database, if the backup is a copy of files. */
  scratch?: string;
};

/** The termination message of a verification that succeeded: the name of the backup. */
export type VerifyDone = { verified: string };

/** Why a verification failed: as a restore, or because other rows came back. */
export const VERIFY_FAILURES = [
  'NotVerified',
  'BackupMissing',
  'SchemaTooNew',
  'TargetMissing',
  'TargetUnreachable',
  'TargetRefused',
  'RestoreFailed',
] as const;
export type VerifyFailureReason = (typeof VERIFY_FAILURES)[number];
export type VerifyFailure = { reason: VerifyFailureReason; message: string };

/**
 * The termination message of a restore that succeeded: the backup, and the moment that its data is of. A look at the
 * backup tells the copy of the files, if it is one.
 */
export type RestoreDone = { backup: string; from: string; copy?: string };

export const RESTORE_FAILURES = [
  'BackupMissing',
  'TimeNotKept',
  'SchemaTooNew',
  'KeysMissing',
  'DatabaseNotEmpty',
  'TargetMissing',
  'TargetUnreachable',
  'TargetRefused',
  'RestoreFailed',
] as const;
export type RestoreFailureReason = (typeof RESTORE_FAILURES)[number];
export type RestoreFailure = { reason: RestoreFailureReason; message: string };

/** Why a restore into a living deployment fails. */
export const REPLACE_FAILURES = [
  ...RESTORE_FAILURES,
  'VolumeMissing',
  'Hibernated',
  'RequestTooOld',
  'BackupFailed',
] as const;
export type ReplaceFailureReason = (typeof REPLACE_FAILURES)[number];
export type ReplaceFailure = { reason: ReplaceFailureReason; message: string };
