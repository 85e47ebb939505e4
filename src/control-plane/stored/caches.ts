import { Cache, buildObjectKey, type IndexBy } from '../../kube/cache.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  ListenerResource,
  RevisionResource,
  TracingProjectResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { listDeploymentIds } from '../../schema/platform/resources/deployment-ids.ts';
import { MADE_BY } from '../../schema/platform/objects/labels.ts';
import { stripUnreadableStatus } from '../../schema/platform/resources/readable-status.ts';
import { getUpdatedAt } from './metadata.ts';

const buildFieldIndex =
  <T extends KubeObject>(field: (object: T) => string | undefined): IndexBy<T> =>
  (object) =>
    [field(object)].filter((value) => value !== undefined);
const getUid = ({ metadata }: KubeObject): string | undefined => metadata.uid;

const DEPLOYMENT_INDEXES = {
  id: listDeploymentIds,
  name: buildFieldIndex(({ metadata }: DeploymentResource) => metadata.name),
  request: buildFieldIndex(
    ({ metadata }: DeploymentResource) => metadata.annotations?.[MADE_BY]?.split('.')[0],
  ),
  // An answer reads the template, so an object without one is set aside before any list shows it.
  secret: buildFieldIndex(({ spec }: DeploymentResource) => spec.template.secretName),
};
const REVISION_INDEXES = {
  deployment: buildFieldIndex(({ spec }: RevisionResource) => spec.deploymentUid),
  name: buildFieldIndex(({ metadata, spec }: RevisionResource) =>
    buildObjectKey({ namespace: metadata.namespace, name: spec.deployment }),
  ),
  secret: buildFieldIndex(({ spec }: RevisionResource) => spec.template.secretName),
};

/** The custom resources as last seen. */
export type StoredCaches = {
  deployments: Cache<DeploymentResource>;
  revisions: Cache<RevisionResource>;
  listeners: Cache<ListenerResource>;
  projects: Cache<TracingProjectResource>;
  namespaces: Cache;
};

export const createStoredCaches = (): StoredCaches => ({
  deployments: new Cache<DeploymentResource>(DEPLOYMENT_INDEXES),
  revisions: new Cache<RevisionResource>(REVISION_INDEXES),
  listeners: new Cache<ListenerResource>({
    uid: buildFieldIndex(getUid),
    namespace: ({ spec }) => spec.namespaces.map(String),
  }),
  projects: new Cache<TracingProjectResource>({
    uid: buildFieldIndex(getUid),
    name: buildFieldIndex(({ spec }: TracingProjectResource) => spec.projectName),
  }),
  namespaces: new Cache(),
});

/** Adds an object that was read or written now, and returns it as it is kept. */
export function addToCache<T extends KubeObject>(cache: Cache<T>, object: T): T {
  const kept = trimObject(object);
  cache.addIfNewer(kept);
  return kept;
}

/** Returns an object as it is kept. managedFields, half of its size, are reduced to the time of the last write. */
export const trimObject = <T extends KubeObject>(object: T): T => ({
  ...stripUnreadableStatus(object),
  metadata: { ...object.metadata, managedFields: [{ time: getUpdatedAt(object) }] },
});
