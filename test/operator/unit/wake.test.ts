import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Cache, Via } from '../../../src/kube/cache.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { createCaches, type Caches } from '../../../src/operator/view/caches.ts';
import { WorkQueue } from '../../../src/operator/kernel/queue.ts';
import { registerWakeUps, type Queues } from '../../../src/operator/wake.ts';
import { DEPLOYMENT, REVISION } from '../../../src/schema/platform/objects/labels.ts';

let caches: Caches;
let queues: Queues;
let version = 0;

beforeEach(() => {
  vi.useFakeTimers();
  caches = createCaches();
  queues = { deployments: new WorkQueue(), revisions: new WorkQueue(), listeners: new WorkQueue() };
  registerWakeUps(caches, queues);
});
afterEach(() => void vi.useRealTimers());

const offer = <T extends KubeObject>(
  cache: Cache<T>,
  object: Omit<KubeObject, 'apiVersion' | 'metadata'> & { metadata: object },
  via: Via,
): void => {
  version += 1;
  cache.addIfNewer(
    {
      apiVersion: 'v1',
      ...object,
      metadata: { namespace: 'n', ...object.metadata, resourceVersion: String(version) },
    } as never,
    via,
  );
};
const deployment = (via: Via, status: object = {}, metadata: object = {}): void =>
  offer(
    caches.deployments,
    { kind: 'Deployment', metadata: { name: 'chat', ...metadata }, spec: { template: {} }, status },
    via,
  );
const revision = (via: Via, status: object = {}, metadata: object = {}): void =>
  offer(
    caches.revisions,
    {
      kind: 'Revision',
      metadata: { name: 'chat-1', ...metadata },
      spec: { deployment: 'chat', template: {} },
      status,
    },
    via,
  );
const workload = (via: Via, status: object = {}): void => {
  const annotations = { [DEPLOYMENT]: 'chat', [REVISION]: 'chat-1' };
  offer(
    caches.workloads,
    {
      kind: 'Deployment',
      metadata: { name: 'chat-1-api', generation: 1, annotations },
      spec: { template: {} },
      status,
    },
    via,
  );
};

/** Returns which of the queues have work after so many milliseconds. */
const awake = async (milliseconds = 0): Promise<string[]> => {
  await vi.advanceTimersByTimeAsync(milliseconds);
  const found = Object.entries(queues).filter(([, queue]) => queue.depth > 0);
  for (const [, queue] of found) {
    const key = await queue.take();
    if (key !== undefined) queue.finish(key);
  }
  return found.map(([name]) => name);
};

test('a status that the operator wrote wakes the others at once, and its own object seconds later', async () => {
  revision('watch');
  deployment('watch');
  expect(await awake()).toEqual(['deployments', 'revisions']);
  deployment('answer', { activeRevision: 'chat-1' });
  expect(await awake()).toEqual(['revisions']);
  expect(await awake(19_999)).toEqual([]);
  expect(await awake(1)).toEqual(['deployments']);
  revision('answer', { phase: 'DEPLOYED' });
  expect(await awake()).toEqual(['deployments']);
  expect(await awake(20_000)).toEqual(['revisions']);
});

test.each([
  ['another spec', { generation: 2 }],
  ['a deletion', { deletionTimestamp: '2026-01-01T00:00:00Z' }],
  ['an annotation', { annotations: { asks: 'this' } }],
])(
  'what others asked before the answer to a status wakes its object at once, as no watch tells of it: %s',
  async (_what, metadata) => {
    revision('watch');
    deployment('watch');
    while ((await awake(20_000)).length > 0);
    deployment('answer', { activeRevision: undefined }, metadata);
    expect(await awake()).toContain('deployments');
    while ((await awake(20_000)).length > 0);
    revision('answer', { phase: 'DEPLOYING' }, metadata);
    expect(await awake()).toContain('revisions');
  },
);

test('what Kubernetes made of a child before the answer to its write wakes its owners at once', async () => {
  workload('watch');
  while ((await awake(20_000)).length > 0);
  workload('answer', {
    observedGeneration: 1,
    replicas: 1,
    updatedReplicas: 1,
    availableReplicas: 1,
  });
  expect(await awake()).toEqual(['deployments', 'revisions']);
});

test('a revision that its deployment made is looked at at once', async () => {
  revision('answer');
  expect(await awake()).toEqual(['deployments', 'revisions']);
});

test('a Service that begins to select a revision wakes it, whoever told of it', async () => {
  const service = (via: Via, selected: string): void => {
    const metadata = { name: 'chat-agent', annotations: { [DEPLOYMENT]: 'chat' } };
    offer(
      caches.services,
      { kind: 'Service', metadata, spec: { selector: { [REVISION]: selected } } },
      via,
    );
  };
  revision('watch');
  service('watch', 'none');
  while ((await awake(10_000)).length > 0);
  service('answer', 'chat-1');
  expect(await awake()).toEqual(['revisions']);
  while ((await awake(10_000)).length > 0);
  service('answer', 'chat-1');
  expect(await awake()).toEqual([]);
});

test('what Kubernetes makes of a child wakes its owners before the echo of the write, and instead of it', async () => {
  workload('answer');
  expect(await awake(500)).toEqual([]);
  workload('watch', {
    observedGeneration: 1,
    replicas: 1,
    updatedReplicas: 1,
    availableReplicas: 1,
  });
  expect(await awake()).toEqual(['deployments', 'revisions']);
  expect(await awake(10_000)).toEqual([]);
});

test('a change that no reconcile reads wakes nobody, unless a list tells of it, as one may have been missed', async () => {
  workload('watch');
  await awake();
  workload('watch', { observedGeneration: 1, unavailableReplicas: 1 });
  expect(await awake()).toEqual([]);
  workload('list', { observedGeneration: 1, unavailableReplicas: 1 });
  expect(await awake()).toEqual(['deployments', 'revisions']);
});
