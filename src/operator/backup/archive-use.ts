import type { OperatorSettings } from '../../config/platform/operator.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { getBackupOwnerId } from '../../schema/platform/resources/backup-choice.ts';
import { isArchived } from '../../schema/platform/backup/backup-spec.ts';
import { toLogTarget, type ArchiveUse } from './archive-secret.ts';
import type { BackupPlan } from './plan.ts';
import type { ReplacePlan } from './replace-plan.ts';
import type { RestorePlan } from './restore-plan.ts';

type ArchiveFacts = {
  deployment: DeploymentResource;
  settings: OperatorSettings;
  backups: readonly BackupResource[];
  backup: BackupPlan | undefined;
  restore: RestorePlan | undefined;
  replace: ReplacePlan | undefined;
};

/** Decides which files of pgBackRest a database has. */
export function decideArchiveUse(seen: ArchiveFacts, tenant: string): ArchiveUse {
  const [log, fill] = [chooseLogTarget(seen, tenant), decideFill(seen)];
  return { ...(log && { log }), ...(fill && { fill }) };
}

/** The log is taken as soon as a copy is being made: it is worth nothing without one, and would fill the volume. */
function chooseLogTarget(
  { deployment, settings, backups, backup: plan }: ArchiveFacts,
  tenant: string,
): ArchiveUse['log'] {
  if (
    !isArchived(deployment) ||
    plan === undefined ||
    (plan.fault !== undefined && plan.fault.reason !== 'ScheduleInvalid')
  )
    return undefined;
  const target = toLogTarget(settings.backups.targets[plan.spec.target]);
  if (target === undefined) return undefined;
  const isTaken =
    plan.running?.spec.method === 'continuous' ||
    backups.some(
      ({ spec, status }) =>
        spec.method === 'continuous' &&
        spec.target === plan.spec.target &&
        status?.phase === 'Succeeded',
    );
  return { target, owner: { tenant, id: getBackupOwnerId(deployment) }, isTaken };
}

function decideFill({ settings, restore, replace }: ArchiveFacts): ArchiveUse['fill'] {
  const plan = replace?.state === 'replacing' ? replace.order : restore;
  if (plan?.state !== 'ready' || plan.refill === undefined) return undefined;
  const target = toLogTarget(settings.backups.targets[plan.target]);
  return target === undefined
    ? undefined
    : { target, owner: plan.order.owner, refill: plan.refill };
}
