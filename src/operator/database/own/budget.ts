import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/custom-resources.ts';
import { selectorOf, type Component } from '../../../schema/labels.ts';
import { names } from '../../../schema/names.ts';
import { replicasAllowed } from '../../revision/objects/sizes.ts';
import { ownedMetadata } from '../../family/metadata.ts';

/**
 * A drain takes the api pods that serve one at a time; a single one it takes at once, so that no drain waits for ever (pure). Queue pods
 * need none: one that leaves finishes its runs or hands them to another.
 */
export function agentBudget(deployment: DeploymentResource, settings: OperatorSettings, active: string | undefined): KubeObject[] {
  if (active === undefined || replicasAllowed(deployment, 'api', settings) < 2) return [];
  const { name } = deployment.metadata;
  return [budget(deployment, { component: 'agent', name: names.agentBudget(name), of: selectorOf(name, 'api', active), most: 1 })];
}

/** No drain takes the database's one pod, where its deployment asks for that (pure). */
export function databaseBudget(deployment: DeploymentResource): KubeObject[] {
  if (deployment.spec.database?.podDisruptionBudget !== true) return [];
  const { name } = deployment.metadata;
  return [budget(deployment, { component: 'database', name: names.databaseBudget(name), of: selectorOf(name, 'database'), most: 0 })];
}

type Given = { component: Component; name: string; of: Record<string, string>; /** Pods that may be away. */ most: number };

const budget = (deployment: DeploymentResource, { component, name, of, most }: Given): KubeObject => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: ownedMetadata(deployment, component, name),
  spec: {
    maxUnavailable: most,
    selector: { matchLabels: of },
    // A pod that is not ready serves nobody: by default such pods would hold up a drain as well.
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
  },
});
