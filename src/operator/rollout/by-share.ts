import type { OperatorSettings } from '../../config/platform/operator.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import type {
  AbortedRevision,
  CandidateRevision,
} from '../../schema/platform/rollout/rollout-spec.ts';
import { choosePin } from './pins.ts';
import { findRevisionByName } from './revisions.ts';

type Deployment = DeploymentResource | undefined;

/** Returns how far a revision is that is tried out; undefined if it is not. */
export function findCandidateRevision(
  deployment: Deployment,
  revision: string,
): CandidateRevision | undefined {
  const candidate = deployment?.status?.rollout?.candidate;
  return candidate?.revision === revision ? candidate : undefined;
}

/** Returns why a revision was given up that was tried out; undefined if it was not. */
export function findAbortedRevision(
  deployment: Deployment,
  revision: string,
): AbortedRevision | undefined {
  const aborted = deployment?.status?.rollout?.aborted;
  return aborted?.revision === revision ? aborted : undefined;
}

/** Seconds within which a revision that served before serves again without steps. */
const LATELY = 3600;

/**
 * Returns true if a revision that is ready is tried out with a share of the new threads before it serves. The first one
 * is not, nor one that repeats the revision that serves, or one that served within the last hour.
 */
export function isTriedOut(
  revision: RevisionResource,
  deployment: Deployment,
  siblings: RevisionResource[],
): boolean {
  const { name } = revision.metadata;
  const active = deployment?.status?.activeRevision;
  if (
    (deployment?.spec.rollout?.steps ?? []).length === 0 ||
    active === undefined ||
    active === name
  )
    return false;
  const candidate = findCandidateRevision(deployment, name);
  return candidate === undefined
    ? !isBack(revision, active, siblings)
    : candidate.promoted !== true;
}

/** Returns true if it repeats a revision that served until shortly before it was made. */
function isBack(
  { spec, metadata }: RevisionResource,
  active: string,
  siblings: RevisionResource[],
): boolean {
  const former = findRevisionByName(siblings, spec.rollbackOf);
  if (former?.status?.phase !== 'DEPLOYED') return false;
  if (former.metadata.name === active) return true;
  const served = Date.parse(former.status.endedAt ?? '');
  const replacedAt = siblings
    .filter(({ status }) => status?.phase === 'DEPLOYED')
    .map(({ status }) => Date.parse(status?.endedAt ?? ''))
    .filter((time) => time > served);
  return Date.parse(metadata.creationTimestamp ?? '') - Math.min(...replacedAt) <= LATELY * 1000;
}

/** Returns why a revision can't be tried out although the deployment asks for it. */
export function shareProblem(
  revision: RevisionResource,
  deployment: Deployment,
  siblings: RevisionResource[],
  settings: OperatorSettings,
): string | undefined {
  if (!isTriedOut(revision, deployment, siblings)) return undefined;
  if (settings.gateway === undefined)
    return 'spec.rollout.steps: this installation has no gateway, which the agents need to learn their shares.';
  if (choosePin(deployment, settings) === 'None')
    return 'spec.rollout.steps: runs are not pinned to revisions here (settings.rollout.pin); set spec.rollout.pin to Run or Thread.';
  const active = findRevisionByName(siblings, deployment?.status?.activeRevision);
  if (active?.status?.pin === undefined)
    return `spec.rollout.steps: revision ${active?.metadata.name}, which serves, does not pin its runs; roll out once without steps.`;
  return undefined;
}
