import { Cache, type IndexBy } from '../../kube/cache.ts';
import { kinds } from '../../kube/kube.ts';
import type {
  DeploymentResource,
  GitIntegrationResource,
  ListenerResource,
  ObjectMeta,
  RevisionResource,
  RevisionSpec,
  TracingProjectResource,
} from '../../schema/custom-resources.ts';
import { idsOf } from '../../schema/deployment-ids.ts';
import { AGENTS_NAMESPACE, COMPONENT, DEPLOYMENT, REVISION } from '../../schema/labels.ts';
import type { Watched } from '../kernel/writer.ts';

export const BY_DEPLOYMENT = 'deployment';
export const BY_REVISION = 'revision';
/** Indexes deployments and tracing projects by a name that is unique in the whole cluster. */
export const BY_NAME = 'name';
export const BY_NAMESPACE = 'namespace';
/** Indexes deployments by their uid and by the id that they claim. */
export const BY_ID = 'id';
/** Indexes deployments and revisions by the Secrets that they refer to. */
export const BY_SECRET = 'secret';
/** Indexes revisions that are being built or wait for it. */
export const BY_BUILD = 'build';
/** Indexes all pods that change a password. */
export const PASSWORD_PODS = 'password';

/** Returns `namespace/name` of the deployment or revision that an object was made for, which its annotation names. */
const named = (annotation: string, buildNamespaces?: readonly string[]): IndexBy => {
  return (object) => {
    const name = object.metadata.annotations?.[annotation];
    return name === undefined ? [] : [`${homeOf(object, buildNamespaces)}/${name}`];
  };
};
const childrenOf = (buildNamespaces?: readonly string[]) => ({
  [BY_DEPLOYMENT]: named(DEPLOYMENT, buildNamespaces),
  [BY_REVISION]: named(REVISION, buildNamespaces),
});
const children = childrenOf();

/**
 * Returns the namespace of the deployment that an object was made for: its own, but for builds. Only the operator makes
 * objects in the namespaces of builds, so what they say of another one is true.
 */
export const homeOf = ({ metadata }: { metadata: ObjectMeta }, buildNamespaces: readonly string[] = []): string | undefined =>
  metadata.namespace !== undefined && buildNamespaces.includes(metadata.namespace)
    ? (metadata.annotations?.[AGENTS_NAMESPACE] ?? metadata.namespace)
    : metadata.namespace;

const ofDeployment: IndexBy<RevisionResource> = ({ metadata, spec }) => [`${metadata.namespace}/${spec.deployment}`];
const inNamespace: IndexBy<DeploymentResource> = ({ metadata }) => [metadata.namespace ?? ''];
const projectName: IndexBy<TracingProjectResource> = ({ spec }) => [spec.projectName];
type UsesSecret = { metadata: ObjectMeta; spec: Pick<RevisionSpec, 'template'>; status?: { phase?: string; secretName?: string } };
const secretNames = ({ metadata, spec, status }: UsesSecret): string[] => {
  const known = [spec.template.secretName, status?.secretName].filter((name) => name !== undefined);
  return [...new Set(known)].map((name) => `${metadata.namespace}/${name}`);
};

const passwordPods: IndexBy = ({ metadata }) => (metadata.labels?.[COMPONENT] === PASSWORD_PODS ? [PASSWORD_PODS] : []);

/** Reasons of a revision whose build has not been requested yet. */
const UNBUILT = ['BuildQueued', 'GitHostAway'];
const buildState: IndexBy<RevisionResource> = ({ status }) => {
  if (status?.phase !== 'AWAITING_BUILD' && status?.phase !== 'BUILDING') return [];
  return [UNBUILT.includes(status.reason ?? '') ? 'waiting' : 'building'];
};

export type Caches = {
  deployments: Cache<DeploymentResource>;
  revisions: Cache<RevisionResource>;
  listeners: Cache<ListenerResource>;
  /** Namespaces, with their labels alone. */
  namespaces: Cache;
  tracingProjects: Cache<TracingProjectResource>;
  gitIntegrations: Cache<GitIntegrationResource>;
  workloads: Cache;
  statefulSets: Cache;
  services: Cache;
  policies: Cache;
  budgets: Cache;
  /** What leads to the gateway while a deployment sleeps. */
  slices: Cache;
  autoscalers: Cache;
  /** Where the API server is. */
  apiServers: Cache;
  /** Where the gateways are. */
  gateways: Cache;
  pods: Cache;
};

/**
 * Nearly all of ten thousand deployments are at rest, so their objects are packed. The objects of each kind that
 * changed last stay unpacked: as many as some hundreds of new deployments have, some 40 MB at most for all kinds
 * together.
 */
const PACKED = { packed: true, recent: 1000 };
/** The operator itself makes the objects of these kinds, so no length of their spec is a fault. */
const OWN = { ...PACKED, specLimit: Infinity };

export const createCaches = (buildNamespaces?: readonly string[]): Caches => ({
  deployments: new Cache<DeploymentResource>(
    {
      [BY_NAME]: ({ metadata }) => [metadata.name],
      [BY_NAMESPACE]: inNamespace,
      [BY_ID]: idsOf,
      [BY_SECRET]: secretNames,
    },
    PACKED,
  ),
  revisions: new Cache<RevisionResource>({ [BY_DEPLOYMENT]: ofDeployment, [BY_SECRET]: secretNames, [BY_BUILD]: buildState }, PACKED),
  // Who owns what is read from the list, so a Listener with another value in its place is set aside.
  listeners: new Cache<ListenerResource>({ namespace: ({ spec }) => spec.namespaces.map(String) }),
  namespaces: new Cache(),
  tracingProjects: new Cache({ [BY_NAME]: projectName }, PACKED),
  gitIntegrations: new Cache<GitIntegrationResource>(),
  workloads: new Cache(children, OWN),
  statefulSets: new Cache(children, OWN),
  services: new Cache(children, OWN),
  policies: new Cache(children, OWN),
  budgets: new Cache(children, OWN),
  slices: new Cache(children, OWN),
  autoscalers: new Cache(children, OWN),
  apiServers: new Cache(),
  gateways: new Cache(),
  pods: new Cache({ ...childrenOf(buildNamespaces), [PASSWORD_PODS]: passwordPods }, OWN),
});

/** Returns the caches of what a deployment owns besides its revisions. */
export const ownedCaches = ({ statefulSets, services, policies, budgets, slices, autoscalers }: Caches): Cache[] => [
  statefulSets,
  services,
  policies,
  budgets,
  slices,
  autoscalers,
];

/** Returns the kinds that reconcilers write, and the caches that keep the answers. Secrets are kept nowhere. */
export const writable = (caches: Caches): Watched[] => [
  { kind: kinds.revision, cache: caches.revisions },
  { kind: kinds.tracingProject, cache: caches.tracingProjects },
  { kind: kinds.workload, cache: caches.workloads },
  { kind: kinds.statefulSet, cache: caches.statefulSets },
  { kind: kinds.service, cache: caches.services },
  { kind: kinds.networkPolicy, cache: caches.policies },
  { kind: kinds.disruptionBudget, cache: caches.budgets },
  { kind: kinds.endpointSlice, cache: caches.slices },
  { kind: kinds.autoscaler, cache: caches.autoscalers },
  { kind: kinds.secret },
  { kind: kinds.volumeClaim },
  { kind: kinds.job },
  { kind: kinds.configMap },
  { kind: kinds.pod },
];
