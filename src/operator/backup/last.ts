import type { BackupResource } from '../../schema/platform/resources/custom-resources.ts';
import { parseBackupTime } from '../../schema/wire/backup-message.ts';

/** The part of a backup that metrics tell of. Times are in seconds since the epoch. */
export type BackupEnd = {
  backup: string;
  succeededAt?: number;
  verifiedAt?: number;
  failedAt?: number;
  bytes?: number;
};

type LastBackups = Omit<BackupEnd, 'backup'>;

/** Returns how a backup ended, or undefined while it has not. */
export function backupEndOf({ spec: { backup }, status }: BackupResource): BackupEnd | undefined {
  if (status?.phase === 'Failed') return { backup, failedAt: parseBackupTime(backup) / 1000 };
  if (status?.phase !== 'Succeeded') return undefined;
  return {
    backup,
    succeededAt: Date.parse(status.from ?? '') / 1000,
    bytes: status.sizeBytes ?? 0,
    ...(status.verified !== undefined && { verifiedAt: Date.parse(status.verified) / 1000 }),
  };
}

/** Returns those that decide what the last backups are: the newest good and failed ones, and the one verified last. */
export function filterDecisiveEnds(ends: readonly BackupEnd[]): BackupEnd[] {
  const pickNewest = (some: BackupEnd[]): BackupEnd[] =>
    some.toSorted((a, b) => (a.backup < b.backup ? 1 : -1)).slice(0, 1);
  const good = pickNewest(ends.filter(({ succeededAt }) => succeededAt !== undefined));
  const failed = pickNewest(ends.filter(({ failedAt }) => failedAt !== undefined));
  const verified = ends.toSorted((a, b) => (b.verifiedAt ?? 0) - (a.verifiedAt ?? 0)).slice(0, 1);
  return [...new Set([...verified, ...failed, ...good])];
}

/** Returns the last backups of one deployment. They follow from the objects, so that a restart changes nothing. */
export function summarizeLastBackups(ends: readonly BackupEnd[]): LastBackups {
  const decisive = filterDecisiveEnds(ends);
  const pickValue = (name: keyof LastBackups): Partial<LastBackups> => {
    const value = decisive.findLast((end) => end[name] !== undefined)?.[name];
    return value === undefined ? {} : { [name]: value };
  };
  const verified = decisive.flatMap(({ verifiedAt }) => verifiedAt ?? []);
  return {
    ...pickValue('succeededAt'),
    ...pickValue('failedAt'),
    ...pickValue('bytes'),
    ...(verified.length > 0 && { verifiedAt: Math.max(...verified) }),
  };
}
