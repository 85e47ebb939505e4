import { expect, test } from 'vitest';
import { Cache } from '../../../src/kube/cache.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { Controller } from '../../../src/operator/kernel/controller.ts';
import { buildSettledOutcome } from '../../../src/operator/kernel/outcome.ts';
import { WorkQueue } from '../../../src/operator/kernel/queue.ts';
import { READY } from '../../../src/schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { silentLog } from '../../kit/log.ts';
import { deployment } from '../../kit/objects.ts';

/* The first pass over many deployments at rest: each reconcile finds everything in order and waits for nothing. */

const MANY = 100;
const ready = {
  type: READY,
  status: 'True' as const,
  reason: 'Fine',
  message: 'fine',
  lastTransitionTime: 't',
  observedGeneration: 1,
};
const atRest = (index: number): DeploymentResource =>
  deployment({
    metadata: { name: `d${index}`, resourceVersion: '1' },
    status: { phase: 'READY', observedGeneration: 1, conditions: [ready] },
  });

async function firstPass(
  meanwhile: (queue: WorkQueue, order: string[]) => void,
): Promise<string[]> {
  const cache = new Cache<DeploymentResource>();
  const queue = new WorkQueue();
  const order: string[] = [];
  for (let index = 0; index < MANY; index += 1) {
    cache.addIfNewer(atRest(index));
    queue.add(`team/d${index}`, 'background');
  }
  const all = Promise.withResolvers<void>();
  const controller = new Controller({
    reconciler: {
      name: 'x',
      kind: kinds.deployment,
      cache,
      reconcile: ({ metadata }) => {
        order.push(metadata.name);
        if (queue.depth === 0) all.resolve();
        return Promise.resolve({
          outcome: buildSettledOutcome('fine', 'Fine'),
          status: { phase: 'READY' as const },
          statements: [],
        });
      },
    },
    queue,
    kube: {} as Kube,
    record: () => undefined,
    log: silentLog(),
    workers: 10,
    clock: () => new Date(),
    observer: {
      started: () => undefined,
      timedOut: () => undefined,
      panicked: () => undefined,
      done: () => undefined,
    },
  });
  controller.start();
  meanwhile(queue, order);
  await all.promise;
  await controller.stop();
  return order;
}

test('does not hold up the event loop: leases, probes and watches get their turns', async () => {
  const order = await firstPass((_, seen) => {
    setImmediate(() => seen.push('a turn'));
  });
  expect(order.indexOf('a turn')).toBeGreaterThan(0);
  expect(order.indexOf('a turn')).toBeLessThan(MANY / 4);
});

test('a change made meanwhile goes before all that still wait', async () => {
  const order = await firstPass((queue, seen) => {
    setImmediate(() => {
      seen.push('the change');
      queue.add(`team/d${MANY - 1}`, 'live');
    });
  });
  const changed = order.indexOf(`d${MANY - 1}`) - order.indexOf('the change');
  expect(changed).toBeGreaterThan(0);
  // Each of the ten workers has at most one reconcile under way.
  expect(changed).toBeLessThanOrEqual(11);
});
