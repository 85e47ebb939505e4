import { parseBackupTime, type BackupKeep } from './backup-message.ts';

const DAY = 86_400_000;

/**
 * Returns the names of the backups to remove, oldest first. The newest stays whatever its age. Names of another form
 * stay, too, because nobody here made them.
 */
export function listExpiredBackups(
  names: readonly string[],
  keep: BackupKeep,
  now: Date,
): string[] {
  const known = names.filter((name) => !Number.isNaN(parseBackupTime(name))).toSorted();
  const others = known.slice(0, -1);
  if ('count' in keep) return others.slice(0, Math.max(0, known.length - Math.max(1, keep.count)));
  return others.filter((name) => parseBackupTime(name) < now.getTime() - keep.days * DAY);
}
