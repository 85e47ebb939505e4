import type { OperatorSettings } from '../../config/platform/operator.ts';
import {
  computeNextBackupTime,
  scheduleFault,
} from '../../schema/platform/backup/backup-schedule.ts';
import {
  isArchived,
  isBackupOver,
  KEPT,
  type BackupSpec,
} from '../../schema/platform/backup/backup-spec.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { isReplacing } from '../../schema/platform/backup/replacement.ts';
import { isRestorePending } from '../../schema/platform/backup/restore-spec.ts';
import { listExpiredBackups } from '../../schema/wire/backup-expiry.ts';
import { parseBackupTime, type BackupKeep } from '../../schema/wire/backup-message.ts';
import { checkArchiveTarget } from '../../schema/wire/pgbackrest.ts';
import { RENEW_DATABASE } from '../../schema/platform/objects/labels.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { buildArchiveMount } from '../database/own/archive-mount.ts';
import type { WorkloadSpec } from '../objects/workload-spec.ts';

const MINUTE = 60_000;
/** Milliseconds to which the name of a backup gives its moment. */
const SECOND = 1000;
/** Minutes before a failed backup is tried again. They double with each failure, up to four hours. */
const AGAIN = 15;
const MOST_DOUBLED = 4;
/** Failed backups that are kept, for people who look for the reason. */
const FAILURES_KEPT = 3;

/** The decision about the backups of a deployment. */
export type BackupPlan = {
  spec: BackupSpec;
  /** The obstacle that only a person removes: the target, the schedule. */
  fault:
    | { reason: 'TargetMissing' | 'TargetUnfit' | 'PodTooOld' | 'ScheduleInvalid'; message: string }
    | undefined;
  running: BackupResource | undefined;
  /** The newest that succeeded, and the newest that ended. */
  last: BackupResource | undefined;
  ended: BackupResource | undefined;
  /** True if one is to begin as soon as it is its turn. */
  isDue: boolean;
  /** When the next one is due, and since when one is. */
  dueAt: Date | undefined;
  /** The request that the next one fulfils. */
  requestedAt: string | undefined;
  /** Backups whose objects are to be removed: their data has expired, or they failed long ago. */
  outdated: BackupResource[];
  /** The first moment that the log and its copies restore. Undefined while there is no such copy. */
  archivedFrom: string | undefined;
  /** True while a database that sleeps is to run. */
  needsDatabase: boolean;
};

type BackupFacts = {
  backups: readonly BackupResource[];
  settings: OperatorSettings;
  now: Date;
  asleepSince: string | undefined;
  database?: KubeObject | undefined;
};

/** Decides about the backups of a deployment. Undefined if it is to have none. */
export function planBackup(
  deployment: DeploymentResource,
  seen: BackupFacts,
): BackupPlan | undefined {
  const spec = deployment.spec.database?.backup;
  if (spec === undefined) return undefined;
  const { settings, now } = seen;
  const backups = seen.backups.toSorted((a, b) => (a.spec.backup < b.spec.backup ? -1 : 1));
  const over = backups.filter(({ status }) => isBackupOver(status?.phase));
  const good = over.filter(({ status }) => status?.phase === 'Succeeded');
  const [running, last] = [backups.find((one) => !over.includes(one)), good.at(-1)];
  const fault = backupFault(spec, settings, now) ?? findPodFault(deployment, seen.database);
  const [copy] = filterCopies(deployment, good);
  const requestedAt = isAsked(spec, backups) ? spec.requestedAt : undefined;
  const isHeld = fault !== undefined || isUnchanged(last, seen);
  const isFirstCopy = isArchived(deployment) && copy === undefined;
  const dueAt = isHeld
    ? undefined
    : chooseDueTime(deployment, spec, { over, last, isFirstCopy, ...seen });
  return {
    spec,
    fault,
    running,
    last,
    ended: over.at(-1),
    isDue:
      (requestedAt !== undefined || (dueAt !== undefined && dueAt <= now)) &&
      fault === undefined &&
      running === undefined &&
      mayBegin(deployment),
    dueAt,
    requestedAt,
    outdated: listOutdated(good, over, { keep: resolveKeptBackups(spec), now }),
    archivedFrom: copy?.status?.from,
    needsDatabase: running !== undefined && deployment.spec.hibernate !== true,
  };
}

/** Returns true if there is a database with something in it: one that is still to be restored may be empty. */
const mayBegin = (deployment: DeploymentResource): boolean =>
  deployment.spec.hibernate !== true && !isRestorePending(deployment) && !isReplacing(deployment);

/** Returns true if the deployment sleeps since before its last backup, so that nothing has changed. */
export const isUnchanged = (
  last: BackupResource | undefined,
  { asleepSince }: { asleepSince?: string | undefined },
): boolean =>
  last !== undefined &&
  asleepSince !== undefined &&
  parseBackupTime(last.spec.backup) > Date.parse(asleepSince);

/** Returns the backups that a deployment keeps. */
export const resolveKeptBackups = ({ keep }: BackupSpec): BackupKeep =>
  keep?.days === undefined ? { count: keep?.count ?? KEPT } : { days: keep.days };

/** Returns true if a request has not been answered by any backup. Whether that one succeeded is another question. */
const isAsked = ({ requestedAt }: BackupSpec, backups: readonly BackupResource[]): boolean =>
  requestedAt !== undefined && !backups.some(({ spec }) => spec.requestedAt === requestedAt);

/** Returns the obstacle to backups that only a person removes. */
export function backupFault(
  spec: BackupSpec,
  settings: OperatorSettings,
  now: Date,
): BackupPlan['fault'] {
  const missing = describeTargetFault('database.backup.target', spec.target, settings);
  if (missing !== undefined) return { reason: 'TargetMissing', message: missing };
  const target = settings.backups.targets[spec.target];
  const unfit =
    spec.method === 'continuous' && target !== undefined ? checkArchiveTarget(target) : undefined;
  if (unfit !== undefined)
    return {
      reason: 'TargetUnfit',
      message: `database.backup.method: continuous needs another target. ${unfit}`,
    };
  const message = scheduleFault(spec, now);
  return message === undefined ? undefined : { reason: 'ScheduleInvalid', message };
}

/** Returns the obstacle of a pod that was made before databases had a folder for the files of pgBackRest. */
function findPodFault(
  deployment: DeploymentResource,
  set: KubeObject | undefined,
): BackupPlan['fault'] {
  if (!isArchived(deployment) || set === undefined) return undefined;
  const { volumes = [] } = (set.spec as WorkloadSpec).template.spec;
  if (volumes.some(({ name }) => name === buildArchiveMount(deployment).volume.name))
    return undefined;
  const message = `database.backup.method: the pod of the database was made by an earlier version. It restarts once with the annotation ${RENEW_DATABASE}.`;
  return { reason: 'PodTooOld', message };
}

/** Returns the copies with which the log of today restores, oldest first: without a gap, and in the data of today. */
function filterCopies(
  { spec, status = {} }: DeploymentResource,
  good: readonly BackupResource[],
): readonly BackupResource[] {
  if (!isArchived({ spec })) return [];
  const { archivedSince, restoredAt = archivedSince } = status;
  const since = Math.max(...[archivedSince, restoredAt].map((time) => Date.parse(time ?? '')));
  return good.filter(
    (one) => one.spec.method === 'continuous' && parseBackupTime(one.spec.backup) + SECOND > since,
  );
}

/** Returns true if a backup began after the data of a moment had taken its place, or if none ever did. */
const isBegunSince = ({ spec }: BackupResource, restoredAt: string | undefined): boolean =>
  restoredAt === undefined || parseBackupTime(spec.backup) + SECOND > Date.parse(restoredAt);

/** Returns the sentence on a target that the installation does not have. */
export function describeTargetFault(
  field: string,
  target: string,
  { backups: { targets } }: OperatorSettings,
): string | undefined {
  if (Object.hasOwn(targets, target)) return undefined;
  const known = Object.keys(targets).toSorted().join(', ');
  const others = known === '' ? 'The installation has none' : `The installation has: ${known}`;
  return `${field}: there is no target ${target}. ${others} (settings.backups.targets).`;
}

/** Returns when the last of so many failures in a row is tried again. */
export const chooseRetryTime = (begun: number, failures: number): Date =>
  new Date(begun + AGAIN * 2 ** Math.min(MOST_DOUBLED, failures - 1) * MINUTE);

type BackupHistory = BackupFacts & {
  over: readonly BackupResource[];
  last: BackupResource | undefined;
  isFirstCopy: boolean;
};

/** Returns when the next backup is due by the schedule: the first at once, a failed one again after a while. */
function chooseDueTime(
  { metadata, status }: DeploymentResource,
  spec: BackupSpec,
  { over, last, isFirstCopy, now }: BackupHistory,
): Date | undefined {
  // The log is worth nothing without a copy.
  if (spec.schedule === undefined && !isFirstCopy) return undefined;
  // One that was under way while the data was replaced lost its database to that, and says nothing of the next.
  const failures = over
    .slice(last === undefined ? 0 : over.indexOf(last) + 1)
    .filter((one) => isBegunSince(one, status?.restoredAt));
  const newest = failures.at(-1);
  if (newest !== undefined)
    return chooseRetryTime(parseBackupTime(newest.spec.backup), failures.length);
  const born = new Date(metadata.creationTimestamp ?? now);
  return last === undefined || isFirstCopy
    ? born
    : computeNextBackupTime(spec, new Date(parseBackupTime(last.spec.backup)), metadata.uid ?? '');
}

function listOutdated(
  good: readonly BackupResource[],
  over: readonly BackupResource[],
  { keep, now }: { keep: BackupKeep; now: Date },
): BackupResource[] {
  // The Job of the newest backup has removed the same from the target, by the same rule at its own moment.
  const at = new Date(
    Math.min(now.getTime(), Date.parse(good.at(-1)?.status?.until ?? now.toISOString())),
  );
  const gone = new Set(
    listExpiredBackups(
      good.map(({ spec }) => spec.backup),
      keep,
      at,
    ),
  );
  const failed = over.filter(({ status }) => status?.phase === 'Failed');
  return [...good.filter(({ spec }) => gone.has(spec.backup)), ...failed.slice(0, -FAILURES_KEPT)];
}
