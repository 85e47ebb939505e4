import { Cache, type IndexBy } from '../kube/cache.ts';
import { kinds } from '../kube/kube.ts';
import type { DeploymentResource, ListenerResource, RevisionResource, TracingProjectResource } from '../schema/custom-resources.ts';
import { DEPLOYMENT, REVISION } from '../schema/labels.ts';
import type { Watched } from './kernel/writer.ts';

export const BY_DEPLOYMENT = 'deployment';
export const BY_REVISION = 'revision';

/** `namespace/name` of the deployment or revision an object was made for; children say it in an annotation of the label's key. */
const named = (annotation: string): IndexBy => {
  return ({ metadata }) => {
    const name = metadata.annotations?.[annotation];
    return name === undefined ? [] : [`${metadata.namespace}/${name}`];
  };
};
const children = { [BY_DEPLOYMENT]: named(DEPLOYMENT), [BY_REVISION]: named(REVISION) };

const ofDeployment: IndexBy = (object) => {
  const { metadata, spec } = object as unknown as RevisionResource;
  return [`${metadata.namespace}/${spec.deployment}`];
};

export type Caches = {
  deployments: Cache<DeploymentResource>;
  revisions: Cache<RevisionResource>;
  listeners: Cache<ListenerResource>;
  tracingProjects: Cache<TracingProjectResource>;
  workloads: Cache;
  statefulSets: Cache;
  services: Cache;
  policies: Cache;
  pods: Cache;
};

export const createCaches = (): Caches => ({
  deployments: new Cache(),
  revisions: new Cache({ [BY_DEPLOYMENT]: ofDeployment }),
  listeners: new Cache(),
  tracingProjects: new Cache(),
  workloads: new Cache(children),
  statefulSets: new Cache(children),
  services: new Cache(children),
  policies: new Cache(children),
  pods: new Cache(children),
});

/** What reconcilers write, and where its answers are kept. Secrets are kept nowhere. */
export const writable = (caches: Caches): Watched[] => [
  { kind: kinds.revision, cache: caches.revisions },
  { kind: kinds.tracingProject, cache: caches.tracingProjects },
  { kind: kinds.workload, cache: caches.workloads },
  { kind: kinds.statefulSet, cache: caches.statefulSets },
  { kind: kinds.service, cache: caches.services },
  { kind: kinds.networkPolicy, cache: caches.policies },
  { kind: kinds.secret },
  { kind: kinds.volumeClaim },
  { kind: kinds.pod },
];
