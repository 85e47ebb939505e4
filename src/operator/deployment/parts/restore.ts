import { databaseOf } from '../../database/engines.ts';
import { followRestore, forgetRestore } from '../../backup/restore-make.ts';
import { followLook } from '../../backup/replace-make.ts';
import { chosenBy, type RestorePlan } from '../../backup/restore-plan.ts';
import { fillFailure } from '../../backup/restore-result.ts';
import { hindered, restored, restoreFailed, restoring } from '../../backup/restore-statement.ts';
import { isWaitingForVolumes } from '../../pods/diagnose.ts';
import { waiting, type StatedCondition } from '../../kernel/outcome.ts';
import type { DeploymentStatusFields, PartDeps, PartReport } from '../../reports/part-report.ts';
import { keptStatus } from '../../reports/status-inputs.ts';
import { dateTimeOf } from '../../../schema/types.ts';
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
    return Promise.resolve({ status: keptStatus(deployment, isOpen ? [...KEPT, 'chosenBackup'] : KEPT) });
  },
  step: stepRestore,
  // While something else is in the way, the restore stays as it is.
  report: ({ trouble, restore: plan, deployment }) => {
    if (trouble === undefined || plan === undefined) return {};
    return { statements: [plan.state === 'done' ? restored(deployment) : restoring('The restore waits.')] };
  },
};

async function stepRestore(deps: PartDeps, facts: WrittenFacts, signal: AbortSignal): Promise<PartReport> {
  const { restore: plan, deployment, restorePods } = facts;
  if (plan === undefined) return {};
  if (plan.state === 'done') {
    // The status has the result by now.
    if (restorePods.some(({ metadata }) => metadata.deletionTimestamp === undefined)) await forgetRestore(deps, deployment, signal);
    return { statements: [restored(deployment)] };
  }
  if (plan.state === 'fault') return pending(restoreFailed(plan, false), LOOK_LATER);
  if (plan.state === 'waits') return pending(restoring(plan.message, 'WaitsForBackup'));
  return plan.state === 'look' ? lookAtBackup(deps, { plan, facts }, signal) : restoreNow(deps, { plan, facts }, signal);
}

type Ready = Extract<RestorePlan, { state: 'ready' }>;
type Look = Extract<RestorePlan, { state: 'look' }>;

/** Restores a backup that is known, once the database takes connections. */
async function restoreNow(deps: PartDeps, { plan, facts }: { plan: Ready; facts: WrittenFacts }, signal: AbortSignal): Promise<PartReport> {
  const { deployment, restorePods, now, secret } = facts;
  const isUp = databaseOf(deployment.spec).takesConnections(deployment, facts);
  const unfilled = plan.refill === undefined || isUp ? undefined : fillFailure(facts.databasePods);
  if (unfilled !== undefined) return pending(restoreFailed({ reason: 'RestoreFailed', message: unfilled }, true));
  if (!isUp || secret === undefined || !('secret' in secret)) return pending(restoring(beingMade(plan)));
  const result = await followRestore(deps, { deployment, plan, pods: restorePods, secret: secret.secret, now, signal });
  if (result === undefined)
    return pending(restoring(restorePods.some(isWaitingForVolumes) ? volumeless(facts) : 'The backup is being restored.'));
  if ('hindrance' in result) return pending(hindered(result.hindrance));
  if ('reason' in result) return pending(restoreFailed(result, true));
  const status = statusOf(result, facts);
  return { statements: [restored({ status: { ...keptStatus(deployment, KEPT), ...status } })], status };
}

const beingMade = ({ refill }: Ready): string =>
  refill === undefined ? 'The database is being made.' : `The database is being filled with copy ${refill.copy} and its log.`;

/** Has a Job look at the catalogue, and notes the backup that it finds. The database is made after that. */
async function lookAtBackup(
  deps: PartDeps,
  { plan, facts }: { plan: Look; facts: WrittenFacts },
  signal: AbortSignal,
): Promise<PartReport> {
  const { deployment, restorePods: pods, now } = facts;
  const result = await followLook(deps, plan, { deployment, requestedAt: FIRST, pods, now, signal });
  if (result === undefined) return pending(restoring('The backup is looked for in the catalogue.'));
  if ('hindrance' in result) return pending(hindered(result.hindrance));
  if ('reason' in result) return pending(restoreFailed(result, true));
  await forgetRestore(deps, deployment, signal);
  return { ...pending(restoring('The backup is found.'), 1), status: { chosenBackup: chosenBy(result, plan) } };
}

function statusOf({ backup, from }: RestoreDone, { deployment, now }: WrittenFacts): DeploymentStatusFields {
  const { replaceRequestedAt } = deployment.spec.database?.restore ?? {};
  const handled = replaceRequestedAt === undefined ? {} : { replacedAt: replaceRequestedAt };
  return { ...handled, restoredBackup: backup, restoredFrom: dateTimeOf(new Date(from)), restoredAt: dateTimeOf(now) };
}

/** Only events of the pod name a ConfigMap that is not there. */
function volumeless({ deployment }: WrittenFacts): string {
  const name = deployment.spec.database?.restore?.sqlConfigMap;
  return `The pod of the restore waits for its volumes.${name === undefined ? '' : ` See that there is a ConfigMap ${name}.`}`;
}

/** Reports a restore that is not done. Nothing serves before it is. */
const pending = (statement: StatedCondition, again = LOOK_AGAIN): PartReport => ({
  statements: [statement],
  unready: waiting(statement.reason, statement.message),
  again: [again],
});
