import { findRevisionByName } from '../../rollout/revisions.ts';
import { getDatabaseEngine } from '../../database/engines.ts';
import { dropArchive, keepArchive } from '../../backup/archive-keep.ts';
import { decideArchiveUse } from '../../backup/archive-use.ts';
import { beginBackup, endBackup, followBackup } from '../../backup/make.ts';
import { planBackup } from '../../backup/plan.ts';
import { planVerification } from '../../backup/verify-plan.ts';
import { buildFailedBackup } from '../../backup/result.ts';
import { buildBackupStatement } from '../../backup/statement.ts';
import { buildWaitingOutcome } from '../../kernel/outcome.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { PartPrepared, PartReport } from '../../reports/part-report.ts';
import { isArchived, isBackupOver } from '../../../schema/platform/backup/backup-spec.ts';
import { BY_DEPLOYMENT } from '../../view/caches.ts';
import { pickStatusFields } from '../../reports/status-inputs.ts';
import { formatKubernetesTime } from '../../../schema/types.ts';
import type { DeploymentFacts, Part, WrittenFacts } from '../part.ts';
import { findDeploymentTenant } from '../../view/tenancy.ts';

/** Seconds after which to look again while a backup is under way, or waits for its turn or the database. */
const LOOK_AGAIN = 15;
/** Seconds after which the credential of the target is read again. */
const FOLLOW_CREDENTIAL = 300;
/** The longest time of a timer in seconds. */
const LONGEST = 86_400;

export const backup: Part = {
  keeps: ['archivedSince'],
  prepare: prepareArchive,
  step: stepBackup,
  // While something else is in the way, backups stay as they are.
  report: (facts) =>
    facts.trouble === undefined || facts.backup === undefined ? {} : buildBackupReport(facts),
};

/** Gives the database the files by which its log is taken or its volume filled, and takes them away again. */
async function prepareArchive(
  deps: OperatorDeps,
  facts: DeploymentFacts,
  signal: AbortSignal,
): Promise<PartPrepared> {
  const { deployment, now } = facts;
  const { archivedSince } = deployment.status ?? {};
  const use = decideArchiveUse(
    facts,
    findDeploymentTenant(deployment, deps.caches, deps.settings) ?? 'none',
  );
  if (use.log === undefined && use.fill === undefined)
    return prepareWithoutArchive(deps, facts, signal);
  const missing = await keepArchive(deps, use, { deployment, signal });
  const status = { archivedSince: archivedSince ?? formatKubernetesTime(now) };
  if (missing === undefined) return { status, again: [FOLLOW_CREDENTIAL] };
  // A database that is to be filled must not begin empty.
  if (use.fill !== undefined)
    return {
      trouble: buildWaitingOutcome(
        'TargetMissing',
        `Secret ${missing} of the target is not there.`,
        LOOK_AGAIN,
      ),
    };
  return { ...(archivedSince !== undefined && { status: { archivedSince } }), again: [LOOK_AGAIN] };
}

/** A target that is gone for a while must leave no gap in the log. */
async function prepareWithoutArchive(
  deps: OperatorDeps,
  { deployment, backup: plan }: DeploymentFacts,
  signal: AbortSignal,
): Promise<PartPrepared> {
  if (isArchived(deployment) && plan?.fault !== undefined)
    return { status: pickStatusFields(deployment, ['archivedSince']) };
  if (deployment.status?.archivedSince !== undefined)
    await dropArchive(deps, { deployment, signal });
  return {};
}

/** Follows the backup under way, or begins the one that is due, and removes the objects of those that are gone. */
async function stepBackup(
  deps: OperatorDeps,
  facts: WrittenFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const { deployment, backup: plan, settings, now, secret } = facts;
  if (plan === undefined) return endBackups(deps, facts, signal);
  for (const old of plan.outdated) await deps.writer.remove(old, signal);
  if (secret === undefined || !('secret' in secret)) return buildBackupReport(facts);
  const making = {
    deployment,
    plan,
    pods: facts.backupPods,
    now,
    signal,
    isUp: getDatabaseEngine(deployment.spec).takesConnections(deployment, facts),
    secret: secret.secret,
    tenant: findDeploymentTenant(deployment, deps.caches, settings) ?? 'none',
    revision: findRevisionByName(facts.revisions, facts.active),
  };
  if (plan.running !== undefined) await followBackup(deps, plan.running, making);
  else if (plan.isDue) await beginBackup(deps, making);
  const { namespace, name, uid } = deployment.metadata;
  const backups = deps.caches.backups
    .listByIndex(BY_DEPLOYMENT, `${namespace}/${name}`)
    .filter(({ spec }) => spec.deploymentUid === uid);
  return buildBackupReport({
    ...facts,
    backups,
    backup: planBackup(deployment, {
      backups,
      settings,
      now,
      asleepSince: facts.sleep.sleep.asleepSince,
      database: facts.database,
    }),
  });
}

/** Ends the backup under way of a deployment that is to have none any more. Those that are complete stay. */
async function endBackups(
  deps: OperatorDeps,
  { backups, now }: WrittenFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const end = buildFailedBackup('DumpFailed', 'The deployment asks for no backups any more.');
  for (const open of backups.filter(({ status }) => !isBackupOver(status?.phase)))
    await endBackup(deps, open, { end, now, signal });
  return {};
}

function buildBackupReport({
  backup: plan,
  settings,
  now,
  deployment,
  backups,
}: WrittenFacts): PartReport {
  if (plan === undefined) return {};
  const statement = buildBackupStatement(plan, {
    settings,
    now,
    hibernates: deployment.spec.hibernate === true,
    verification: planVerification(deployment, backups, settings, now),
  });
  const left =
    plan.dueAt === undefined ? undefined : Math.ceil((plan.dueAt.getTime() - now.getTime()) / 1000);
  const again =
    plan.needsDatabase || plan.isDue
      ? LOOK_AGAIN
      : left === undefined
        ? undefined
        : Math.min(LONGEST, Math.max(LOOK_AGAIN, left));
  return { statements: [statement], again: [again] };
}
