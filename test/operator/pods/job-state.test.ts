import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { findJobHindrance, deriveJobState } from '../../../src/operator/pods/job-state.ts';

const NOW = new Date('2026-11-29T12:00:00Z');
const OURS = { decides: 'send', others: ['dump', 'copy'], unseen: ['copy'] };
const done = { terminated: { exitCode: 0, reason: 'Completed', message: '{}' } };
const podWith = (phase: string, states: Record<string, object>, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'job-1', namespace: 'team' },
  status: {
    phase,
    ...more,
    containerStatuses: Object.entries(states).map(([name, state]) => ({ name, state })),
  },
});
const stateOf = (pod: KubeObject): object =>
  deriveJobState(pod, OURS, { now: NOW, work: 'the backup' });
const killed = (finishedAt: string): object => ({
  terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt },
});

test.each<[string, KubeObject, object]>([
  [
    'its sender has ended beside a mesh',
    podWith('Running', { send: done, mesh: { running: {} } }),
    { is: 'ended' },
  ],
  [
    'a container of others was killed',
    podWith('Running', { send: { running: {} }, mesh: killed('2026-11-29T11:00:00Z') }),
    { is: 'under-way' },
  ],
  [
    'a container of others lacks its Secret',
    podWith('Pending', {
      send: { running: {} },
      mesh: { waiting: { reason: 'CreateContainerConfigError', message: 'no secret' } },
    }),
    { is: 'under-way' },
  ],
  [
    'one of ours lacks its Secret',
    podWith('Pending', {
      dump: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "x" not found' } },
    }),
    { is: 'incomplete', message: 'secret "x" not found' },
  ],
  [
    'its copier was killed a moment ago',
    podWith('Running', { copy: killed('2026-11-29T11:59:30Z') }),
    { is: 'under-way' },
  ],
  [
    'its copier was killed a minute ago',
    podWith('Running', { copy: killed('2026-11-29T11:58:59Z') }),
    { is: 'lost', killed: 'copy' },
  ],
  [
    'its node gave it up',
    podWith('Failed', {}, { reason: 'Evicted', message: 'low on disk' }),
    { is: 'lost' },
  ],
])('a Job is judged by our own containers where %s', (_, pod, expected) => {
  expect(stateOf(pod)).toMatchObject(expected);
});

const event = (
  note: string,
  at: string,
  type = 'Warning',
): KubeObject & { note: string; type: string } => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: 'e' },
  type,
  note,
  deprecatedLastTimestamp: at,
});

test('a Job without a pod quotes its newest warning', () => {
  const account =
    'Error creating: pods "x-" is forbidden: error looking up service account team/builder: serviceaccount "builder" not found';
  const quota =
    'Error creating: pods "x-abc" is forbidden: exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4';
  const [early, late] = ['2026-11-29T11:00:00Z', '2026-11-29T11:01:00Z'];
  expect(findJobHindrance([event(account, late), event(quota, early)], 'x')).toMatchObject({
    reason: 'Refused',
    message: expect.stringContaining(account),
  });
  expect(findJobHindrance([event(account, early), event(quota, late)], 'x')).toMatchObject({
    reason: 'QuotaExceeded',
    message: `The namespace's quota leaves no room for a pod: ${quota}`,
  });
  expect(findJobHindrance([event('Created pod: x-abc', late, 'Normal')], 'x').message).toContain(
    'no event of it says why',
  );
});
