import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { BACKED_UP } from '../../schema/platform/objects/conditions.ts';
import { isBackupOver } from '../../schema/platform/backup/backup-spec.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { isReplacing } from '../../schema/platform/backup/replacement.ts';
import { isRestorePending } from '../../schema/platform/backup/restore-spec.ts';
import { parseBackupTime } from '../../schema/wire/backup-message.ts';
import { findCondition } from '../kernel/conditions.ts';
import type { StatedCondition } from '../kernel/outcome.ts';
import { chooseRetryTime, backupFault, isUnchanged } from './plan.ts';
import { getBackupHindrance } from './result.ts';
import { explainBackupFailure } from './statement.ts';

/** Hours for which a deletion waits for its backup. After them the deployment goes, and its data stays. */
export const WAITS_HOURS = 24;
const HOUR = 3_600_000;

/** The reasons of `BackedUp` that say how a deletion goes on. They are stored before anything else is removed. */
export const LAST_MADE = 'LastBackupMade';
export const NONE_MADE = 'NoLastBackup';
export const DATA_KEPT = 'DataKept';
export const AWAITING = 'AwaitingBackup';

export type LastBackupPlan =
  /** The deletion goes on; with `keepsData` it leaves the volume. It is stored once the status has it. */
  | { state: 'over'; keepsData: boolean; isStored: boolean; statement: StatedCondition }
  | {
      state: 'waits';
      running: BackupResource | undefined;
      mayBegin: boolean;
      requestedAt: string;
      statement: StatedCondition;
    };

export type SeenLast = {
  backups: readonly BackupResource[];
  /** The claim of the database's volume, if it is there. */
  claim: KubeObject | undefined;
  settings: OperatorSettings;
  now: Date;
  /** True if the database takes connections. */
  isUp: boolean;
};

/** Returns true if the deletion of a deployment waits for a backup of the data that it deletes. */
export function isAwaitingBackup(
  deployment: DeploymentResource,
  { deletionPolicy }: OperatorSettings,
): boolean {
  const { metadata, spec } = deployment;
  const deletesData = (spec.deletionPolicy ?? deletionPolicy) === 'Delete';
  return (
    metadata.deletionTimestamp !== undefined &&
    deletesData &&
    spec.database?.backup?.beforeDeletion === true
  );
}

/** Decides about the backup before the deletion of a deployment that awaits one. */
export function planLastBackup(deployment: DeploymentResource, seen: SeenLast): LastBackupPlan {
  const stored = findCondition(deployment, BACKED_UP);
  if (stored !== undefined && [LAST_MADE, NONE_MADE, DATA_KEPT].includes(stored.reason)) {
    const { type, status, reason, message } = stored;
    return {
      state: 'over',
      keepsData: reason === DATA_KEPT,
      isStored: true,
      statement: { type, status, reason, message },
    };
  }
  const end = findWaitEnd(deployment, seen);
  return end === undefined
    ? decideWait(deployment, seen)
    : { state: 'over', keepsData: end.reason === DATA_KEPT, isStored: false, statement: end };
}

/** Returns the backups that were made for this deletion, the oldest first. */
function listMadeBackups(
  { metadata }: DeploymentResource,
  backups: readonly BackupResource[],
): BackupResource[] {
  const made = backups.filter(({ spec }) => spec.requestedAt === metadata.deletionTimestamp);
  return made.toSorted((a, b) => (a.spec.backup < b.spec.backup ? -1 : 1));
}

/** Returns true while the data of the database is not the one that was there before a restore. */
const isOnOtherVolume = (deployment: DeploymentResource): boolean =>
  isReplacing(deployment) && deployment.status?.replacement?.step !== 'BackingUp';

/** Returns how the wait ends. Undefined while it goes on. */
function findWaitEnd(
  deployment: DeploymentResource,
  { backups, claim, now }: SeenLast,
): StatedCondition | undefined {
  if (isRestorePending(deployment)) return buildNoBackupCondition('Its database was still empty.');
  if (claim === undefined)
    return buildNoBackupCondition('The volume of the database is not there.');
  const { phase } = (claim.status ?? {}) as { phase?: string };
  if (phase === 'Lost')
    return buildNoBackupCondition(`Volume claim ${claim.metadata.name} has lost its volume.`);
  if (isOnOtherVolume(deployment)) return buildKeptCondition(claim, 'A restore was under way.');
  const good = backups
    .filter(({ status }) => status?.phase === 'Succeeded')
    .toSorted((a, b) => (a.spec.backup < b.spec.backup ? -1 : 1));
  const last = good.at(-1);
  const isNewest =
    listMadeBackups(deployment, good).length > 0 || isUnchanged(last, deployment.status ?? {});
  if (last !== undefined && isNewest)
    return {
      type: BACKED_UP,
      status: 'True',
      reason: LAST_MADE,
      message: `Backup ${last.spec.backup} at target ${last.spec.target} (${last.metadata.name}) has the data of ${last.status?.from}. The deletion continues.`,
      event: 'Normal',
    };
  return now.getTime() - parseDeletionTime(deployment) < WAITS_HOURS * HOUR
    ? undefined
    : buildKeptCondition(claim, `No backup could be made within ${WAITS_HOURS} hours.`);
}

const parseDeletionTime = ({ metadata }: DeploymentResource): number =>
  Date.parse(metadata.deletionTimestamp ?? '');

/** States that a deletion goes on without a backup, because there is nothing that one could hold. */
export const buildNoBackupCondition = (why: string): StatedCondition => ({
  type: BACKED_UP,
  status: 'False',
  reason: NONE_MADE,
  message: `${why} There is nothing to back up, and the deletion continues.`,
  event: 'Warning',
});

const buildKeptCondition = (claim: KubeObject, why: string): StatedCondition => ({
  type: BACKED_UP,
  status: 'False',
  reason: DATA_KEPT,
  message: `${why} The deployment is deleted, and its data stays: volume claim ${claim.metadata.name} and its credentials. Delete them by hand if nobody needs them.`,
  event: 'Warning',
});

function decideWait(deployment: DeploymentResource, seen: SeenLast): LastBackupPlan {
  const { deletionTimestamp: requestedAt = '' } = deployment.metadata;
  const { backup } = deployment.spec.database ?? {};
  const fault = backup && backupFault(backup, seen.settings, seen.now);
  const mine = listMadeBackups(deployment, seen.backups);
  const running = mine.find(({ status }) => !isBackupOver(status?.phase));
  const failed = mine.filter(({ status }) => status?.phase === 'Failed');
  const newest = failed.at(-1);
  const again = newest && chooseRetryTime(parseBackupTime(newest.spec.backup), failed.length);
  const mayBegin =
    fault === undefined && running === undefined && (again === undefined || again <= seen.now);
  const trouble =
    fault ??
    (running && getBackupHindrance(running)) ??
    (newest && {
      reason: newest.status?.reason ?? 'DumpFailed',
      message: explainBackupFailure(newest),
    });
  return {
    state: 'waits',
    running,
    mayBegin,
    requestedAt,
    statement: buildWaitCondition(deployment, trouble, seen.isUp),
  };
}

/** States why a deletion waits, until when, and how it goes on without a backup. */
function buildWaitCondition(
  deployment: DeploymentResource,
  trouble: { reason: string; message: string } | undefined,
  isUp: boolean,
): StatedCondition {
  const until = new Date(parseDeletionTime(deployment) + WAITS_HOURS * HOUR).toISOString();
  const what =
    trouble === undefined
      ? isUp
        ? ''
        : ' The database does not answer yet.'
      : ` ${trouble.message}`;
  const message =
    `The deletion waits for a backup of the data.${what} At ${until} it continues and keeps the volume. ` +
    'Set spec.database.backup.beforeDeletion to false to delete the data without one, or spec.deletionPolicy to Retain to keep it.';
  return trouble === undefined
    ? { type: BACKED_UP, status: 'Unknown', reason: AWAITING, message }
    : { type: BACKED_UP, status: 'False', reason: trouble.reason, message, event: 'Warning' };
}
