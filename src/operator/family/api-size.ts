import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import { replicasOf } from '../pods/workload-state.ts';
import { replicasAllowed, replicasWanted } from './replicas.ts';

type Settings = Pick<OperatorSettings, 'profile' | 'gateway'>;

/**
 * Returns how many api pods a rollout begins with: as many as the load asks of the one that serves, within the
 * revision's own range, so that a switch takes no pods away.
 */
export function apiAtFirst(revision: RevisionResource, loaded: KubeObject | undefined, settings: Settings): number {
  const least = replicasWanted(revision, 'api', settings);
  if (loaded === undefined) return least;
  return Math.max(least, Math.min(replicasAllowed(revision, 'api', settings), replicasOf(loaded)));
}
