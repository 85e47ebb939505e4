import type { Cache, Change } from '../kube/cache.ts';
import type { KubeObject } from '../kube/kube.ts';
import type { RevisionResource, TracingProjectResource } from '../schema/custom-resources.ts';
import { DEPLOYMENT, REVISION } from '../schema/labels.ts';
import { BY_DEPLOYMENT, BY_NAME, type Caches } from './caches.ts';
import { isEnded } from './deployment/picks.ts';
import type { WorkQueue } from './kernel/queue.ts';

export type Queues = { deployments: WorkQueue; revisions: WorkQueue; listeners: WorkQueue };

/** Which change wakes whom. Handlers only put keys into queues. */
export function wireWakeUps(caches: Caches, { deployments, revisions, listeners }: Queues): void {
  // What one names, another may have lost or won.
  on(caches.listeners, ({ live }) => {
    for (const { metadata } of caches.listeners.list()) listeners.add(keyIn(metadata.namespace, metadata.name), priority(live));
  });
  on(caches.deployments, ({ key, before, after, live }) => {
    deployments.add(key, priority(live));
    // One that goes leaves its name to those that wait for it in other namespaces.
    if (before !== undefined && after === undefined)
      for (const namesake of caches.deployments.keysByIndex(BY_NAME, before.metadata.name)) deployments.add(namesake, priority(live));
    for (const revision of caches.revisions.keysByIndex(BY_DEPLOYMENT, key)) revisions.add(revision, priority(live));
  });
  on(caches.revisions, ({ key, before, after, live }) => {
    const { metadata, spec } = (after ?? before) as unknown as RevisionResource;
    const deployment = keyIn(metadata.namespace, spec.deployment);
    deployments.add(deployment, priority(live));
    revisions.add(key, priority(live));
    // One that ends gives its place to another.
    for (const other of caches.revisions.byIndex(BY_DEPLOYMENT, deployment)) {
      if (!isEnded(other)) revisions.add(keyIn(other.metadata.namespace, other.metadata.name), priority(live));
    }
  });
  for (const cache of [caches.workloads, caches.pods]) onChild(cache, REVISION, revisions);
  for (const cache of [caches.workloads, caches.statefulSets, caches.services, caches.policies, caches.budgets, caches.pods])
    onChild(cache, DEPLOYMENT, deployments);
  on(caches.tracingProjects, ({ before, after, live }) => {
    const { spec } = (after ?? before) as unknown as TracingProjectResource;
    for (const key of caches.deployments.keysByIndex(BY_NAME, spec.projectName)) deployments.add(key, priority(live));
  });
}

const priority = (live: boolean): 'live' | 'background' => (live ? 'live' : 'background');
const keyIn = (namespace: string | undefined, name: string): string => `${namespace}/${name}`;

const on = <T extends object>(cache: Cache<T>, wake: (change: Change) => void): void => cache.onChange(wake);

/** A child says whose it is in an annotation. */
function onChild(cache: Cache, annotation: string, queue: WorkQueue): void {
  const wake = (object: KubeObject | undefined, live: boolean): void => {
    const owner = object?.metadata.annotations?.[annotation];
    if (object !== undefined && owner !== undefined) queue.add(keyIn(object.metadata.namespace, owner), priority(live));
  };
  on(cache, ({ before, after, live }) => {
    wake(after, live);
    if (before?.metadata.annotations?.[annotation] !== after?.metadata.annotations?.[annotation]) wake(before, live);
  });
}
