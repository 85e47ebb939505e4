import { ownerReference, type DeploymentResource, type ObjectMeta } from '../../schema/platform/custom-resources.ts';
import { wordsFor, type GivenWords } from '../../schema/platform/object-keys.ts';
import { DATABASE_OF, DEPLOYMENT, ownLabels, type Component } from '../../schema/platform/labels.ts';

/**
 * Returns the metadata of an object made for a deployment. It has none of the user's labels and annotations, which a
 * Secret that is made once could not follow, and by which tools copy Secrets.
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
  ownerReferences: [ownerReference('Deployment', deployment.metadata)],
});

/**
 * Returns the metadata of an object that is applied again and again, with the labels and annotations of the newest spec
 * that nothing in a cluster obeys. Our own win.
 */
export function appliedMetadata(deployment: DeploymentResource, component: Component, name: string): ObjectMeta {
  return withWords(ownedMetadata(deployment, component, name), wordsFor(deployment.spec.template.resourceSpec, 'others'));
}

/** Returns the metadata with these labels and annotations, unless it has such keys itself. */
export const withWords = (metadata: ObjectMeta, { labels, annotations }: GivenWords): ObjectMeta => ({
  ...metadata,
  labels: { ...labels, ...metadata.labels },
  annotations: { ...annotations, ...metadata.annotations },
});

/** Returns the uid of the deployment that the data belongs to: this one, or an earlier one whose data it takes over. */
export const dataOwner = ({ metadata }: DeploymentResource): string => metadata.annotations?.[DATABASE_OF] ?? metadata.uid ?? '';
