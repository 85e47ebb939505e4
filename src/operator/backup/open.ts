import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { Caches } from '../view/caches.ts';
import { buildObjectKey } from '../../kube/cache.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { BY_END } from '../view/caches.ts';
import { buildTurnNames } from '../view/integrations.ts';
import { isBackupLost } from './result.ts';
import { isVerificationLost } from './verify-plan.ts';

type Deps = { caches: Caches; settings: OperatorSettings };

/**
 * Returns true if the tenant of a deployment has a turn left for a backup or a verification. Each tenant has turns of
 * its own: a dump may last as long as its tenant likes, and no other tenant waits for it.
 */
export const hasTurn = (deps: Deps, deployment: DeploymentResource, now: Date): boolean =>
  openBackups(deps, deployment, now).length < deps.settings.backups.atOnce;

/** Returns the backups of a deployment's tenant that are being made or verified. */
function openBackups(
  { caches, settings }: Deps,
  { metadata }: DeploymentResource,
  now: Date,
): BackupResource[] {
  const { deadlineMinutes } = settings.backups;
  const nameOf = buildTurnNames(caches, settings);
  const own = nameOf(metadata.namespace);
  const isCounted = (one: BackupResource): boolean =>
    isOfLiving(one, caches) && nameOf(one.metadata.namespace) === own;
  const made = caches.backups
    .listByIndex(BY_END, 'open')
    .filter((one) => !isBackupLost(one, now, deadlineMinutes));
  const verified = caches.backups
    .listByIndex(BY_END, 'verifying')
    .filter((one) => !isVerificationLost(one, now, deadlineMinutes));
  return [...made, ...verified].filter(isCounted);
}

/** Returns true for a backup of a deployment that is there. Nobody works on another one. */
export const isOfLiving = (
  { metadata, spec }: BackupResource,
  { deployments }: OperatorDeps['caches'],
): boolean =>
  deployments.get(buildObjectKey({ ...metadata, name: spec.deployment }))?.metadata.uid ===
  spec.deploymentUid;
