import { type DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { buildOwnerReference, type ObjectMeta } from '../../schema/platform/objects/object-meta.ts';
import { pickRoleMetadata, type GivenWords } from '../../schema/platform/objects/object-keys.ts';
import {
  DATABASE_OF,
  DEPLOYMENT,
  buildManagedLabels,
  type Component,
} from '../../schema/platform/objects/labels.ts';

/**
 * Returns the metadata of an object made for a deployment. It has none of the user's labels and annotations, which a
 * Secret that is made once could not follow, and by which tools copy Secrets.
 */
export function buildChildMetadata(
  deployment: DeploymentResource,
  component: Component,
  name: string,
): ObjectMeta {
  return {
    name,
    ...(deployment.metadata.namespace !== undefined && {
      namespace: deployment.metadata.namespace,
    }),
    labels: buildManagedLabels(deployment.metadata.name, component),
    annotations: { [DEPLOYMENT]: deployment.metadata.name },
  };
}

export const buildOwnedMetadata = (
  deployment: DeploymentResource,
  component: Component,
  name: string,
): ObjectMeta => ({
  ...buildChildMetadata(deployment, component, name),
  ownerReferences: [buildOwnerReference('Deployment', deployment.metadata)],
});

/**
 * Returns the metadata of an object that is applied again and again, with the labels and annotations of the newest spec
 * that nothing in a cluster obeys. Our own win.
 */
export function buildAppliedMetadata(
  deployment: DeploymentResource,
  component: Component,
  name: string,
): ObjectMeta {
  return addLabels(
    buildOwnedMetadata(deployment, component, name),
    pickRoleMetadata(deployment.spec.template.resourceSpec, 'others'),
  );
}

/** Returns the metadata with these labels and annotations, unless it has such keys itself. */
export const addLabels = (
  metadata: ObjectMeta,
  { labels, annotations }: GivenWords,
): ObjectMeta => ({
  ...metadata,
  labels: { ...labels, ...metadata.labels },
  annotations: { ...annotations, ...metadata.annotations },
});

/** Returns the uid of the deployment that the data belongs to: this one, or an earlier one whose data it takes over. */
export const getDataOwner = ({ metadata }: DeploymentResource): string =>
  metadata.annotations?.[DATABASE_OF] ?? metadata.uid ?? '';
