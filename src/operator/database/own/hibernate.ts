import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { areAgentsGone, replicasOf } from '../../pods/workload-state.ts';
import type { DatabaseView } from '../database.ts';

/**
 * Returns how many pods the database should have. It is none while the deployment hibernates, or sleeps with its
 * database, but only once its agents are gone, because they write until they end.
 */
export const databaseReplicas = (
  { spec }: Pick<DeploymentResource, 'spec'>,
  { workloads, agentPods }: Pick<DatabaseView, 'workloads' | 'agentPods'>,
  sleeps = false,
): number => ((spec.hibernate === true || sleeps) && areAgentsGone(workloads, agentPods) ? 0 : 1);

/** Returns true when no pod of the database is left. */
export const isStopped = ({ database, databasePods }: DatabaseView): boolean =>
  databasePods.length === 0 && (database === undefined || replicasOf(database) === 0);
