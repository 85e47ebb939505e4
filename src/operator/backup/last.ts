import type { BackupResource } from '../../schema/platform/custom-resources.ts';
import { momentOf } from '../../schema/wire/backup-message.ts';

/** The part of a backup that metrics tell of. Times are in seconds since the epoch. */
export type BackupEnd = { backup: string; succeededAt?: number; verifiedAt?: number; failedAt?: number; bytes?: number };

/** The last backups of a deployment. */
type LastBackups = Omit<BackupEnd, 'backup'>;

/** Returns how a backup ended, or undefined while it has not. */
export function backupEndOf({ spec: { backup }, status }: BackupResource): BackupEnd | undefined {
  if (status?.phase === 'Failed') return { backup, failedAt: momentOf(backup) / 1000 };
  if (status?.phase !== 'Succeeded') return undefined;
  return {
    backup,
    succeededAt: Date.parse(status.from ?? '') / 1000,
    bytes: status.sizeBytes ?? 0,
    ...(status.verified !== undefined && { verifiedAt: Date.parse(status.verified) / 1000 }),
  };
}

/** Returns those that decide what the last backups are: the newest good and failed ones, and the one verified last. */
export function decisiveEnds(ends: readonly BackupEnd[]): BackupEnd[] {
  const newest = (some: BackupEnd[]): BackupEnd[] => some.toSorted((a, b) => (a.backup < b.backup ? 1 : -1)).slice(0, 1);
  const good = newest(ends.filter(({ succeededAt }) => succeededAt !== undefined));
  const failed = newest(ends.filter(({ failedAt }) => failedAt !== undefined));
  const verified = ends.toSorted((a, b) => (b.verifiedAt ?? 0) - (a.verifiedAt ?? 0)).slice(0, 1);
  return [...new Set([...verified, ...failed, ...good])];
}

/** Returns the last backups of one deployment. They follow from the objects, so that a restart changes nothing. */
export function lastBackups(ends: readonly BackupEnd[]): LastBackups {
  const decisive = decisiveEnds(ends);
  const valueOf = (name: keyof LastBackups): Partial<LastBackups> => {
    const value = decisive.findLast((end) => end[name] !== undefined)?.[name];
    return value === undefined ? {} : { [name]: value };
  };
  const verified = decisive.flatMap(({ verifiedAt }) => verifiedAt ?? []);
  return {
    ...valueOf('succeededAt'),
    ...valueOf('failedAt'),
    ...valueOf('bytes'),
    ...(verified.length > 0 && { verifiedAt: Math.max(...verified) }),
  };
}
