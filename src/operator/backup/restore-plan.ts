import type { OperatorSettings } from '../../config/platform/operator.ts';
import {
  findBackupByName,
  findRequestedBackup,
  filterGoodBackups,
  findBackupBefore,
  findReplacementTime,
} from '../../schema/platform/resources/backup-choice.ts';
import { isArchived, type BackupMethod } from '../../schema/platform/backup/backup-spec.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import {
  isRestorePending,
  type ChosenBackup,
  type RestoreSpec,
} from '../../schema/platform/backup/restore-spec.ts';
import { checkArchiveTarget, type Refill } from '../../schema/wire/pgbackrest.ts';
import type {
  RestoreDone,
  RestoreFailureReason,
  RestoreOrder,
} from '../../schema/wire/restore-message.ts';
import { describeTargetFault } from './plan.ts';
import { stripTargetSecret } from './pod.ts';

/** The decision about the restore with which a deployment begins. */
export type RestorePlan =
  | { state: 'done' }
  /** The backup to restore is not known. */
  | { state: 'fault'; reason: RestoreFailureReason; message: string }
  /** The backup is still being made. */
  | { state: 'waits'; message: string; method: BackupMethod }
  /** The catalogue is to be looked at: a copy of files fills the volume before the database starts. */
  | { state: 'look'; order: RestoreOrder; target: string }
  | { state: 'ready'; order: RestoreOrder; target: string; refill?: Refill };

export type RestoreSeen = {
  backups: readonly BackupResource[];
  /** Deployments of the tenant, by the id or the uid that they have. */
  deployments: (id: string) => readonly DeploymentResource[];
  tenant: string | undefined;
  settings: OperatorSettings;
};

export type OpenRestore = Exclude<RestorePlan, { state: 'done' }>;
type Source = { target: string; id: string; name?: string; isDump: boolean };
type Unknown = Exclude<RestorePlan, { state: 'done' | 'look' | 'ready' }>;

/** Decides about the restore of a deployment. Undefined if it begins with an empty database. */
export function planRestore(
  deployment: DeploymentResource,
  seen: RestoreSeen,
): RestorePlan | undefined {
  const { restore } = deployment.spec.database ?? {};
  if (restore === undefined) return undefined;
  if (!isRestorePending(deployment)) return { state: 'done' };
  const [into, chosen] = [deployment.metadata.uid ?? '', deployment.status?.chosenBackup];
  if (chosen === undefined) return planRestoreSource(deployment, restore, { ...seen, into });
  return planChosenRestore(chosen, restore, { ...seen, into });
}

/** Goes on with the backup that was chosen. */
export function planChosenRestore(
  chosen: ChosenBackup,
  { resume }: RestoreSpec,
  seen: Ordering,
): OpenRestore {
  const [id = '', name = ''] = chosen.backup.split('/');
  const plan = buildRestoreOrder(
    { target: chosen.target, id, name },
    { ...(resume !== undefined && { resume }) },
    seen,
  );
  const refill = buildRefill(chosen);
  if (plan.state !== 'ready' || refill === undefined) return plan;
  const at = typeof refill.to === 'string' ? {} : refill.to;
  return { ...plan, order: { ...plan.order, ...at, filled: true }, refill };
}

/** Returns how a volume is filled, as the status has it. Undefined if a dump is restored. */
const buildRefill = ({ copy, upTo = 'log' }: ChosenBackup): Refill | undefined =>
  copy === undefined
    ? undefined
    : { copy, to: upTo === 'log' ? 'end of log' : upTo === 'copy' ? 'end of copy' : { at: upTo } };

/** Returns the backup that a look at the catalogue has found, as the status has it. */
export const toChosenBackup = (
  { backup, copy }: RestoreDone,
  { order, target }: { order: RestoreOrder; target: string },
): ChosenBackup => ({
  backup,
  target,
  // A backup by its name is the data at its own end.
  ...(copy !== undefined && {
    copy,
    upTo: order.name === undefined ? (order.at ?? 'log') : 'copy',
  }),
});

/** Returns true while a copy of files may have to fill the volume of the database before it starts. */
export const isRestoreUndecided = (plan: RestorePlan | undefined): boolean =>
  plan?.state === 'look' ||
  plan?.state === 'fault' ||
  (plan?.state === 'waits' && plan.method === 'continuous');

/** Finds the backup that a restore is from. */
export function planRestoreSource(
  deployment: DeploymentResource,
  restore: RestoreSpec,
  seen: RestoreSeen & { into: string },
): OpenRestore {
  const source =
    restore.backup === undefined
      ? findByDeployment(restore, seen)
      : findByName(restore.backup, deployment, seen);
  if ('state' in source) return source;
  const plan = buildRestoreOrder(source, restore, seen);
  const mayBeCopy = !source.isDump && canTakeLogs(source.target, seen.settings);
  return plan.state === 'ready' && mayBeCopy ? { ...plan, state: 'look' } : plan;
}

/** Returns true for a target at which copies of files may lie. */
function canTakeLogs(name: string, { backups: { targets } }: OperatorSettings): boolean {
  const target = targets[name];
  return target !== undefined && checkArchiveTarget(target) === undefined;
}

type Ordering = RestoreSeen & { into: string };

/** Returns the order to restore from a source, if the installation has its target. */
export function buildRestoreOrder(
  source: Omit<Source, 'isDump'>,
  { at, resume }: RestoreSpec,
  { settings, tenant, into }: Ordering,
): OpenRestore {
  const target = settings.backups.targets[source.target];
  if (target === undefined)
    return {
      state: 'fault',
      reason: 'TargetMissing',
      message: describeTargetFault('database.restore', source.target, settings) ?? '',
    };
  const { id, name } = source;
  const which = { ...(name !== undefined && { name }), ...(at !== undefined && { at }) };
  const order = {
    target: stripTargetSecret(target),
    owner: { tenant: tenant ?? 'none', id },
    ...which,
    into,
    resume: resume === true,
  };
  return { state: 'ready', target: source.target, order };
}

const buildMissing = (message: string): Unknown => ({
  state: 'fault',
  reason: 'BackupMissing',
  message,
});

function findByName(
  name: string,
  { metadata }: DeploymentResource,
  { backups, deployments }: RestoreSeen,
): Source | Unknown {
  const found = findBackupByName(name, backups, metadata.namespace);
  if (found === 'none')
    return buildMissing(
      `database.restore.backup: there is no backup ${name} in a namespace of the tenant.`,
    );
  if (found === 'several')
    return buildMissing(
      `database.restore.backup: several namespaces of the tenant have a backup ${name}. Name deployment and at instead.`,
    );
  const { spec, status } = found;
  if (status?.phase === 'Failed')
    return buildMissing(
      `database.restore.backup: backup ${name} failed. ${status.message ?? ''}`.trim(),
    );
  if (status?.phase !== 'Succeeded')
    return { state: 'waits', message: `Backup ${name} is being made.`, method: spec.method };
  return {
    target: spec.target,
    id: resolveId(spec.deploymentUid, deployments),
    name: spec.backup,
    isDump: spec.method === 'dump',
  };
}

/** Returns the id under which the backups of a deployment lie: the one that its spec claims, or its uid. */
const resolveId = (uid: string, deployments: RestoreSeen['deployments']): string =>
  (
    deployments(uid.toLowerCase()).find(({ metadata }) => metadata.uid === uid)?.spec.id ?? uid
  ).toLowerCase();

function findByDeployment(restore: RestoreSpec, seen: RestoreSeen): Source | Unknown {
  const { deployments } = seen;
  const id = (restore.deployment ?? '').toLowerCase();
  if (restore.requestedAt !== undefined) return findByRequest(id, restore.requestedAt, seen);
  const target = restore.target ?? deployments(id)[0]?.spec.database?.backup?.target;
  const uncopied =
    target === undefined
      ? undefined
      : checkCopied(restore, deployments(id)[0], target, seen.backups);
  if (uncopied !== undefined) return uncopied;
  if (target !== undefined)
    return { target, id: resolveClaimedId(id, deployments), isDump: hasDumpsAlone(id, seen) };
  return {
    state: 'fault',
    reason: 'TargetMissing',
    message: `database.restore.target: no deployment of the tenant with id ${id} names a target here. Name the target that has its backups.`,
  };
}

/** Decides about a moment after the data of the original was replaced, of which there is no copy. */
function checkCopied(
  { at }: RestoreSpec,
  original: DeploymentResource | undefined,
  target: string,
  backups: readonly BackupResource[],
): Unknown | undefined {
  if (original === undefined) return undefined;
  const moment = at === undefined ? Infinity : Date.parse(at);
  const copy = findBackupBefore(moment, filterGoodBackups(original.metadata.uid, target, backups));
  const replaced = copy && findReplacementTime(original, copy, moment);
  if (replaced === undefined) return undefined;
  const words = `The data of ${original.metadata.name} was replaced at ${replaced}`;
  if (at === undefined)
    return {
      state: 'waits',
      message: `${words}. Waiting for a copy of it.`,
      method: 'continuous',
    };
  const message = `database.restore.at: ${words}, and moments between that and the next copy are not kept.`;
  return { state: 'fault', reason: 'TimeNotKept', message };
}

/** Returns true for a deployment of this cluster that has never had copies of files. */
function hasDumpsAlone(id: string, { deployments, backups }: RestoreSeen): boolean {
  const [original] = deployments(id);
  if (original === undefined || isArchived(original)) return false;
  return !backups.some(
    ({ spec }) => spec.deploymentUid === original.metadata.uid && spec.method === 'continuous',
  );
}

/** The backup that was asked for is made in its turn. One that failed is not made again for this request. */
function findByRequest(
  id: string,
  requestedAt: string,
  { deployments, backups }: RestoreSeen,
): Source | Unknown {
  const [original] = deployments(id);
  if (original === undefined)
    return buildMissing(
      `database.restore.deployment: there is no deployment of the tenant with id ${id}.`,
    );
  const { name, uid = '' } = original.metadata;
  const found = findRequestedBackup(uid, requestedAt, backups);
  if (found?.status?.phase === 'Failed')
    return buildMissing(`The backup of ${name} failed. ${found.status.message ?? ''}`.trim());
  if (found?.status?.phase === 'Succeeded')
    return {
      target: found.spec.target,
      id: resolveId(uid, deployments),
      name: found.spec.backup,
      isDump: found.spec.method === 'dump',
    };
  const method = original.spec.database?.backup?.method ?? 'dump';
  return {
    state: 'waits',
    message: `The backup of ${name} of ${requestedAt} is being made, or waits for its turn.`,
    method,
  };
}

/** A deployment may be named by its uid, and keep its backups under the id that it claims. */
const resolveClaimedId = (id: string, deployments: RestoreSeen['deployments']): string =>
  (deployments(id)[0]?.spec.id ?? id).toLowerCase();
