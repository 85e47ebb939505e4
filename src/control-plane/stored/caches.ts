import { Cache, keyOf, type IndexBy } from '../../kube/cache.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  ListenerResource,
  RevisionResource,
  TracingProjectResource,
} from '../../schema/platform/custom-resources.ts';
import { idsOf } from '../../schema/platform/deployment-ids.ts';
import { MADE_BY } from '../../schema/platform/labels.ts';
import { withReadableStatus } from '../../schema/platform/readable-status.ts';
import { updatedAt } from './metadata.ts';

const at =
  <T extends KubeObject>(field: (object: T) => string | undefined): IndexBy<T> =>
  (object) =>
    [field(object)].filter((value) => value !== undefined);
const uidOf = ({ metadata }: KubeObject): string | undefined => metadata.uid;

const DEPLOYMENT_INDEXES = {
  id: idsOf,
  name: at(({ metadata }: DeploymentResource) => metadata.name),
  request: at(({ metadata }: DeploymentResource) => metadata.annotations?.[MADE_BY]?.split('.')[0]),
  // An answer reads the template, so an object without one is set aside before any list shows it.
  secret: at(({ spec }: DeploymentResource) => spec.template.secretName),
};
const REVISION_INDEXES = {
  deployment: at(({ spec }: RevisionResource) => spec.deploymentUid),
  name: at(({ metadata, spec }: RevisionResource) => keyOf({ namespace: metadata.namespace, name: spec.deployment })),
  secret: at(({ spec }: RevisionResource) => spec.template.secretName),
};

/** The custom resources as last seen. */
export type StoredCaches = {
  deployments: Cache<DeploymentResource>;
  revisions: Cache<RevisionResource>;
  listeners: Cache<ListenerResource>;
  projects: Cache<TracingProjectResource>;
  namespaces: Cache;
};

export const storedCaches = (): StoredCaches => ({
  deployments: new Cache<DeploymentResource>(DEPLOYMENT_INDEXES),
  revisions: new Cache<RevisionResource>(REVISION_INDEXES),
  listeners: new Cache<ListenerResource>({ uid: at(uidOf), namespace: ({ spec }) => spec.namespaces.map(String) }),
  projects: new Cache<TracingProjectResource>({ uid: at(uidOf), name: at(({ spec }: TracingProjectResource) => spec.projectName) }),
  namespaces: new Cache(),
});

/** Adds an object that was read or written now, and returns it as it is kept. */
export function offered<T extends KubeObject>(cache: Cache<T>, object: T): T {
  const kept = lean(object);
  cache.offer(kept);
  return kept;
}

/** Returns an object as it is kept. managedFields, half of its size, are reduced to the time of the last write. */
export const lean = <T extends KubeObject>(object: T): T => ({
  ...withReadableStatus(object),
  metadata: { ...object.metadata, managedFields: [{ time: updatedAt(object) }] },
});
