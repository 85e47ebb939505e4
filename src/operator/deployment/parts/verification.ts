import {
  beginVerification,
  endVerification,
  followVerification,
} from '../../backup/verify-make.ts';
import { planVerification } from '../../backup/verify-plan.ts';
import type { OperatorDeps } from '../../view/deps.ts';
import type { PartReport } from '../../reports/part-report.ts';
import type { Part, WrittenFacts } from '../part.ts';
import { findDeploymentTenant } from '../../view/tenancy.ts';

/** Seconds after which to look again while a verification is under way, or waits for its turn. */
const LOOK_AGAIN = 15;
/** The longest time of a timer in seconds. */
const LONGEST = 86_400;

/** The verifications of a deployment's backups. The condition of its backups reports them. */
export const verification: Part = { step: stepVerification };

async function stepVerification(
  deps: OperatorDeps,
  facts: WrittenFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const { deployment, backups, settings, now, verifyPods } = facts;
  const plan = planVerification(deployment, backups, settings, now);
  if (plan === undefined) return endVerifications(deps, facts, signal);
  const verifying = {
    deployment,
    pods: verifyPods,
    tenant: findDeploymentTenant(deployment, deps.caches, settings) ?? 'none',
    now,
    signal,
  };
  if (plan.running !== undefined) await followVerification(deps, plan.running, verifying);
  else if (plan.due !== undefined) await beginVerification(deps, plan.due, verifying);
  if (plan.running !== undefined || plan.due !== undefined) return { again: [LOOK_AGAIN] };
  const left =
    plan.dueAt === undefined ? undefined : Math.ceil((plan.dueAt.getTime() - now.getTime()) / 1000);
  return {
    again: [left === undefined ? undefined : Math.min(LONGEST, Math.max(LOOK_AGAIN, left))],
  };
}

/** Ends the verification under way of a deployment that is to have none any more. */
async function endVerifications(
  deps: OperatorDeps,
  { deployment, backups, now }: WrittenFacts,
  signal: AbortSignal,
): Promise<PartReport> {
  const end = {
    reason: 'RestoreFailed',
    message: 'The deployment has no verifications any more.',
  } as const;
  for (const backup of backups.filter(({ status }) => status?.verifying !== undefined))
    await endVerification(deps, backup, { deployment, end, now, signal });
  return {};
}
