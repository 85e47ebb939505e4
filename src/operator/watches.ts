import { buildNamespaces } from '../config/builder.ts';
import type { OperatorConfig } from '../config/operator.ts';
import type { Intake } from '../kube/cache.ts';
import { kinds, type Kind, type Kube, type KubeObject } from '../kube/kube.ts';
import { NamespaceReader } from '../kube/namespaces.ts';
import { Limiter } from '../kube/limiter.ts';
import { Reflector, type Watch, type WatchObserver, type WatchTimings } from '../kube/watch.ts';
import type { Log } from '../log.ts';
import { MANAGED_BY, OF_SERVICE, OPERATOR, WRITTEN_BY } from '../schema/labels.ts';
import type { Caches } from './family/caches.ts';
import { leanPod } from './projections.ts';

type Parts = {
  kube: Kube;
  log: Log;
  caches: Caches;
  observer: WatchObserver;
  config: Pick<OperatorConfig, 'namespace' | 'namespaces' | 'settings'>;
  timings?: Partial<WatchTimings> | undefined;
};

/** How many pages are fetched at once. One is parsed and added while the API server makes the next. */
const PAGES_AT_ONCE = 2;

/** The slice with the addresses of the API server has these names in every cluster. */
const API_SERVER = { namespace: 'default', name: 'kubernetes' };

const OURS = `${MANAGED_BY}=${OPERATOR}`;

/** Creates one watch per kind and namespace. Of built-in kinds it sees only what this operator made. */
export function watches({ kube, log, caches, observer, config, timings }: Parts): Watch[] {
  const places = config.namespaces.length === 0 ? [undefined] : config.namespaces;
  const pages = new Limiter(PAGES_AT_ONCE);
  const watch = (namespaces: (string | undefined)[], source: { kind: Kind; cache: Intake; labelSelector?: string; only?: string }) =>
    namespaces.map((namespace) => {
      const project = source.kind === kinds.pod ? { project: leanPod } : {};
      return new Reflector({ kube, log, observer, pages, namespace, ...source, ...project, ...(timings && { timings }) });
    });
  const own = <T extends KubeObject>(kind: Kind<T>, cache: Intake<T>): { kind: Kind; cache: Intake } => ({ kind, cache });
  const made = (kind: Kind, cache: Intake) => ({ kind, cache, labelSelector: OURS });
  const listeners = watch([config.namespace], own(kinds.listener, caches.listeners));
  const after = Promise.all(listeners.map(({ synced }) => synced));
  const isWorked = (name: string): boolean => config.namespaces.length === 0 || config.namespaces.includes(name);
  const claimed = (): string[] => caches.listeners.list().flatMap(({ spec }) => spec.namespaces.filter(isWorked));
  const labels = new NamespaceReader({ kube, log, cache: caches.namespaces, names: claimed, after });
  caches.listeners.onChange(() => labels.readNew());
  const { gateway } = config.settings;
  const apart = buildNamespaces(config.settings.builder).filter(
    (name) => config.namespaces.length > 0 && !config.namespaces.includes(name),
  );
  return [
    ...listeners,
    ...watch([config.namespace], own(kinds.gitIntegration, caches.gitIntegrations)),
    ...watch(apart, made(kinds.pod, caches.pods)),
    labels,
    ...watch(config.settings.agentNetwork.apiServer.length > 0 ? [] : [API_SERVER.namespace], {
      ...own(kinds.endpointSlice, caches.apiServers),
      only: API_SERVER.name,
    }),
    ...watch(gateway === undefined ? [] : [gateway.namespace], {
      ...own(kinds.endpointSlice, caches.gateways),
      labelSelector: `${OF_SERVICE}=${gateway?.service}`,
    }),
    ...[
      own(kinds.tracingProject, caches.tracingProjects),
      made(kinds.pod, caches.pods),
      made(kinds.workload, caches.workloads),
      made(kinds.statefulSet, caches.statefulSets),
      made(kinds.service, caches.services),
      made(kinds.networkPolicy, caches.policies),
      made(kinds.disruptionBudget, caches.budgets),
      // Kubernetes gives its own slices the labels of their Service.
      ...(gateway === undefined ? [] : [{ ...own(kinds.endpointSlice, caches.slices), labelSelector: `${WRITTEN_BY}=${OPERATOR}` }]),
      made(kinds.autoscaler, caches.autoscalers),
      own(kinds.revision, caches.revisions),
      own(kinds.deployment, caches.deployments),
    ].flatMap((source) => watch(places, source)),
  ];
}
