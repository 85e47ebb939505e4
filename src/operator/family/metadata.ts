import { API_VERSION, type DeploymentResource, type ObjectMeta } from '../../schema/custom-resources.ts';
import { DATABASE_OF, DEPLOYMENT, ownLabels, type Component } from '../../schema/labels.ts';

/**
 * Returns the metadata of an object made for a deployment. It has none of the user's labels and annotations, because
 * controllers of the cluster obey some on Services and workloads. They go to the agents' pods alone.
 */
export function childMetadata(deployment: DeploymentResource, component: Component, name: string): ObjectMeta {
  return {
    name,
    ...(deployment.metadata.namespace !== undefined && { namespace: deployment.metadata.namespace }),
    labels: ownLabels(deployment.metadata.name, component),
    annotations: { [DEPLOYMENT]: deployment.metadata.name },
  };
}

export const ownedMetadata = (deployment: DeploymentResource, component: Component, name: string): ObjectMeta => ({
  ...childMetadata(deployment, component, name),
  ownerReferences: [
    {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      name: deployment.metadata.name,
      uid: deployment.metadata.uid ?? '',
      controller: true,
      blockOwnerDeletion: true,
    },
  ],
});

/** Returns the uid of the deployment that the data belongs to: this one, or an earlier one whose data it takes over. */
export const dataOwner = ({ metadata }: DeploymentResource): string => metadata.annotations?.[DATABASE_OF] ?? metadata.uid ?? '';
