import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource, RevisionResource } from '../../schema/custom-resources.ts';
import type { DatabaseView } from '../database/database.ts';
import { databaseOf } from '../database/engines.ts';
import { agentPolicy } from '../family/network-policies.ts';
import { apiAutoscaler } from './autoscaler.ts';
import { desiredStore } from '../store/desired.ts';
import { asleepObjects } from './asleep-objects.ts';
import { agentBudget, agentService } from './service.ts';

type Live = Partial<DatabaseView> & {
  /** Name of the revision that gets the traffic. */
  active?: string | undefined;
  /** Slices of the gateway's Service. */
  gateways?: KubeObject[];
  /** Addresses of the API server, where the settings name none. */
  apiServer?: string[];
  revisions?: RevisionResource[];
};

/**
 * Returns everything that a deployment has besides its revisions, in the order in which it is made: its database, then
 * what leads to its agents.
 */
export function desiredDeployment(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  {
    active,
    gateways = [],
    apiServer = [],
    database,
    databasePods = [],
    agentPods = [],
    passwordPods = [],
    workloads = [],
    revisions = [],
  }: Live,
): KubeObject[] {
  const view = { database, databasePods, agentPods, passwordPods, workloads };
  return [
    ...databaseOf(deployment.spec).desired(deployment, settings, view),
    ...desiredStore(deployment, settings),
    ...agentPolicy(deployment, settings, [...settings.agentNetwork.apiServer, ...apiServer]),
    agentService(deployment, settings, active),
    ...agentBudget(deployment, settings, active),
    ...asleepObjects(deployment, settings, { active, workloads, gateways }),
    ...apiAutoscaler(deployment, { revision: revisions.find(({ metadata }) => metadata.name === active), settings }),
  ];
}
