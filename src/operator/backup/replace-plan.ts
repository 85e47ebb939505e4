import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { isReplacing, type Replacement } from '../../schema/platform/backup/replacement.ts';
import {
  isMove,
  isRestorePending,
  type RestoreSpec,
} from '../../schema/platform/backup/restore-spec.ts';
import {
  findRequestedBackup,
  getBackupOwnerId,
} from '../../schema/platform/resources/backup-choice.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import type { ReplaceFailure } from '../../schema/wire/restore-message.ts';
import { claimName, buildNextClaimName } from '../database/own/volume-name.ts';
import { backupFault } from './plan.ts';
import {
  planChosenRestore,
  buildRestoreOrder,
  planRestoreSource,
  type OpenRestore,
  type RestorePlan,
  type RestoreSeen,
} from './restore-plan.ts';

/** Hours after which a request that was never begun is not begun any more: it is one of a status that was lost. */
const HOURS = 24;

export type ReplaceOrder = Extract<RestorePlan, { state: 'ready' | 'look' }>;

/** The decision about a restore into a living deployment. */
export type ReplacePlan =
  /** The last request is handled. */
  | { state: 'over' }
  /** It can't be. Nothing was stopped. */
  | ({ state: 'fault' } & ReplaceFailure)
  /** Its backup is still being made. Nothing is stopped. */
  | { state: 'waits'; message: string }
  /** The backup is looked at before anything stops. */
  | { state: 'check'; requestedAt: string; order: ReplaceOrder }
  /** The data that is there moves to a new volume, by the backup that is made of it once the agents are stopped. */
  | { state: 'move'; requestedAt: string; target: string }
  /** A former volume takes the place of the present one. */
  | { state: 'volume'; requestedAt: string; claim: string }
  /** The agents are stopped, or stop. Without an order it goes back to a former volume. */
  | { state: 'replacing'; replacement: Replacement; order: ReplaceOrder | undefined };

type ReplaceFacts = RestoreSeen & { database: KubeObject | undefined } & { now: Date };

/** Decides about a restore into a living deployment. Undefined if none was ever asked for. */
export function planReplacement(
  deployment: DeploymentResource,
  seen: ReplaceFacts,
): ReplacePlan | undefined {
  const { restore } = deployment.spec.database ?? {};
  const { replacement, replacedAt } = deployment.status ?? {};
  if (replacement !== undefined && isReplacing(deployment))
    return planOngoing(deployment, replacement, seen);
  if (restore?.replaceRequestedAt === undefined || isRestorePending(deployment)) return undefined;
  const { replaceRequestedAt: requestedAt } = restore;
  if (replacedAt === requestedAt || isOlder(requestedAt, deployment)) return { state: 'over' };
  const known = replacement?.requestedAt === requestedAt;
  return known
    ? planStart(deployment, { restore, requestedAt }, seen)
    : planRequested(deployment, { restore, requestedAt }, seen);
}

/** Returns true for a request that came with the deployment. It has begun with that backup. */
const isOlder = (requestedAt: string, { metadata }: DeploymentResource): boolean =>
  Date.parse(requestedAt) <= Date.parse(metadata.creationTimestamp ?? '');

type ReplaceRequest = { restore: RestoreSpec; requestedAt: string };

const buildFault = (reason: ReplaceFailure['reason'], message: string): ReplacePlan => ({
  state: 'fault',
  reason,
  message,
});

/** Decides about a request that the status does not know yet. */
function planRequested(
  deployment: DeploymentResource,
  request: ReplaceRequest,
  seen: ReplaceFacts,
): ReplacePlan {
  const { requestedAt, restore } = request;
  // The status was lost after the deployment had gone back to a former volume.
  const isBack =
    deployment.status?.databaseVolume === undefined &&
    claimName(deployment, seen.database) === restore.volume;
  if (seen.database !== undefined && isBack) return { state: 'over' };
  const plan = planStart(deployment, request, seen);
  // The status was lost after the volume had changed. The database itself knows its backup.
  if (
    seen.database !== undefined &&
    claimName(deployment, seen.database) === buildNextClaimName(deployment, requestedAt)
  )
    return planResume(plan, deployment, { requestedAt, seen });
  const age = seen.now.getTime() - Date.parse(requestedAt);
  if (age > HOURS * 3_600_000)
    return buildFault(
      'RequestTooOld',
      `database.restore.replaceRequestedAt: ${requestedAt} is longer than ${HOURS} hours ago.`,
    );
  return plan;
}

/** Goes on with a restore into the volume that the database is on already. */
function planResume(
  plan: ReplacePlan,
  deployment: DeploymentResource,
  { requestedAt, seen }: { requestedAt: string; seen: ReplaceFacts },
): ReplacePlan {
  const checked: ReplaceOrder | undefined =
    plan.state === 'check' ? { ...plan.order, state: 'ready' } : undefined;
  const order = plan.state === 'move' ? buildMoveOrder(deployment, plan, seen) : checked;
  if (order === undefined) return { state: 'over' };
  return {
    state: 'replacing',
    replacement: { requestedAt, since: formatKubernetesTime(seen.now), step: 'Restoring' },
    order,
  };
}

/** Returns the order to restore the backup that a move has made. */
function buildMoveOrder(
  deployment: DeploymentResource,
  { requestedAt }: { requestedAt: string },
  seen: ReplaceFacts,
): ReplaceOrder | undefined {
  const made = findRequestedBackup(deployment.metadata.uid ?? '', requestedAt, seen.backups);
  if (made?.status?.phase !== 'Succeeded') return undefined;
  const source = {
    target: made.spec.target,
    id: getBackupOwnerId(deployment),
    name: made.spec.backup,
  };
  const resume = isResumed(deployment.spec.database?.restore);
  const plan = buildRestoreOrder(
    source,
    { resume },
    { ...seen, into: buildRestoreId(deployment, requestedAt) },
  );
  return plan.state === 'ready' ? plan : undefined;
}

/** Returns the backup that a move has made, as the status names the one that is restored. */
export function findMoveBackup(
  deployment: DeploymentResource,
  requestedAt: string,
  backups: readonly BackupResource[],
): string | undefined {
  const made = findRequestedBackup(deployment.metadata.uid ?? '', requestedAt, backups);
  return made?.status?.phase === 'Succeeded'
    ? `${getBackupOwnerId(deployment)}/${made.spec.backup}`
    : undefined;
}

/** Decides about a request whose backup is looked for. Whatever can be refused is refused here. */
function planStart(
  deployment: DeploymentResource,
  { restore, requestedAt }: ReplaceRequest,
  seen: ReplaceFacts,
): ReplacePlan {
  if (deployment.spec.hibernate === true)
    return buildFault(
      'Hibernated',
      'database.restore: the deployment hibernates, and its database with it.',
    );
  if (restore.volume !== undefined)
    return planReturnToVolume(deployment, { claim: restore.volume, requestedAt });
  const noTarget = findTargetFault(deployment, restore, seen);
  if (noTarget !== undefined) return noTarget;
  const { backup: own } = deployment.spec.database ?? {};
  if (isMove(restore) && own !== undefined)
    return { state: 'move', requestedAt, target: own.target };
  const plan: OpenRestore = planRestoreSource(
    deployment,
    { ...restore, resume: isResumed(restore) },
    { ...seen, into: buildRestoreId(deployment, requestedAt) },
  );
  return plan.state === 'ready' || plan.state === 'look'
    ? { state: 'check', requestedAt, order: plan }
    : plan;
}

/** Returns the id of a restore into a living deployment, which the database keeps. */
const buildRestoreId = ({ metadata }: DeploymentResource, requestedAt: string): string =>
  `${metadata.uid}/${requestedAt}`;

function planReturnToVolume(
  { status = {} }: DeploymentResource,
  { claim, requestedAt }: { claim: string; requestedAt: string },
): ReplacePlan {
  const known = (status.formerVolumes ?? []).map((former) => former.claim);
  if (known.includes(claim)) return { state: 'volume', requestedAt, claim };
  const others = known.length === 0 ? 'It has none' : `It has: ${known.join(', ')}`;
  return buildFault(
    'VolumeMissing',
    `database.restore.volume: the deployment has no former volume ${claim}. ${others}.`,
  );
}

/** A living deployment is no copy: it goes on at the moment of the backup unless it is asked not to. */
const isResumed = (restore: RestoreSpec | undefined): boolean => restore?.resume !== false;

/** Returns true if the data that is there is backed up before it is replaced. */
export const isBackedUpFirst = ({ spec }: DeploymentResource): boolean =>
  spec.database?.restore?.withoutBackup !== true;

function findTargetFault(
  deployment: DeploymentResource,
  restore: RestoreSpec,
  { settings, now }: ReplaceFacts,
): ReplacePlan | undefined {
  if (restore.withoutBackup === true) return undefined;
  const { backup } = deployment.spec.database ?? {};
  if (backup === undefined)
    return buildFault(
      'TargetMissing',
      "database.backup: the deployment names no target, so the present data can't be backed up. Name one, or set database.restore.withoutBackup.",
    );
  const missing = backupFault(backup, settings, now);
  return missing?.reason === 'TargetMissing'
    ? buildFault('TargetMissing', missing.message)
    : undefined;
}

/** Goes on with the backup that was chosen, whatever the spec says by now. */
function planOngoing(
  deployment: DeploymentResource,
  replacement: Replacement,
  seen: ReplaceFacts,
): ReplacePlan {
  const { backup, target, requestedAt } = replacement;
  if (backup === undefined || target === undefined)
    return { state: 'replacing', replacement, order: undefined };
  const resume = isResumed(deployment.spec.database?.restore);
  const plan = planChosenRestore(
    { ...replacement, backup, target },
    { resume },
    { ...seen, into: buildRestoreId(deployment, requestedAt) },
  );
  if (plan.state === 'ready') return { state: 'replacing', replacement, order: plan };
  const gone = plan.state === 'fault' ? { reason: plan.reason, message: plan.message } : {};
  return {
    state: 'replacing',
    replacement: { ...replacement, step: 'Returning', ...gone },
    order: undefined,
  };
}
