import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { DEPLOYMENT_STATUSES } from '../../schema/platform/deployment.ts';
import { DEPLOYMENT_STATES, type DeploymentCounts } from '../../schema/platform/deployment-summary.ts';
import { deploymentStatus } from './resource.ts';
import type { StateShown } from '../stored/state.ts';

const zeros = <K extends string>(words: readonly K[]): Record<K, number> =>
  Object.fromEntries(words.map((word) => [word, 0])) as Record<K, number>;

/** States whose reasons are counted. Those of the others are no news. */
const REASONED: readonly StateShown['state'][] = ['failed', 'unavailable'];

/** Counts deployments by how they are. */
export function countsOf(deployments: Iterable<DeploymentResource>, stateOf: (one: DeploymentResource) => StateShown): DeploymentCounts {
  const counts = {
    total: 0,
    by_state: zeros(DEPLOYMENT_STATES),
    by_status: zeros(DEPLOYMENT_STATUSES),
    by_reason: new Map<string, number>(),
  };
  for (const deployment of deployments) {
    const { state, reason } = stateOf(deployment);
    counts.total += 1;
    counts.by_state[state] += 1;
    counts.by_status[deploymentStatus(deployment)] += 1;
    if (reason !== null && REASONED.includes(state)) counts.by_reason.set(reason, (counts.by_reason.get(reason) ?? 0) + 1);
  }
  return { ...counts, by_reason: Object.fromEntries(counts.by_reason) };
}
