import { Conflict, NotFound, Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import { AWAITED_BACKUP } from '../../schema/platform/objects/labels.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { BackupAnswer, BackupRequested } from '../../schema/wire/backup-answer.ts';
import type { CallContext } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedByPatch } from '../requested-by.ts';
import { readDeployment } from './lookup.ts';
import { deriveLaterTime } from './later-time.ts';

/** Lists the backups of a deployment, newest first. They are read from the API server, because few ask for them. */
export async function listBackups(
  { kube }: ControlPlane,
  { metadata }: DeploymentResource,
  signal: AbortSignal,
): Promise<BackupAnswer[]> {
  const scope = {
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
    fieldSelector: `spec.deployment=${metadata.name}`,
  };
  const found = await callKube(() => kube.listAll(kinds.backup, scope, signal));
  const own = found.filter(({ spec }) => spec.deploymentUid === metadata.uid);
  return own.toSorted((a, b) => (a.spec.backup > b.spec.backup ? -1 : 1)).map(toAnswer);
}

/** Returns one backup of a deployment. Throws if it has none of this name. */
export async function requireBackup(
  plane: ControlPlane,
  deployment: DeploymentResource,
  { name, signal }: { name: string; signal: AbortSignal },
): Promise<BackupAnswer> {
  const found = (await listBackups(plane, deployment, signal)).find(
    (backup) => backup.name === name,
  );
  if (found === undefined) throw new NotFound(`Backup ${name} not found.`);
  return found;
}

const toAnswer = ({ metadata, spec, status = {} }: BackupResource): BackupAnswer => ({
  name: metadata.name,
  status: status.phase ?? 'Running',
  reason: status.reason ?? null,
  message: status.message ?? null,
  method: spec.method,
  target: spec.target,
  from: status.from ?? null,
  until: status.until ?? null,
  size_bytes: status.sizeBytes ?? null,
  key_ids: status.keys ?? [],
  expires_at: status.expires ?? null,
  verified_at: status.verified ?? null,
  requested_at: spec.requestedAt ?? null,
});

/** Asks the operator for a backup now. `isAwaited`: a clone waits for it, so that it is made fast. */
export async function startBackup(
  plane: ControlPlane,
  id: string,
  { isAwaited = false, ...call }: CallContext & { isAwaited?: boolean },
): Promise<BackupRequested> {
  const asked = await retryConflicts(
    () => readDeployment(plane, id, call),
    async (live) => {
      const { namespace, name, resourceVersion } = live.metadata;
      const value = deriveLaterTime(requireBackupSettings(live).requestedAt, plane.now());
      const patch = [
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion } as const,
        { op: 'add', path: '/spec/database/backup/requestedAt', value } as const,
        ...buildRequestedByPatch(
          live.metadata,
          call.caller,
          isAwaited ? { [AWAITED_BACKUP]: value } : {},
        ),
      ];
      return plane.stored.note.deployment(
        await callKube(() => plane.kube.patchJson(kinds.deployment, { namespace, name }, patch)),
      );
    },
  );
  return { requested_at: asked.spec.database?.backup?.requestedAt ?? '' };
}

/** Returns the settings of a deployment's backups. Throws with the field and the reason if there can be none. */
function requireBackupSettings({ metadata, spec: { database, hibernate } }: DeploymentResource): {
  requestedAt?: string;
} {
  if (metadata.deletionTimestamp !== undefined)
    throw new Conflict('The deployment is being deleted.');
  if (database?.external !== undefined || database?.fromSecrets === true)
    throw new Rejected(
      'database.backup: only for a managed database; an external one is backed up by its own administrator',
    );
  if (database?.backup === undefined)
    throw new Rejected(
      'database.backup: the deployment names no backup target; set source_config.database_backup.target',
    );
  if (hibernate === true)
    throw new Rejected('hibernate: the database is stopped; wake the deployment first');
  return database.backup;
}

/** Throws, with the field of a clone, if no backup of the original can be made. */
export function requireCloneable(original: DeploymentResource): void {
  try {
    requireBackupSettings(original);
  } catch (error) {
    if (!(error instanceof Rejected) && !(error instanceof Conflict)) throw error;
    throw new Rejected(
      `database.clone_of: no backup of ${original.metadata.name} can be made: ${error.message}`,
      { cause: error },
    );
  }
}
