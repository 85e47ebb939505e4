import type { BackupResource } from '../../schema/platform/custom-resources.ts';
import { momentOf } from '../../schema/wire/backup-message.ts';
import type { LastBackup } from '../kernel/metrics.ts';

/** Returns the last backups of each deployment. They follow from the objects, so that a restart changes nothing. */
export function lastBackups(backups: readonly BackupResource[]): LastBackup[] {
  const found = new Map<string, LastBackup>();
  for (const { metadata, spec, status } of backups.toSorted((a, b) => (a.spec.backup < b.spec.backup ? -1 : 1))) {
    const { namespace = '' } = metadata;
    const key = `${namespace}/${spec.deployment}`;
    const known = found.get(key) ?? { namespace, deployment: spec.deployment };
    if (status?.phase === 'Succeeded')
      found.set(key, {
        ...known,
        ...(status.verified !== undefined && { verifiedAt: Math.max(known.verifiedAt ?? 0, Date.parse(status.verified) / 1000) }),
        succeededAt: Date.parse(status.from ?? '') / 1000,
        bytes: status.sizeBytes ?? 0,
      });
    if (status?.phase === 'Failed') found.set(key, { ...known, failedAt: momentOf(spec.backup) / 1000 });
  }
  return [...found.values()];
}
