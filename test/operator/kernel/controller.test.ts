import { expect, test } from 'vitest';
import { Conflict, Unavailable, type Problem } from '../../../src/errors.ts';
import { Cache } from '../../../src/kube/cache.ts';
import { KubeRefused } from '../../../src/kube/errors.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { Controller, type Reconciler } from '../../../src/operator/kernel/controller.ts';
import { buildSettledOutcome, buildStalledOutcome } from '../../../src/operator/kernel/outcome.ts';
import { WorkQueue } from '../../../src/operator/kernel/queue.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { silentLog } from '../../kit/log.ts';
import { deployment } from '../../kit/objects.ts';

type Status = NonNullable<DeploymentResource['status']>;
type Given = Reconciler<DeploymentResource, Status>;

/** Makes one pass over one object, with a door that only takes notes. */
async function pass(
  object: DeploymentResource,
  given: Pick<Given, 'reconcile'> & Partial<Given>,
  times = 1,
) {
  const written: unknown[] = [];
  const told: unknown[] = [];
  const results: string[] = [];
  const cache = new Cache<DeploymentResource>();
  cache.addIfNewer({ ...object, metadata: { ...object.metadata, resourceVersion: '1' } });
  const answer = (what: string, value: unknown): Promise<DeploymentResource> => {
    written.push([what, value]);
    return Promise.resolve(object);
  };
  const kube = {
    patchStatus: (_: unknown, _ref: unknown, status: object) => answer('status', status),
    patchJson: (_: unknown, _ref: unknown, patch: object) => answer('patch', patch),
    get: () => Promise.resolve(object),
  } as unknown as Kube;
  const queue = new WorkQueue();
  const done = Promise.withResolvers<void>();
  const controller = new Controller({
    reconciler: { name: 'x', kind: kinds.deployment, cache, ...given },
    queue,
    kube,
    record: (_, note) => told.push(note.reason),
    log: silentLog(),
    workers: 1,
    clock: () => new Date('2026-01-01T00:00:00.123Z'),
    observer: {
      started: () => undefined,
      timedOut: () => undefined,
      panicked: () => results.push('panic'),
      done: (result) => {
        results.push(result);
        if (results.length >= times) done.resolve();
      },
    },
  });
  queue.add('team/chat');
  controller.start();
  await done.promise;
  await controller.stop();
  return { written, told, results };
}

const fine = {
  outcome: buildSettledOutcome('fine', 'Fine'),
  status: { phase: 'READY' as const },
  statements: [],
};
const reconcile = () => Promise.resolve(fine);
const ready = {
  type: 'Ready',
  status: 'True' as const,
  reason: 'Fine',
  message: 'fine',
  lastTransitionTime: '2025-01-01T00:00:00Z',
  observedGeneration: 1,
};

test('a new state is written and told once', async () => {
  const { written, told, results } = await pass(deployment(), { reconcile });
  const status = {
    phase: 'READY',
    observedGeneration: 1,
    conditions: [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }],
  };
  expect(written).toEqual([['status', status]]);
  expect([told, results]).toEqual([['Fine'], ['success']]);
});

test('the same state writes and tells nothing', async () => {
  const status = { phase: 'READY' as const, observedGeneration: 1, conditions: [ready] };
  expect(await pass(deployment({ status }), { reconcile })).toEqual({
    written: [],
    told: [],
    results: ['success'],
  });
});

test('a failure is written too, keeps what was known, and is tried again', async () => {
  const status = { phase: 'READY' as const, url: 'http://x', conditions: [ready] };
  const { written, results } = await pass(deployment({ status }), {
    reconcile: () => Promise.reject(new Unavailable('not now')),
  });
  expect(written).toMatchObject([
    ['status', { phase: 'READY', url: 'http://x', observedGeneration: 1 }],
  ]);
  expect(JSON.stringify(written)).toContain('not now');
  expect(results).toEqual(['error']);
});

test('a race that is lost is told nobody, and run again; one that is lost again and again is', async () => {
  let count = 0;
  const race = () => Promise.reject(new Conflict(`lost ${(count += 1)}`));
  const { written, told, results } = await pass(
    deployment({ status: { phase: 'READY', conditions: [ready] } }),
    { reconcile: race },
  );
  expect([written, told, results]).toEqual([[], [], ['error']]);
  const twice = await pass(deployment(), { reconcile: race }, 2);
  expect(JSON.stringify(twice.written)).toContain('lost 3');
});

test('a message of ours own faults stays in the log', async () => {
  const { written } = await pass(deployment(), {
    reconcile: () => Promise.reject(new Error('password=hunter2')),
  });
  expect(JSON.stringify(written)).not.toContain('hunter2');
});

test('a refusal by the API server stalls the object instead of being tried for ever', async () => {
  const refused = (_: DeploymentResource, { message }: Problem) => ({
    ...fine,
    outcome: buildStalledOutcome('Refused', message),
  });
  const error = new KubeRefused(422, 'spec.x: bad', { reason: 'Invalid', causes: [] });
  const { results, told } = await pass(deployment(), {
    reconcile: () => Promise.reject(error),
    refused,
  });
  expect([results, told]).toEqual([['stalled'], ['Refused']]);
});

test('a paused object is left alone, and its status says so for the present generation', async () => {
  const paused = {
    reconcile: () => Promise.reject(new Error('not to be called')),
    isPaused: () => true,
  };
  const reconciling = { ...ready, type: 'Reconciling' };
  const before = deployment({
    metadata: { generation: 2 },
    status: { phase: 'READY', conditions: [ready, reconciling] },
  });
  const { written, told } = await pass(before, paused);
  const suspended = { type: 'Suspended', status: 'True', observedGeneration: 2 };
  expect(written).toMatchObject([
    ['status', { phase: 'READY', observedGeneration: 2, conditions: [ready, suspended] }],
  ]);
  expect(told).toEqual(['Suspended']);
  const [, status] = written[0] as [string, Status];
  expect(await pass({ ...before, status }, paused)).toMatchObject({ written: [], told: [] });
});

test('one that is paused from its first moment is not ready', async () => {
  const { written } = await pass(deployment(), { reconcile, isPaused: () => true });
  expect(written).toMatchObject([
    [
      'status',
      {
        conditions: [
          { type: 'Ready', status: 'Unknown', reason: 'Suspended' },
          { type: 'Suspended' },
        ],
      },
    ],
  ]);
});

test('the finalizer is there before anything else, beside those of others', async () => {
  const finalizer = { name: 'gx.dev/children', finalize: reconcile };
  const { written } = await pass(deployment({ metadata: { finalizers: ['theirs'] } }), {
    reconcile,
    finalizer,
  });
  expect(written[0]).toMatchObject([
    'patch',
    [{ op: 'test' }, { op: 'add', path: '/metadata/finalizers/-', value: 'gx.dev/children' }],
  ]);
});

test('only our finalizer goes, and only when what it stands for is done', async () => {
  const metadata = {
    deletionTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['theirs', 'gx.dev/children'],
  };
  const finalizer = { name: 'gx.dev/children', finalize: reconcile };
  const { written } = await pass(deployment({ metadata }), { reconcile, finalizer });
  expect(written.at(-1)).toMatchObject([
    'patch',
    [
      { op: 'test', value: 'gx.dev/children' },
      { op: 'remove', path: '/metadata/finalizers/1' },
    ],
  ]);
  const waiting = {
    ...fine,
    outcome: { kind: 'waiting' as const, reason: 'Deleting', message: '' },
  };
  const early = await pass(deployment({ metadata }), {
    reconcile,
    finalizer: { ...finalizer, finalize: () => Promise.resolve(waiting) },
  });
  expect(JSON.stringify(early.written)).not.toContain('remove');
});
