import { isArchived } from '../backup/backup-spec.ts';
import type { BackupResource, DeploymentResource } from './custom-resources.ts';

/** Returns the id under which the backups of a deployment lie: the one that its spec claims, or its uid. */
export const getBackupOwnerId = ({ metadata, spec }: DeploymentResource): string =>
  (spec.id ?? metadata.uid ?? '').toLowerCase();

/**
 * Returns the backup of this name among those of a tenant. That of the namespace counts first; elsewhere the name must
 * stand for one alone.
 */
export function findBackupByName(
  name: string,
  backups: readonly BackupResource[],
  namespace: string | undefined,
): BackupResource | 'none' | 'several' {
  const found = backups.filter(({ metadata }) => metadata.name === name);
  const [only, ...others] = found;
  if (only === undefined) return 'none';
  return (
    found.find(({ metadata }) => metadata.namespace === namespace) ??
    (others.length === 0 ? only : 'several')
  );
}

/**
 * Returns the backup of a deployment that was made for this request, or for a later one that has taken its place. One
 * that succeeded counts before one that is being made, and that before one that failed.
 */
export function findRequestedBackup(
  uid: string,
  requestedAt: string,
  backups: readonly BackupResource[],
): BackupResource | undefined {
  const isFor = ({ spec }: BackupResource): boolean =>
    Date.parse(spec.requestedAt ?? '') >= Date.parse(requestedAt);
  const made = backups.filter((each) => each.spec.deploymentUid === uid && isFor(each));
  const inOrder = made.toSorted((a, b) => (a.spec.backup < b.spec.backup ? -1 : 1));
  const findByPhase = (phase: string): BackupResource | undefined =>
    inOrder.find(({ status }) => status?.phase === phase);
  return (
    findByPhase('Succeeded') ??
    inOrder.find(({ status }) => status?.phase !== 'Failed') ??
    inOrder.at(-1)
  );
}

/**
 * Returns when the data of a deployment that keeps its log was replaced, if that was before this moment and after the
 * newest copy of before it, whose log is that of the former data. Undefined: the copy leads to the moment.
 */
export function findReplacementTime(
  { spec, status = {} }: DeploymentResource,
  copy: BackupResource,
  at: number,
): string | undefined {
  const { restoredAt } = status;
  if (restoredAt === undefined || !isArchived({ spec }) || copy.spec.method !== 'continuous')
    return undefined;
  const replaced = Date.parse(restoredAt);
  return replaced <= at && Date.parse(copy.status?.from ?? '') <= replaced ? restoredAt : undefined;
}

/** Returns the newest backup of a deployment at a target whose data is of this moment or before, among good ones. */
export function findBackupBefore(
  at: number,
  good: readonly BackupResource[],
): BackupResource | undefined {
  const before = good.filter(({ status }) => Date.parse(status?.from ?? '') <= at);
  return before.toSorted((a, b) => (a.spec.backup < b.spec.backup ? 1 : -1))[0];
}

/** Returns the good backups of a deployment at a target. */
export const filterGoodBackups = (
  uid: string | undefined,
  target: string,
  backups: readonly BackupResource[],
): BackupResource[] =>
  backups.filter(
    ({ spec, status }) =>
      spec.deploymentUid === uid && spec.target === target && status?.phase === 'Succeeded',
  );
