import { getDatabaseEngine } from '../../database/engines.ts';
import { followRestore, removeRestoreJobs } from '../../backup/restore-make.ts';
import { followLook } from '../../backup/replace-make.ts';
import { toChosenBackup, type RestorePlan } from '../../backup/restore-plan.ts';
import { findFillFailure } from '../../backup/restore-result.ts';
import {
  buildHinderedCondition,
  buildRestoredCondition,
  restoreFailed,
  buildRestoringCondition,
} from '../../backup/restore-statement.ts';
import { isWaitingForVolumes } from '../../pods/diagnose.ts';
import { buildWaitingOutcome, type StatedCondition } from '../../kernel/outcome.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { DeploymentStatusFields, PartReport } from '../../reports/part-report.ts';
import { pickStatusFields } from '../../reports/status-inputs.ts';
import { formatKubernetesTime } from '../../../schema/types.ts';
import type { RestoreDone } from '../../../schema/wire/restore-message.ts';
import type { Part, WrittenFacts } from '../part.ts';

/** Seconds after which to look again while a restore waits or is under way, and while nothing can be restored. */
const LOOK_AGAIN = 5;
const LOOK_LATER = 60;
/** The request that a look is for which comes with the deployment. */
const FIRST = 'first';
const KEPT = ['restoredBackup', 'restoredFrom', 'restoredAt'] as const;

/** The backup that the database of a deployment begins with. */
export const restoration: Part = {
  keeps: [...KEPT, 'chosenBackup'],
  // The choice is over once the backup is restored.
  prepare: (_deps, { deployment, restore: plan }) => {
    const isOpen = plan !== undefined && plan.state !== 'done';
    return Promise.resolve({
      status: pickStatusFields(deployment, isOpen ? [...KEPT, 'chosenBackup'] : KEPT),
    });
  },
  step: stepRestore,
  // While something else is in the way, the restore stays as it is.
  report: ({ trouble, restore: plan, deployment }) => {
    if (trouble === undefined || plan === undefined) return {};
    return {
      statements: [
        plan.state === 'done'
          ? buildRestoredCondition(deployment)
          : buildRestoringCondition('The restore waits.'),
      ],
    };
  },
};

async function stepRestore(
  deps: OperatorDeps,
  facts: WrittenFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const { restore: plan, deployment, restorePods } = facts;
  if (plan === undefined) return {};
  if (plan.state === 'done') {
    // The status has the result by now.
    if (restorePods.some(({ metadata }) => metadata.deletionTimestamp === undefined))
      await removeRestoreJobs(deps, deployment, signal);
    return { statements: [buildRestoredCondition(deployment)] };
  }
  if (plan.state === 'fault') return buildPendingReport(restoreFailed(plan, false), LOOK_LATER);
  if (plan.state === 'waits')
    return buildPendingReport(buildRestoringCondition(plan.message, 'WaitsForBackup'));
  return plan.state === 'look'
    ? lookAtBackup(deps, { plan, facts }, signal)
    : restoreNow(deps, { plan, facts }, signal);
}

type Ready = Extract<RestorePlan, { state: 'ready' }>;
/** Restores a backup that is known, once the database takes connections. */
async function restoreNow(
  deps: OperatorDeps,
  { plan, facts }: { plan: Ready; facts: WrittenFacts },
  signal: AbortSignal,
): Promise<PartReport> {
  const { deployment, restorePods, now, secret } = facts;
  const isUp = getDatabaseEngine(deployment.spec).takesConnections(deployment, facts);
  const unfilled =
    plan.refill === undefined || isUp ? undefined : findFillFailure(facts.databasePods);
  if (unfilled !== undefined)
    return buildPendingReport(restoreFailed({ reason: 'RestoreFailed', message: unfilled }, true));
  if (!isUp || secret === undefined || !('secret' in secret))
    return buildPendingReport(
      buildRestoringCondition(
        plan.refill === undefined
          ? 'The database is being made.'
          : `The database is being filled with copy ${plan.refill.copy} and its log.`,
      ),
    );
  const result = await followRestore(deps, {
    deployment,
    plan,
    pods: restorePods,
    secret: secret.secret,
    now,
    signal,
  });
  if (result === undefined)
    return buildPendingReport(
      buildRestoringCondition(
        restorePods.some(isWaitingForVolumes)
          ? describeMissingVolume(facts)
          : 'The backup is being restored.',
      ),
    );
  if ('hindrance' in result) return buildPendingReport(buildHinderedCondition(result.hindrance));
  if ('reason' in result) return buildPendingReport(restoreFailed(result, true));
  const status = buildStatus(result, facts);
  return {
    statements: [
      buildRestoredCondition({ status: { ...pickStatusFields(deployment, KEPT), ...status } }),
    ],
    status,
  };
}

/** Has a Job look at the catalogue, and notes the backup that it finds. The database is made after that. */
async function lookAtBackup(
  deps: OperatorDeps,
  { plan, facts }: { plan: Extract<RestorePlan, { state: 'look' }>; facts: WrittenFacts },
  signal: AbortSignal,
): Promise<PartReport> {
  const { deployment, restorePods: pods, now } = facts;
  const result = await followLook(deps, plan, {
    deployment,
    requestedAt: FIRST,
    pods,
    now,
    signal,
  });
  if (result === undefined)
    return buildPendingReport(
      buildRestoringCondition('The backup is being looked up in the catalogue.'),
    );
  if ('hindrance' in result) return buildPendingReport(buildHinderedCondition(result.hindrance));
  if ('reason' in result) return buildPendingReport(restoreFailed(result, true));
  await removeRestoreJobs(deps, deployment, signal);
  return {
    ...buildPendingReport(buildRestoringCondition('The backup is found.'), 1),
    status: { chosenBackup: toChosenBackup(result, plan) },
  };
}

function buildStatus(
  { backup, from }: RestoreDone,
  { deployment, now }: WrittenFacts,
): DeploymentStatusFields {
  const { replaceRequestedAt } = deployment.spec.database?.restore ?? {};
  const handled = replaceRequestedAt === undefined ? {} : { replacedAt: replaceRequestedAt };
  return {
    ...handled,
    restoredBackup: backup,
    restoredFrom: formatKubernetesTime(new Date(from)),
    restoredAt: formatKubernetesTime(now),
  };
}

/** Only events of the pod name a ConfigMap that is not there. */
function describeMissingVolume({ deployment }: WrittenFacts): string {
  const name = deployment.spec.database?.restore?.sqlConfigMap;
  return `The pod of the restore waits for its volumes.${name === undefined ? '' : ` See that there is a ConfigMap ${name}.`}`;
}

/** Reports a restore that is not done. Nothing serves before it is. */
const buildPendingReport = (statement: StatedCondition, again = LOOK_AGAIN): PartReport => ({
  statements: [statement],
  unready: buildWaitingOutcome(statement.reason, statement.message),
  again: [again],
});
