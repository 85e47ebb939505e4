import { expect, test } from 'vitest';
import type { Decision } from '../../../src/operator/revision/decision.ts';
import type { RevisionWorld } from '../../../src/operator/revision/world.ts';
import { buildRevisionReport } from '../../../src/operator/revision/status.ts';
import { DIGEST } from '../../kit/fake-kubelet.ts';
import { deployment, revision } from '../../kit/objects.ts';

type Status = NonNullable<ReturnType<typeof revision>['status']>;

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  status: { containerStatuses: [{ name: 'agent', imageID: `docker.io/library/agent@${DIGEST}` }] },
};
const world = (now: string): RevisionWorld => ({
  deployment: deployment(),
  isForeign: false,
  isPick: false,
  hasTraffic: false,
  order: 'go',
  databaseReady: true,
  databaseSince: undefined,
  connections: 100,
  address: { secretName: 'db', key: 'uri' },
  environment: { secret: 'none' },
  repeated: undefined,
  missing: [],
  absences: [],
  build: undefined,
  api: undefined,
  queue: undefined,
  apiPods: [pod],
  queuePods: [],
  now: new Date(now),
});
const decided = (given: Partial<Decision>): Decision => ({
  phase: 'DEPLOYING',
  message: 'm',
  wish: {},
  started: true,
  rolledOut: false,
  ...given,
});
const told = (given: Partial<Decision>, status: Status = {}, now = '2026-01-02T00:00:00Z') => {
  const of = revision(deployment(), { status });
  return buildRevisionReport(of, {
    decision: decided(given),
    world: world(now),
    secondsLeft: 100,
    secretName: 'env',
    logTail: undefined,
  });
};

test('times, hash, Secret and digest are written once', () => {
  const first = told({ rolledOut: true, phase: 'DEPLOYED' }).status;
  expect(first).toMatchObject({
    startedAt: '2026-01-02T00:00:00Z',
    endedAt: '2026-01-02T00:00:00Z',
    secretName: 'env',
    imageDigest: DIGEST,
  });
  const later = told(
    { rolledOut: true, phase: 'DEPLOYED' },
    { ...first, imageDigest: 'sha256:first' },
    '2026-02-02T00:00:00Z',
  ).status;
  expect(later).toEqual({ ...first, imageDigest: 'sha256:first' });
});

test.each<[string, Partial<Decision>, object]>([
  [
    'under way, it looks again at its deadline',
    {},
    { kind: 'waiting', reason: 'RollingOut', after: 100 },
  ],
  [
    'without its Secret, it looks again soon',
    { reason: 'SecretMissing' },
    { kind: 'waiting', after: 5 },
  ],
  ['queued, it waits to be woken', { phase: 'QUEUED', started: false }, { kind: 'waiting' }],
  [
    'deployed, it is settled',
    { phase: 'DEPLOYED', rolledOut: true },
    { kind: 'settled', reason: 'Deployed' },
  ],
  ['skipped, it is settled', { phase: 'SKIPPED' }, { kind: 'settled', reason: 'Skipped' }],
  [
    'failed, it is stalled',
    { phase: 'DEPLOY_FAILED', reason: 'OOMKilled' },
    { kind: 'stalled', reason: 'OOMKilled' },
  ],
  [
    'changed, it is stalled though it serves',
    { phase: 'DEPLOYED', reason: 'SpecChanged' },
    { kind: 'stalled', reason: 'SpecChanged' },
  ],
])('%s', (_, given, outcome) => {
  expect(told(given).outcome).toMatchObject(outcome);
});
