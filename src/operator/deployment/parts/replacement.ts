import { PASSWORD_ROTATED } from '../../../schema/platform/objects/conditions.ts';
import { formatKubernetesTime } from '../../../schema/types.ts';
import {
  checkReplacement,
  findFormerVolumes,
  isVolumeLost,
  removeExpiredVolumes,
} from '../../backup/replace-make.ts';
import { isBackedUpFirst, type ReplaceOrder, type ReplacePlan } from '../../backup/replace-plan.ts';
import { countVolumeExpirySeconds, listNeededVolumes } from '../../backup/replace-volumes.ts';
import { removeRestoreJobs } from '../../backup/restore-make.ts';
import { toChosenBackup } from '../../backup/restore-plan.ts';
import {
  buildHinderedCondition,
  repeatReplacedCondition,
  buildRestoringCondition,
} from '../../backup/restore-statement.ts';
import {
  hasForgottenVolumes,
  claimName,
  buildNextClaimName,
} from '../../database/own/volume-name.ts';
import { findCondition } from '../../kernel/conditions.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { PartReport } from '../../reports/part-report.ts';
import { pickStatusFields } from '../../reports/status-inputs.ts';
import type { Part, WrittenFacts } from '../part.ts';
import {
  beginReplacement,
  buildFailedReport,
  continueReplacement,
  isDatabaseReachable,
  LOOK_AGAIN_SECONDS,
  LOOK_LATER_SECONDS,
  removeJobs,
  type ReplacementPass,
} from './replacement-steps.ts';

const KEPT = [
  'databaseVolume',
  'replacement',
  'replacedAt',
  'formerVolumes',
  'restoredBackup',
  'restoredFrom',
  'restoredAt',
] as const;

/** A restore that replaces the data of a living deployment. */
export const replacing: Part = {
  step: stepReplacement,
  // While something else is in the way, it stays as it is.
  report: ({ trouble, deployment }) =>
    trouble === undefined
      ? {}
      : {
          status: pickStatusFields(deployment, KEPT),
          statements: repeatReplacedCondition(deployment),
        },
};

async function stepReplacement(
  deps: OperatorDeps,
  facts: WrittenFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const { deployment, replace: plan, now, database } = facts;
  if (hasForgottenVolumes(deployment, database)) return collectVolumes(deps, facts, signal);
  const { formerVolumes: _former, ...others } = pickStatusFields(deployment, KEPT);
  const former = await removeExpiredVolumes(deps, listNeededVolumes(deployment, plan), {
    deployment,
    now,
    signal,
  });
  const kept = { ...others, ...(former.length > 0 && { formerVolumes: former }) };
  const report = await executePlan(plan, { deps, facts, signal, kept });
  return {
    status: kept,
    ...report,
    again: [...(report.again ?? []), countVolumeExpirySeconds(former, now)],
  };
}

/** Notes again which volumes there are. The request is decided about with that in the status. */
async function collectVolumes(
  deps: OperatorDeps,
  { deployment, database, replace: plan, now }: WrittenFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const databaseVolume = claimName(deployment, database);
  const former = await findFormerVolumes(deps, databaseVolume, { deployment, now, signal });
  const isOver = plan?.state === 'over';
  const status = {
    ...pickStatusFields(deployment, KEPT),
    databaseVolume,
    ...(former.length > 0 && { formerVolumes: former }),
    ...(isOver && { replacedAt: deployment.spec.database?.restore?.replaceRequestedAt ?? '' }),
  };
  return { status, statements: isOver ? repeatReplacedCondition(deployment) : [], again: [1] };
}

async function executePlan(
  plan: ReplacePlan | undefined,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { deployment } = doing.facts;
  if (plan === undefined) return {};
  switch (plan.state) {
    case 'over':
      return clearRestore(doing);
    case 'fault':
      return buildFailedReport(
        plan,
        deployment.spec.database?.restore?.replaceRequestedAt ?? '',
        doing,
      );
    case 'waits':
      return {
        statements: [buildRestoringCondition(plan.message, 'WaitsForBackup')],
        again: [LOOK_LATER_SECONDS],
      };
    case 'check':
      return checkBackup(plan.order, plan.requestedAt, doing);
    case 'volume':
      return moveToVolume(plan, doing);
    case 'move':
      return moveData(plan, doing);
    case 'replacing':
      return continueReplacement(plan.replacement, plan.order, doing);
  }
}

async function clearRestore(doing: ReplacementPass): Promise<PartReport> {
  const { deployment, restorePods } = doing.facts;
  if (restorePods.some(({ metadata }) => metadata.deletionTimestamp === undefined))
    await removeJobs(doing);
  return { statements: repeatReplacedCondition(deployment) };
}

/** Looks at the backup, and stops the agents if it can be restored. */
async function checkBackup(
  order: ReplaceOrder,
  requestedAt: string,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { deps, facts, signal, kept } = doing;
  const { deployment, restorePods: pods, now } = facts;
  const obstacle = await explainDatabaseTrouble(doing);
  if (obstacle !== undefined)
    return { statements: [buildRestoringCondition(obstacle)], again: [LOOK_LATER_SECONDS] };
  const result = await checkReplacement(deps, order, {
    deployment,
    requestedAt,
    pods,
    now,
    signal,
  });
  if (result !== undefined && 'hindrance' in result)
    return {
      status: kept,
      statements: [buildHinderedCondition(result.hindrance)],
      again: [LOOK_LATER_SECONDS],
    };
  if (result !== undefined) await removeRestoreJobs(deps, deployment, signal);
  if (result !== undefined && 'reason' in result)
    return buildFailedReport(result, requestedAt, doing);
  if (result !== undefined) {
    const volume = buildNextClaimName(deployment, requestedAt);
    return beginReplacement({ requestedAt, ...toChosenBackup(result, order), volume }, doing);
  }
  const since =
    kept.replacement?.requestedAt === requestedAt
      ? kept.replacement.since
      : formatKubernetesTime(now);
  const status = { ...kept, replacement: { requestedAt, since, step: 'Checking' as const } };
  return {
    status,
    statements: [buildRestoringCondition('The backup is being checked. The agents keep serving.')],
    again: [LOOK_AGAIN_SECONDS],
  };
}

/** Goes to a former volume, at which nothing has to be looked. */
function moveToVolume(
  { requestedAt, claim }: Extract<ReplacePlan, { state: 'volume' }>,
  doing: ReplacementPass,
): PartReport {
  const obstacle = explainPasswordTrouble(doing.facts);
  if (obstacle !== undefined)
    return { statements: [buildRestoringCondition(obstacle)], again: [LOOK_LATER_SECONDS] };
  return beginReplacement({ requestedAt, volume: claim }, doing);
}

/** Moves the data that is there, so that there is no backup yet at which to look. */
async function moveData(
  { requestedAt, target }: Extract<ReplacePlan, { state: 'move' }>,
  doing: ReplacementPass,
): Promise<PartReport> {
  const obstacle = await explainDatabaseTrouble(doing);
  if (obstacle !== undefined)
    return { statements: [buildRestoringCondition(obstacle)], again: [LOOK_LATER_SECONDS] };
  return beginReplacement(
    { requestedAt, target, volume: buildNextClaimName(doing.facts.deployment, requestedAt) },
    doing,
  );
}

/** The steps of a change are done in one database. */
const explainPasswordTrouble = ({ deployment }: WrittenFacts): string | undefined =>
  findCondition(deployment, PASSWORD_ROTATED) &&
  'The restore waits until the password of the database is changed.';

/** Returns why the data can't be backed up now, so that nothing is stopped for it. */
async function explainDatabaseTrouble({
  deps,
  facts,
  signal,
}: ReplacementPass): Promise<string | undefined> {
  const { deployment, database, isAsleep } = facts;
  const busy = explainPasswordTrouble(facts);
  if (busy !== undefined) return busy;
  if (isAsleep || !isBackedUpFirst(deployment) || isDatabaseReachable(facts)) return undefined;
  if (await isVolumeLost(deps, claimName(deployment, database), { deployment, signal }))
    return undefined;
  return "The database does not answer, so its data can't be backed up. Set database.restore.withoutBackup to continue without a backup.";
}
