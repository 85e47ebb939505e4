import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { COMPONENT, REVISION } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import { getDatabaseEngine } from '../database/engines.ts';
import { isComplete } from '../rollout/complete.ts';
import { hasTraffic } from '../rollout/deployment.ts';
import type { DeploymentWorld } from './world.ts';

/**
 * Returns the name of the revision under way whose pods are all ready. It gets traffic before its own status says so.
 */
export function completeRevision(
  deployment: DeploymentResource,
  world: DeploymentWorld,
  settings: OperatorSettings,
): string | undefined {
  const { revisions, service, workloads, agentPods } = world;
  const database = getDatabaseEngine(deployment.spec);
  const isDatabaseReady =
    database.address(deployment) !== undefined && database.takesConnections(deployment, world);
  const findWorkload = (name: string): KubeObject | undefined =>
    workloads.find(({ metadata }) => metadata.name === name);
  const complete = revisions.find((revision) => {
    const { name } = revision.metadata;
    const pods = {
      api: findWorkload(names.apiWorkload(name)),
      queue: findWorkload(names.queueWorkload(name)),
      apiPods: agentPods.filter(
        ({ metadata }) =>
          metadata.labels?.[COMPONENT] === 'api' && metadata.annotations?.[REVISION] === name,
      ),
    };
    const view = {
      deployment,
      siblings: revisions,
      pods,
      isDatabaseReady,
      isServing: hasTraffic(service, name),
    };
    return isComplete(revision, view, settings);
  });
  return complete?.metadata.name;
}
