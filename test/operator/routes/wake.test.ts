import { beforeEach, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { buildOwnedMetadata } from '../../../src/operator/objects/metadata.ts';
import { createCaches, type Caches } from '../../../src/operator/view/caches.ts';
import { MissingKinds } from '../../../src/operator/view/missing-kinds.ts';
import { registerWakeUps } from '../../../src/operator/wake.ts';
import type { WorkQueue } from '../../../src/operator/kernel/queue.ts';
import type {
  DeploymentResource,
  ListenerResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { deployment } from '../../kit/objects.ts';

/* Who is woken when a route, a grant or the kind of routes comes or goes. */

let caches: Caches;
let missing: MissingKinds;
let woken: string[];
let version = 0;

beforeEach(() => {
  [caches, missing, woken] = [createCaches(), new MissingKinds(), []];
  const queue = {
    add: (key: string) => woken.push(key),
    addAfter: () => undefined,
  } as unknown as WorkQueue;
  const other = { add: () => undefined, addAfter: () => undefined } as unknown as WorkQueue;
  registerWakeUps(caches, { deployments: queue, revisions: other, listeners: other }, { missing });
});

const versioned = <T extends { metadata: object }>(object: T): T => {
  version += 1;
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
};
function put(name: string, reason?: string): DeploymentResource {
  const conditions = [
    {
      type: 'Routed',
      status: 'False',
      reason,
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ];
  const of = deployment({ metadata: { name, uid: name } });
  const object = {
    ...of,
    ...(reason !== undefined && { status: { conditions } }),
  } as DeploymentResource;
  caches.deployments.addIfNewer(versioned(object));
  return object;
}
const routeOf = (owner: DeploymentResource, host: string, generation = 1): KubeObject => ({
  apiVersion: kinds.httpRoute.apiVersion,
  kind: kinds.httpRoute.kind,
  metadata: { ...buildOwnedMetadata(owner, 'agent', `${owner.metadata.name}-route`), generation },
  spec: { hostnames: [host], rules: [{ matches: [{ path: { value: '/' } }] }] },
});
const offer = (route: KubeObject): boolean => caches.httpRoutes.addIfNewer(versioned(route));
/** Returns the deployments that this wakes, each once. */
function wakes(change: () => unknown): string[] {
  woken = [];
  change();
  return [...new Set(woken)].toSorted();
}

test('a route that leaves a place wakes those that wait for one', () => {
  const first = put('first');
  put('second', 'HostTaken');
  put('third', 'HostNotAllowed');
  expect(wakes(() => offer(routeOf(first, 'a.example')))).toEqual(['team/first']);
  expect(wakes(() => offer(routeOf(first, 'b.example', 2)))).toEqual(['team/first', 'team/second']);
  expect(wakes(() => caches.httpRoutes.remove('team/first-route', BigInt((version += 1))))).toEqual(
    ['team/first', 'team/second'],
  );
});

test('two routes with one place wake both deployments', () => {
  const [first, second, third] = [put('first'), put('second'), put('third')];
  offer(routeOf(first, 'a.example'));
  offer(routeOf(third, 'c.example'));
  expect(wakes(() => offer(routeOf(second, 'a.example')))).toEqual(['team/first', 'team/second']);
});

test('a Listener that grants other hosts wakes the deployments of its namespaces', () => {
  put('first');
  const listener = (hosts: string[], computeId = 'a'): ListenerResource => ({
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'gx-system' },
    spec: { computeId, namespaces: ['team'], hosts },
  });
  expect(wakes(() => caches.listeners.addIfNewer(versioned(listener(['a.example']))))).toEqual([
    'team/first',
  ]);
  expect(wakes(() => caches.listeners.addIfNewer(versioned(listener(['a.example'], 'b'))))).toEqual(
    [],
  );
  expect(wakes(() => caches.listeners.addIfNewer(versioned(listener(['b.example'], 'b'))))).toEqual(
    ['team/first'],
  );
});

test('the kind of routes, once it is installed, wakes those that wait for it', () => {
  put('first', 'RouteKindMissing');
  put('second');
  expect(wakes(() => missing.note(kinds.httpRoute, false))).toEqual([]);
  expect(missing.has(kinds.httpRoute)).toBe(true);
  expect(wakes(() => missing.note(kinds.httpRoute, true))).toEqual(['team/first']);
  expect(wakes(() => missing.note(kinds.httpRoute, true))).toEqual([]);
  expect(missing.has(kinds.httpRoute)).toBe(false);
});
