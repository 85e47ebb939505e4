import { MOST_FORMER, type Replacement } from '../../../schema/platform/backup/replacement.ts';
import { formatKubernetesTime } from '../../../schema/types.ts';
import {
  REPLACE_FAILURES,
  type ReplaceFailure,
  type RestoreDone,
  type RestoreFailure,
} from '../../../schema/wire/restore-message.ts';
import {
  isVolumeLost,
  removeVolume,
  saveReplaced,
  setAside,
  takeBack,
} from '../../backup/replace-make.ts';
import { findMoveBackup, isBackedUpFirst, type ReplaceOrder } from '../../backup/replace-plan.ts';
import { followRestore, removeRestoreJobs } from '../../backup/restore-make.ts';
import { findFillFailure } from '../../backup/restore-result.ts';
import { getBackupHindrance } from '../../backup/result.ts';
import {
  buildNotReplacedCondition,
  buildReplacedCondition,
  buildRestoringCondition,
} from '../../backup/restore-statement.ts';
import { adoptPassword, removeAdoptionJob } from '../../database/own/credentials/adopt.ts';
import { claimName, isSwitching, buildNextClaimName } from '../../database/own/volume-name.ts';
import { getDatabaseImage } from '../../database/own/set.ts';
import { getDatabaseEngine } from '../../database/engines.ts';
import { buildWaitingOutcome } from '../../kernel/outcome.ts';
import { hasNoAgentsLeft } from '../../pods/workload-state.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { DeploymentStatusFields, PartReport } from '../../reports/part-report.ts';
import type { WrittenFacts } from '../part.ts';
import { findDeploymentTenant } from '../../view/tenancy.ts';

/*
 * The steps of a restore into a living deployment in which its agents are stopped: the present data is backed up, the
 * database starts on another volume and is filled there, and the agents start again. Otherwise all goes back to the
 * former volume.
 */

/** One pass over a replacement. `kept`: the fields of the status that stay, as they are or as the pass changes them. */
export type ReplacementPass = {
  deps: OperatorDeps;
  facts: WrittenFacts;
  signal: AbortSignal;
  kept: DeploymentStatusFields;
};

/** Seconds after which to look again while a restore is under way, and while its backup is made. */
export const LOOK_AGAIN_SECONDS = 2;
export const LOOK_LATER_SECONDS = 10;
/** Minutes after which a database that does not start on its new volume is given up. */
const PATIENCE_MINUTES = 15;

export const isDatabaseReachable = (facts: WrittenFacts): boolean =>
  getDatabaseEngine(facts.deployment.spec).takesConnections(facts.deployment, facts);

/** Begins the first step in which the agents are stopped. */
export function beginReplacement(
  chosen: Omit<Replacement, 'former' | 'image' | 'since' | 'step'>,
  { facts, kept }: ReplacementPass,
): PartReport {
  const [former, image] = [
    claimName(facts.deployment, facts.database),
    getDatabaseImage(facts.database),
  ];
  const replacement: Replacement = {
    ...chosen,
    former,
    ...(image && { image }),
    since: formatKubernetesTime(facts.now),
    step: 'BackingUp',
  };
  return buildStoppedReport(
    { ...kept, databaseVolume: former, replacement },
    'The agents are being stopped.',
  );
}

/** Reports a step in which nothing serves. */
const buildStoppedReport = (
  status: DeploymentStatusFields,
  message: string,
  hindrance?: { reason: string; message: string },
): PartReport => {
  const words = [message, hindrance?.message].filter(Boolean).join(' ');
  return {
    status,
    statements: [buildRestoringCondition(words, hindrance?.reason)],
    unready: buildWaitingOutcome(hindrance?.reason ?? 'Restoring', words),
    again: [hindrance === undefined ? LOOK_AGAIN_SECONDS : LOOK_LATER_SECONDS],
  };
};

/** Takes the next step of a change of volumes, once the agents are stopped. */
export async function continueReplacement(
  replacement: Replacement,
  order: ReplaceOrder | undefined,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { deployment, database, workloads, agentPods } = doing.facts;
  const { databaseVolume = claimName(deployment, database), ...others } = doing.kept;
  const kept = { ...others, databaseVolume, replacement };
  if (!hasNoAgentsLeft(workloads, agentPods))
    return buildStoppedReport(kept, 'The agents are being stopped.');
  if (replacement.step === 'BackingUp') return backupAndSwitch(replacement, { ...doing, kept });
  return replacement.step === 'Returning'
    ? returnToVolume(replacement, { ...doing, kept })
    : restoreData(replacement, order, { ...doing, kept });
}

/** Returns true if a step takes longer than it may, besides the start of a database. */
const isLate = ({ since }: Replacement, now: Date, minutes: number): boolean =>
  now.getTime() - Date.parse(since) > (PATIENCE_MINUTES + minutes) * 60_000;

/** Backs up the data that is there, and changes the volume. */
async function backupAndSwitch(
  replacement: Replacement,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { facts, kept } = doing;
  const { requestedAt, former = '', volume = former } = replacement;
  const saved = (await isBackupNeeded(replacement, doing))
    ? await backUpData(replacement, doing)
    : 'saved';
  if (saved === undefined) {
    const underWay = facts.backups.find(({ spec }) => spec.requestedAt === requestedAt);
    return buildStoppedReport(
      kept,
      'The present data is being backed up.',
      underWay && getBackupHindrance(underWay),
    );
  }
  if (saved !== 'saved') return buildFailedReport(saved, requestedAt, doing);
  const backup = replacement.backup ?? findMoveBackup(facts.deployment, requestedAt, facts.backups);
  if (replacement.target !== undefined && backup === undefined)
    return buildFailedReport(
      { reason: 'BackupFailed', message: 'The present data could not be backed up.' },
      requestedAt,
      doing,
    );
  const next: Replacement = {
    ...replacement,
    ...(backup && { backup }),
    step: 'Restoring',
    since: formatKubernetesTime(facts.now),
  };
  return buildStoppedReport(
    { ...kept, databaseVolume: volume, replacement: next },
    'The database is being started on another volume.',
  );
}

/** Returns false if the data stays on its volume by wish, because that volume may come back, or if it is lost. */
async function isBackupNeeded(
  { target, former = '' }: Replacement,
  { deps, facts, signal }: ReplacementPass,
): Promise<boolean> {
  const { deployment } = facts;
  if (target === undefined || !isBackedUpFirst(deployment)) return false;
  return isDatabaseReachable(facts) || !(await isVolumeLost(deps, former, { deployment, signal }));
}

async function backUpData(
  replacement: Replacement,
  { deps, facts, signal }: ReplacementPass,
): Promise<'saved' | ReplaceFailure | undefined> {
  const { deployment, backups, now, secret } = facts;
  if (isLate(replacement, now, deps.settings.backups.deadlineMinutes))
    return { reason: 'BackupFailed', message: 'The present data was not backed up in time.' };
  if (secret === undefined || !('secret' in secret)) return undefined;
  const tenant = findDeploymentTenant(deployment, deps.caches, deps.settings) ?? 'none';
  const { requestedAt, image = deps.settings.databaseImage } = replacement;
  // The dump is made by the programs of the database's own version.
  const settings = { ...deps.settings, databaseImage: image };
  return saveReplaced(
    { ...deps, settings },
    {
      deployment,
      requestedAt,
      backups,
      secret: secret.secret,
      tenant,
      isUp: isDatabaseReachable(facts),
      now,
      signal,
    },
  );
}

/** Restores into the other volume, once the database runs on it. */
async function restoreData(
  replacement: Replacement,
  order: ReplaceOrder | undefined,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { deps, facts, signal, kept } = doing;
  const { deployment, database, databasePods, now, secret, restorePods: pods } = facts;
  const isThere =
    database !== undefined &&
    !isSwitching(deployment, database, databasePods) &&
    isDatabaseReachable(facts);
  if (!isThere || secret === undefined || !('secret' in secret))
    return stepDatabaseStart(replacement, doing);
  const adopted = await adoptPassword(deps, deployment, {
    view: facts,
    secret: secret.secret,
    signal,
    now,
  });
  if (!adopted.isDone)
    return buildStoppedReport(
      kept,
      'The password of the database on the other volume is being set.',
      adopted.hindrance,
    );
  if (order?.state !== 'ready') return finishRestore(undefined, replacement, doing);
  const { requestedAt } = replacement;
  const result = await followRestore(deps, {
    deployment,
    plan: order,
    pods,
    secret: secret.secret,
    now,
    signal,
    requestedAt,
  });
  if (result === undefined || 'hindrance' in result)
    return buildStoppedReport(
      kept,
      'The backup is being restored into a new volume.',
      result?.hindrance,
    );
  return 'reason' in result
    ? giveUp(result, replacement, doing)
    : finishRestore(result, replacement, doing);
}

/** Waits for the database on the other volume. It fills it first, if a copy of files is restored. */
function stepDatabaseStart(
  replacement: Replacement,
  doing: ReplacementPass,
): PartReport | Promise<PartReport> {
  const { deps, facts, kept } = doing;
  const unfilled = findFillFailure(facts.databasePods);
  const minutes = replacement.copy === undefined ? 0 : deps.settings.backups.deadlineMinutes;
  if (unfilled === undefined && !isLate(replacement, facts.now, minutes))
    return buildStoppedReport(kept, 'The database is being started on another volume.');
  const message = unfilled ?? 'The database did not start on the other volume.';
  return giveUp({ reason: 'RestoreFailed', message }, replacement, doing);
}

/** Lets the agents start with the data of the other volume. The former one stays for a while. */
async function finishRestore(
  result: RestoreDone | undefined,
  { requestedAt, former }: Replacement,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { deps, facts, signal, kept } = doing;
  const { deployment, now } = facts;
  const { replacement: _over, formerVolumes = [], databaseVolume = '', ...others } = kept;
  const acting = { deployment, now, signal };
  await removeJobs(doing);
  await takeBack(deps, databaseVolume, acting);
  const aside = former === undefined ? [] : [await setAside(deps, former, acting)];
  const status = {
    ...others,
    databaseVolume,
    formerVolumes: [
      ...formerVolumes.filter(({ claim }) => claim !== databaseVolume),
      ...aside,
    ].slice(-MOST_FORMER),
    replacedAt: requestedAt,
    // The log of before belongs to the other volume, so that a copy is due.
    restoredAt: formatKubernetesTime(now),
    ...(result && {
      restoredBackup: result.backup,
      restoredFrom: formatKubernetesTime(new Date(result.from)),
    }),
  };
  return { status, statements: [buildReplacedCondition(result, status)] };
}

/** Gives up: the database goes back to its former volume. */
async function giveUp(
  failure: ReplaceFailure | RestoreFailure,
  replacement: Replacement,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { former } = replacement;
  await removeJobs(doing);
  if (former === undefined) return buildFailedReport(failure, replacement.requestedAt, doing);
  const back: Replacement = {
    ...replacement,
    ...failure,
    step: 'Returning',
    since: formatKubernetesTime(doing.facts.now),
  };
  return buildStoppedReport(
    { ...doing.kept, databaseVolume: former, replacement: back },
    'The restore failed. The former volume is being brought back.',
  );
}

export async function removeJobs({
  deps,
  facts: { deployment, secret },
  signal,
}: ReplacementPass): Promise<void> {
  await removeRestoreJobs(deps, deployment, signal);
  if (secret !== undefined && 'secret' in secret)
    await removeAdoptionJob(deps, deployment, { secret: secret.secret, signal });
}

/** Lets the agents start again once the database runs on its former volume, and removes the one that was not filled. */
async function returnToVolume(
  replacement: Replacement,
  doing: ReplacementPass,
): Promise<PartReport> {
  const { deps, facts, signal, kept } = doing;
  const { deployment, database, databasePods, now } = facts;
  const { requestedAt, former, message = '' } = replacement;
  const status = { ...kept, ...(former !== undefined && { databaseVolume: former }), replacement };
  const isThere =
    database !== undefined &&
    !isSwitching(deployment, database, databasePods) &&
    isDatabaseReachable(facts);
  if (!isThere)
    return buildStoppedReport(
      status,
      'The restore failed. The former volume is being brought back.',
    );
  const made = buildNextClaimName(deployment, requestedAt);
  if (made !== former) await removeVolume(deps, made, { deployment, now, signal });
  const reason = REPLACE_FAILURES.find((known) => known === replacement.reason) ?? 'RestoreFailed';
  return buildFailedReport({ reason, message }, requestedAt, { ...doing, kept: status });
}

/** Reports a restore that was not. The deployment is as it was. */
export function buildFailedReport(
  failure: ReplaceFailure,
  requestedAt: string,
  { kept }: ReplacementPass,
): PartReport {
  const { replacement: _over, ...others } = kept;
  return {
    status: { ...others, replacedAt: requestedAt },
    statements: [buildNotReplacedCondition(failure)],
  };
}
