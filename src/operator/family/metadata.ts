import { API_VERSION, type DeploymentResource, type ObjectMeta } from '../../schema/custom-resources.ts';
import { DATABASE_OF, DEPLOYMENT, ownLabels, type Component } from '../../schema/labels.ts';

/**
 * Returns the metadata of an object made for a deployment. The user's labels come first, so that they never replace
 * ours.
 */
export function childMetadata(deployment: DeploymentResource, component: Component, name: string): ObjectMeta {
  const { labels, annotations } = deployment.spec.template.resourceSpec ?? {};
  return {
    name,
    ...(deployment.metadata.namespace !== undefined && { namespace: deployment.metadata.namespace }),
    labels: { ...labels, ...ownLabels(deployment.metadata.name, component) },
    annotations: { ...annotations, [DEPLOYMENT]: deployment.metadata.name },
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
