import { readEncryptionSettings } from '../../config/agent/encryption.ts';
import { SettingsReader } from '../../config/env.ts';
import { Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import { listMissingKeys } from '../../schema/agent/aes-key-id.ts';
import {
  findBackupByName,
  filterGoodBackups,
  findBackupBefore,
  findReplacementTime,
} from '../../schema/platform/resources/backup-choice.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type {
  DeploymentCreateRequest,
  Secret,
} from '../../schema/platform/deployment/deployment.ts';
import type { CloneRequest, RestoreAsked } from '../../schema/platform/backup/restore-asked.ts';
import type { CallContext } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { callKube } from '../kube-refusal.ts';
import { startBackup, requireCloneable } from './backups.ts';
import { buildTenantFilter, listTenantNamespaces } from './lookup.ts';
import { hasDatabaseSecret } from './resource.ts';
import type { Broken } from './rules.ts';

const AT = 'database.restore';

/** Returns the rules that a restore breaks by itself. */
export function checkRestoreFields(
  { database, secrets }: DeploymentCreateRequest,
  now: Date,
): Broken[] {
  const { restore, clone_of: original } = database ?? {};
  const isClone = typeof original === 'string';
  if (!isClone && (restore === null || restore === undefined)) return [];
  const isGiven = (field: keyof RestoreAsked): boolean =>
    restore?.[field] !== null && restore?.[field] !== undefined;
  const sources = [isClone, isGiven('backup'), isGiven('deployment_id')].filter(Boolean).length;
  const which = isClone
    ? 'neither backup nor deployment_id beside clone_of'
    : 'either backup or deployment_id';
  const alone = (['target', 'at'] as const).filter(
    (field) => isGiven(field) && !isGiven('deployment_id'),
  );
  return [
    ...(hasDatabaseSecret(secrets)
      ? [`${AT}: only for a managed database; an external one is restored by its own administrator`]
      : []),
    ...(sources === 1 ? [] : [`${AT}: ${which}`]),
    ...alone.map((field) => `${AT}.${field}: only beside deployment_id`),
    ...(Date.parse(restore?.at ?? '') > now.getTime() ? [`${AT}.at: is in the future`] : []),
  ];
}

/**
 * Throws if the objects in this cluster show that a restore can't be: an unknown backup, a moment that is not kept, or
 * missing keys. The condition `Restored` reports the rest, which only the catalogue knows.
 */
export async function checkRestore(
  plane: ControlPlane,
  { database, secrets }: DeploymentCreateRequest,
  { namespace, ...call }: CallContext & { namespace: string },
): Promise<void> {
  const { restore, clone_of: original } = database ?? {};
  if (typeof restore?.sql_config_map === 'string')
    await requireConfigMap(plane, restore.sql_config_map, { namespace, signal: call.signal });
  if (typeof original === 'string') {
    const known = await requireNewest(plane, original, call);
    if (known !== undefined) requireKeys(known, secrets);
    return;
  }
  if (restore === null || restore === undefined) return;
  const found =
    typeof restore.backup === 'string'
      ? await requireBackupByName(plane, restore.backup, { namespace, ...call })
      : await findDeploymentBackup(plane, restore, call);
  if (found !== undefined) requireKeys(found, secrets);
}

/** Asks for a backup of the original, which the new deployment waits for. */
export async function startClone(
  plane: ControlPlane,
  { database }: DeploymentCreateRequest,
  call: CallContext,
): Promise<CloneRequest | undefined> {
  const original = database?.clone_of;
  if (original === null || original === undefined) return undefined;
  const { requested_at: requestedAt } = await startBackup(
    { ...plane, now: () => new Date() },
    original,
    { ...call, isAwaited: true },
  );
  return { deployment: original, requestedAt };
}

/** Returns the newest backup of an original, whose data needs the same keys. Throws if it can't be cloned. */
async function requireNewest(
  plane: ControlPlane,
  id: string,
  { caller, signal }: CallContext,
): Promise<BackupResource | undefined> {
  const original = await plane.stored.findDeployment(
    id.toLowerCase(),
    buildTenantFilter(plane, caller),
    signal,
  );
  if (original === undefined)
    throw new Rejected('database.clone_of: there is no deployment with this id');
  requireCloneable(original);
  const { namespace = '', uid } = original.metadata;
  const good = (await listBackupsIn(plane, namespace, signal)).filter(
    ({ spec, status }) => spec.deploymentUid === uid && status?.phase === 'Succeeded',
  );
  return good.toSorted((a, b) => (a.spec.backup < b.spec.backup ? 1 : -1))[0];
}

export async function requireConfigMap(
  { kube }: ControlPlane,
  name: string,
  { namespace, signal }: { namespace: string; signal: AbortSignal },
): Promise<void> {
  const found = await callKube(() => kube.find(kinds.configMap, { namespace, name }, signal));
  if (found === undefined)
    throw new Rejected(
      `${AT}.sql_config_map: there is no ConfigMap ${name} in namespace ${namespace}`,
    );
}

async function listBackupsIn(
  { kube }: ControlPlane,
  namespace: string,
  signal: AbortSignal,
): Promise<BackupResource[]> {
  return callKube(() => kube.listAll(kinds.backup, { namespace }, signal));
}

export async function requireBackupByName(
  plane: ControlPlane,
  name: string,
  { namespace, ...call }: CallContext & { namespace: string },
): Promise<BackupResource> {
  const all = await Promise.all(
    listTenantNamespaces(plane, call.caller).map((each) => listBackupsIn(plane, each, call.signal)),
  );
  const found = findBackupByName(name, all.flat(), namespace);
  if (found === 'none') throw new Rejected(`${AT}.backup: there is no backup ${name}`);
  if (found === 'several')
    throw new Rejected(
      `${AT}.backup: several namespaces have a backup ${name}; name deployment_id and at instead`,
    );
  if (found.status?.phase === 'Succeeded') return found;
  const how =
    found.status?.phase === 'Failed'
      ? `failed: ${found.status.message ?? ''}`
      : 'is still being made';
  throw new Rejected(`${AT}.backup: backup ${name} ${how}`);
}

export async function findDeploymentBackup(
  plane: ControlPlane,
  { deployment_id: id, target, at }: RestoreAsked,
  { caller, signal }: CallContext,
): Promise<BackupResource | undefined> {
  const source = await plane.stored.findDeployment(
    (id ?? '').toLowerCase(),
    buildTenantFilter(plane, caller),
    signal,
  );
  const place = target ?? source?.spec.database?.backup?.target;
  if (place === undefined)
    throw new Rejected(
      `${AT}.target: required, because no deployment with this id names a target here`,
    );
  if (source === undefined) return undefined;
  const { namespace = '', uid } = source.metadata;
  const good = filterGoodBackups(uid, place, await listBackupsIn(plane, namespace, signal));
  // The target may hold backups that this cluster does not know.
  if (good.length === 0) return undefined;
  return requireBackupAt(at ?? undefined, source, good);
}

/** Returns the backup from which a moment, or the newest, is restored. Throws if it is not kept. */
function requireBackupAt(
  at: string | undefined,
  source: DeploymentResource,
  good: readonly BackupResource[],
): BackupResource {
  const moment = at === undefined ? Infinity : Date.parse(at);
  const found = findBackupBefore(moment, good);
  if (found === undefined)
    throw new Rejected(`${AT}.at: the oldest backup has the data of ${findOldest(good)}`);
  const replaced = findReplacementTime(source, found, moment);
  if (replaced === undefined) return found;
  const words = `data was replaced at ${replaced}, and`;
  if (at === undefined)
    throw new Rejected(`${AT}.deployment_id: its ${words} there is no copy of it yet`);
  throw new Rejected(`${AT}.at: the ${words} moments between that and the next copy are not kept`);
}

const findOldest = (good: readonly BackupResource[]): string | undefined =>
  good.map(({ status }) => status?.from ?? '').toSorted()[0];

/** Throws if the secrets of the new deployment lack a key with which data of the backup is encrypted. */
export function requireKeys(
  { metadata, status }: BackupResource,
  secrets: readonly Secret[],
): void {
  const env = Object.fromEntries(
    secrets.filter(({ value }) => value !== '').map(({ name, value }) => [name, value]),
  );
  const missing = listMissingKeys(
    status?.keys ?? [],
    readEncryptionSettings(new SettingsReader(env))?.keys ?? [],
  );
  if (missing.length > 0)
    throw new Rejected(
      `secrets: backup ${metadata.name} is encrypted with ${missing.join(', ')}; GX_AES_KEY must hold these keys`,
    );
}
