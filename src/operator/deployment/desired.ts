import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/custom-resources.ts';
import { databaseSet } from './objects/database.ts';
import { agentService, databasePolicy, databaseService } from './objects/network.ts';

/** Everything a deployment has beside its revisions, in the order in which it is made (pure). */
export function desiredDeployment(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { database, active, replicas = 1 }: { database?: KubeObject | undefined; active?: string | undefined; replicas?: number },
): KubeObject[] {
  const service = agentService(deployment, settings, active);
  if (deployment.spec.database?.external !== undefined) return [service];
  const set = databaseSet(deployment, settings, { live: database, replicas });
  return [databaseService(deployment), databasePolicy(deployment), set, service];
}
