import type { OperatorConfig } from '../config/operator.ts';
import type { Cache } from '../kube/cache.ts';
import { kinds, type Kind, type Kube } from '../kube/kube.ts';
import { Gate } from '../kube/gate.ts';
import { Reflector, type WatchObserver, type WatchTimings } from '../kube/watch.ts';
import type { Log } from '../log.ts';
import { MANAGED_BY, OPERATOR } from '../schema/labels.ts';
import type { Caches } from './family/caches.ts';
import { leanPod } from './projections.ts';

type Given = {
  kube: Kube;
  log: Log;
  caches: Caches;
  observer: WatchObserver;
  config: Pick<OperatorConfig, 'namespace' | 'namespaces'>;
  timings?: Partial<WatchTimings> | undefined;
};

/** One page is read and taken in while the API server makes the next. */
const PAGES_AT_ONCE = 2;

const OURS = `${MANAGED_BY}=${OPERATOR}`;

/** One watch per kind and namespace worked on; of built-in kinds only what this operator made. */
export function watches({ kube, log, caches, observer, config, timings }: Given): Reflector<object>[] {
  const places = config.namespaces.length === 0 ? [undefined] : config.namespaces;
  const pages = new Gate(PAGES_AT_ONCE);
  const watch = (namespaces: (string | undefined)[], source: { kind: Kind<object>; cache: Cache<object>; labelSelector?: string }) =>
    namespaces.map((namespace) => {
      const project = source.kind === kinds.pod ? { project: leanPod as (object: object) => object } : {};
      return new Reflector<object>({ kube, log, observer, pages, namespace, ...source, ...project, ...(timings && { timings }) });
    });
  const own = <T extends object>(kind: Kind<T>, cache: Cache<T>) => ({
    kind: kind as Kind<object>,
    cache: cache as unknown as Cache<object>,
  });
  const made = (kind: Kind, cache: Cache) => ({ kind: kind as Kind<object>, cache: cache as Cache<object>, labelSelector: OURS });
  return [
    ...watch([config.namespace], own(kinds.listener, caches.listeners)),
    ...[
      own(kinds.tracingProject, caches.tracingProjects),
      made(kinds.pod, caches.pods),
      made(kinds.workload, caches.workloads),
      made(kinds.statefulSet, caches.statefulSets),
      made(kinds.service, caches.services),
      made(kinds.networkPolicy, caches.policies),
      made(kinds.disruptionBudget, caches.budgets),
      own(kinds.revision, caches.revisions),
      own(kinds.deployment, caches.deployments),
    ].flatMap((source) => watch(places, source)),
  ];
}
