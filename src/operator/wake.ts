import { buildObjectKey, type Cache, type Change, type Via } from '../kube/cache.ts';
import type { KubeObject } from '../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
  RevisionResource,
  TracingProjectResource,
} from '../schema/platform/resources/custom-resources.ts';
import { HOST_TAKEN, ROUTE_KIND_MISSING } from '../schema/platform/objects/conditions.ts';
import { listDeploymentIds } from '../schema/platform/resources/deployment-ids.ts';
import { DEPLOYMENT, REVISION, TENANT } from '../schema/platform/objects/labels.ts';
import { formatCanonicalJson } from '../schema/canonical-json.ts';
import { toLabelValue } from '../schema/names.ts';
import type { ServerFacts } from '../schema/wire/work-report.ts';
import { isPodSecurityOpen } from './deployment/pod-security.ts';
import {
  BY_BUILD,
  BY_DEPLOYMENT,
  BY_ID,
  BY_NAME,
  BY_NAMESPACE,
  BY_PLACE,
  BY_ROUTED,
  listCachedRows,
  getHomeNamespace,
  listRouteCaches,
  type Caches,
} from './view/caches.ts';
import type { MissingKinds } from './view/missing-kinds.ts';
import { listAccountSecrets } from './pods/account-secrets.ts';
import { listRoutePlaces } from './routes/stored.ts';
import { getSelectedRevision } from './rollout/deployment.ts';
import { isServerNews } from './rollout/reported-server.ts';
import { isEnded } from './rollout/revisions.ts';
import type { WorkQueue } from './kernel/queue.ts';
import type { KindRow, KindTable } from './kinds/row.ts';
import { OPERATOR_KINDS } from './kinds/table.ts';
import {
  isAskedByOthers,
  isRelevantToOwner,
  isRelevantToDeployment,
  isRelevantToRevisions,
  isReportedByOthers,
} from './wake-filter.ts';

export type Queues = { deployments: WorkQueue; revisions: WorkQueue; listeners: WorkQueue };

/**
 * Milliseconds after which an object that only our own write has changed is reconciled. The reconcile that wrote it
 * knows of it, and the next change by Kubernetes wakes the object sooner.
 */
const ECHO = 20_000;

type WakeOptions = {
  buildNamespaces?: readonly string[];
  table?: KindTable;
  missing?: MissingKinds;
};

/** Wires which change wakes whom. Handlers only put keys into queues. */
export function registerWakeUps(
  caches: Caches,
  { deployments, revisions, listeners }: Queues,
  { buildNamespaces = [], table = OPERATOR_KINDS, missing }: WakeOptions = {},
): void {
  // If one listener names a namespace, another may have lost or gained it.
  const wakeListeners = (via: Via): void => {
    for (const { metadata } of caches.listeners.list())
      wake(listeners, buildKey(metadata.namespace, metadata.name), via);
  };
  subscribe(caches.listeners, ({ via }) => wakeListeners(via));
  subscribe(caches.namespaces, ({ key, before, after, via }) => {
    if (before?.metadata.labels?.[TENANT] !== after?.metadata.labels?.[TENANT]) wakeListeners(via);
    const [was, is] = [before, after].map((one) => one !== undefined && isPodSecurityOpen(one));
    if (was === is) return;
    for (const deployment of caches.deployments.listKeysByIndex(BY_NAMESPACE, key))
      wake(deployments, deployment, via);
  });
  subscribe(caches.deployments, (change) => {
    const { key, before, after, via } = change;
    wakeAfterWrite(deployments, key, { via, isOthers: isAskedByOthers(change) });
    // A deleted deployment frees its name and its ids for those that wait for them.
    if (before !== undefined && after === undefined)
      for (const namesake of listWaitingDeployments(caches, before))
        wake(deployments, namesake, via);
    if (via !== 'list' && !isRelevantToRevisions(change)) return;
    for (const revision of caches.revisions.listKeysByIndex(BY_DEPLOYMENT, key))
      wake(revisions, revision, via);
  });
  subscribe(caches.revisions, (change) => {
    const { key, before, after, via } = change;
    const { metadata, spec } = (after ?? before) as RevisionResource;
    const deployment = buildKey(metadata.namespace, spec.deployment);
    if (via === 'list' || isRelevantToDeployment(change)) wake(deployments, deployment, via);
    // The deployment's reconcile made the revision, and only the revision's own reconcile writes its status.
    if (before === undefined) wake(revisions, key, via);
    else wakeAfterWrite(revisions, key, { via, isOthers: isAskedByOthers(change) });
    // A revision that ends makes room for another.
    for (const other of caches.revisions.listByIndex(BY_DEPLOYMENT, deployment)) {
      const sibling = buildKey(other.metadata.namespace, other.metadata.name);
      if (!isEnded(other) && sibling !== key) wake(revisions, sibling, via);
    }
    // A build that ends, or whose git host is away, makes room for one that waits for its turn.
    if (isBuilding(before) && !isBuilding(after))
      for (const waiting of caches.revisions.listKeysByIndex(BY_BUILD, 'waiting'))
        wake(revisions, waiting, via);
  });
  for (const { row, cache } of listCachedRows(caches, table)) {
    if (row.child === 'revision')
      subscribeToChildren(cache, row, { annotation: REVISION, queue: revisions, buildNamespaces });
    if (row.child !== undefined)
      subscribeToChildren(cache, row, {
        annotation: DEPLOYMENT,
        queue: deployments,
        buildNamespaces,
      });
  }
  wakeForBackups(caches, deployments);
  wakeSelected(caches, revisions);
  // Agents do not reach the API server, wherever it is.
  subscribe(caches.apiServers, ({ via }) => {
    for (const { metadata } of caches.deployments.list())
      wake(deployments, buildKey(metadata.namespace, metadata.name), via);
  });
  wakeSleepers(caches, deployments);
  wakeForRoutes(caches, deployments, missing);
  wakeForProjects(caches, deployments);
  wakeForAccounts(caches, { deployments, revisions });
}

/** Wakes the deployment whose backup others have changed or removed. */
function wakeForBackups({ backups }: Caches, deployments: WorkQueue): void {
  subscribe(backups, ({ before, after, via }) => {
    const { metadata, spec } = (after ?? before) as BackupResource;
    wakeAfterWrite(deployments, buildKey(metadata.namespace, spec.deployment), { via });
  });
}

/** Wakes the revision that a Service now selects, because its wait is over. */
function wakeSelected(caches: Caches, revisions: WorkQueue): void {
  subscribe(caches.services, ({ before, after, via }) => {
    const [former, selected] = [before, after].map(getSelectedRevision);
    if (selected === undefined || selected === former) return;
    const deployment = buildKey(
      after?.metadata.namespace,
      after?.metadata.annotations?.[DEPLOYMENT] ?? '',
    );
    for (const { metadata } of caches.revisions.listByIndex(BY_DEPLOYMENT, deployment))
      if (toLabelValue(metadata.name) === selected)
        wake(revisions, buildKey(metadata.namespace, metadata.name), via);
  });
}

/** Looks at those that sleep when replicas of the gateway come or go, because slices lead to each of them. */
function wakeSleepers({ gateways, slices }: Caches, deployments: WorkQueue): void {
  subscribe(gateways, ({ via }) => {
    for (const { metadata } of slices.list())
      wake(
        deployments,
        buildKey(metadata.namespace, metadata.annotations?.[DEPLOYMENT] ?? ''),
        via,
      );
  });
}

/** Wakes the deployments that have the name of a tracing project. */
function wakeForProjects(
  { tracingProjects, deployments: cache }: Caches,
  deployments: WorkQueue,
): void {
  subscribe(tracingProjects, ({ before, after, via }) => {
    const { spec } = (after ?? before) as TracingProjectResource;
    for (const key of cache.listKeysByIndex(BY_NAME, spec.projectName))
      wakeAfterWrite(deployments, key, { via });
  });
}

/** Wakes those whose pods may pull images with other Secrets, because those of an account have changed. */
function wakeForAccounts(
  caches: Caches,
  { deployments, revisions }: { deployments: WorkQueue; revisions: WorkQueue },
): void {
  subscribe(caches.accounts, ({ before, after, via }) => {
    const [former, current] = [before, after].map((account) =>
      formatCanonicalJson(listAccountSecrets(account ?? {})),
    );
    if (former === current) return;
    const { namespace = '' } = (after ?? before)?.metadata ?? {};
    for (const key of caches.deployments.listKeysByIndex(BY_NAMESPACE, namespace)) {
      wake(deployments, key, via);
      // Pods of one that has ended stay as they are.
      for (const revision of caches.revisions.listByIndex(BY_DEPLOYMENT, key))
        if (!isEnded(revision)) wake(revisions, buildObjectKey(revision.metadata), via);
    }
  });
}

/** Wakes those whose route may change: other hosts are granted, other routes come or go, or its kind is installed. */
function wakeForRoutes(
  caches: Caches,
  deployments: WorkQueue,
  missing: WakeOptions['missing'],
): void {
  subscribe(caches.listeners, ({ before, after, via }) => {
    if (
      formatCanonicalJson(before?.spec.hosts ?? []) === formatCanonicalJson(after?.spec.hosts ?? [])
    )
      return;
    for (const namespace of new Set([before, after].flatMap((one) => one?.spec.namespaces ?? [])))
      for (const key of caches.deployments.listKeysByIndex(BY_NAMESPACE, namespace))
        wake(deployments, key, via);
  });
  for (const cache of listRouteCaches(caches)) wakeRivals(cache, caches, deployments);
  missing?.subscribe(() => {
    for (const key of caches.deployments.listKeysByIndex(BY_ROUTED, ROUTE_KIND_MISSING))
      wake(deployments, key, 'list');
  });
}

/** Wakes the deployments that want a place which a route leaves, and those whose place another route claims, too. */
function wakeRivals(routes: Cache, { deployments: cache }: Caches, deployments: WorkQueue): void {
  subscribe(routes, ({ key, before, after, via }) => {
    const [was, is] = [before, after].map((route) =>
      route === undefined ? [] : listRoutePlaces(route),
    );
    const isFree = was?.some((place) => is?.includes(place) !== true) === true;
    if (isFree)
      for (const waiting of cache.listKeysByIndex(BY_ROUTED, HOST_TAKEN))
        wake(deployments, waiting, via);
    const claimed = is?.filter((place) => was?.includes(place) !== true) ?? [];
    const holders = claimed.flatMap((place) => routes.listByIndex(BY_PLACE, place));
    // Of two that got a place at once, either may have to leave it.
    if (!holders.some(({ metadata }) => buildObjectKey(metadata) !== key)) return;
    for (const { metadata } of holders)
      wake(
        deployments,
        buildKey(metadata.namespace, metadata.annotations?.[DEPLOYMENT] ?? ''),
        via,
      );
  });
}

/** Wakes a deployment and its serving revision, because the work of its agents asks for another size. */
export const wakeForWork =
  ({ deployments: cache }: Caches, { deployments, revisions }: Queues) =>
  (key: string): void => {
    const deployment = cache.get(key);
    if (deployment === undefined) return;
    const active = deployment.status?.activeRevision;
    if (active !== undefined)
      wake(revisions, buildKey(deployment.metadata.namespace, active), 'watch');
    wake(deployments, key, 'watch');
  };

/** Wakes a replaced revision, because its work asks for another size. */
export const wakeForDrain =
  ({ revisions }: Queues) =>
  (deployment: string, revision: string): void =>
    wake(revisions, buildKey(deployment.split('/')[0], revision), 'watch');

/** Wakes the revisions of a deployment whose status does not have the facts yet that their servers have reported. */
export const wakeForFacts =
  ({ revisions: cache }: Caches, { revisions }: Queues) =>
  (deployment: string, servers: ReadonlyMap<string, ServerFacts>): void => {
    const [namespace, name] = deployment.split('/');
    for (const facts of servers.values()) {
      const revision = cache.get(buildKey(namespace, facts.revision));
      if (
        revision !== undefined &&
        revision.spec.deployment === name &&
        isServerNews(revision, facts)
      )
        wake(revisions, buildKey(namespace, facts.revision), 'watch');
    }
  };

const isBuilding = (revision: RevisionResource | undefined): boolean => {
  const { phase, reason } = revision?.status ?? {};
  return (phase === 'AWAITING_BUILD' && reason !== 'GitHostAway') || phase === 'BUILDING';
};

/** Returns the deployments that have the name of a deleted one, or claim an id that it had. */
const listWaitingDeployments = ({ deployments }: Caches, gone: DeploymentResource): string[] => [
  ...deployments.listKeysByIndex(BY_NAME, gone.metadata.name),
  ...listDeploymentIds(gone).flatMap((id) => deployments.listKeysByIndex(BY_ID, id)),
];

const wake = (queue: WorkQueue, key: string, via: Via): void =>
  queue.add(key, via === 'list' ? 'background' : 'live');

/**
 * Wakes the object whose reconcile wrote, if the change was an answer, after everything that is new. `isOthers` means
 * that the answer shows somebody else's change.
 */
const wakeAfterWrite = (
  queue: WorkQueue,
  key: string,
  { via, isOthers = false }: { via: Via; isOthers?: boolean },
): void =>
  via === 'answer' && !isOthers ? queue.addAfter(key, ECHO, 'background') : wake(queue, key, via);

const buildKey = (namespace: string | undefined, name: string): string => `${namespace}/${name}`;

const subscribe = <T extends KubeObject>(
  cache: Cache<T>,
  handle: (change: Change<T>) => void,
): void => cache.addChangeListener(handle);

/** Wakes the owner of a child, which names it in an annotation. */
function subscribeToChildren(
  cache: Cache,
  row: KindRow,
  {
    annotation,
    queue,
    buildNamespaces,
  }: { annotation: string; queue: WorkQueue; buildNamespaces: readonly string[] },
): void {
  const wakeOwner = (object: KubeObject | undefined, change: Change): void => {
    const owner = object?.metadata.annotations?.[annotation];
    if (object === undefined || owner === undefined) return;
    wakeAfterWrite(queue, buildKey(getHomeNamespace(object, buildNamespaces), owner), {
      via: change.via,
      isOthers: isReportedByOthers(change, row),
    });
  };
  subscribe(cache, (change) => {
    const { before, after, via } = change;
    if (via === 'watch' && !isRelevantToOwner(change, row)) return;
    wakeOwner(after, change);
    if (before?.metadata.annotations?.[annotation] !== after?.metadata.annotations?.[annotation])
      wakeOwner(before, change);
  });
}
