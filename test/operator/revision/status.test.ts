import { describe, expect, test } from 'vitest';
import { Denied, KubeRefused } from '../../../src/kube/errors.ts';
import type { Decision } from '../../../src/operator/revision/decision.ts';
import type { RevisionWorld } from '../../../src/operator/revision/observe.ts';
import { refusedRevision, revisionReport } from '../../../src/operator/revision/status.ts';
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
  turn: 'go',
  databaseReady: true,
  databaseSince: undefined,
  address: { secretName: 'db', key: 'uri' },
  environment: { secret: 'ready', name: 'env' },
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
  return revisionReport(of, { decision: decided(given), world: world(now), secondsLeft: 100, logTail: undefined });
};

test('times, hash, Secret and digest are written once', () => {
  const first = told({ rolledOut: true, phase: 'DEPLOYED' }).status;
  expect(first).toMatchObject({
    startedAt: '2026-01-02T00:00:00Z',
    endedAt: '2026-01-02T00:00:00Z',
    secretName: 'env',
    imageDigest: DIGEST,
  });
  const later = told({ rolledOut: true, phase: 'DEPLOYED' }, { ...first, imageDigest: 'sha256:first' }, '2026-02-02T00:00:00Z').status;
  expect(later).toEqual({ ...first, imageDigest: 'sha256:first' });
});

test.each<[string, Partial<Decision>, object]>([
  ['under way, it looks again at its deadline', {}, { kind: 'waiting', reason: 'RollingOut', after: 100 }],
  ['without its Secret, it looks again soon', { reason: 'SecretMissing' }, { kind: 'waiting', after: 5 }],
  ['queued, it waits to be woken', { phase: 'QUEUED', started: false }, { kind: 'waiting' }],
  ['deployed, it is settled', { phase: 'DEPLOYED', rolledOut: true }, { kind: 'settled', reason: 'Deployed' }],
  ['skipped, it is settled', { phase: 'SKIPPED' }, { kind: 'settled', reason: 'Skipped' }],
  ['failed, it is stalled', { phase: 'DEPLOY_FAILED', reason: 'OOMKilled' }, { kind: 'stalled', reason: 'OOMKilled' }],
  ['changed, it is stalled though it serves', { phase: 'DEPLOYED', reason: 'SpecChanged' }, { kind: 'stalled', reason: 'SpecChanged' }],
])('%s', (_, given, outcome) => {
  expect(told(given).outcome).toMatchObject(outcome);
});

describe('a refused object', () => {
  const now = new Date('2026-01-02T00:00:00Z');
  const invalid = new KubeRefused(422, 'spec.replicas: no', { reason: 'Invalid', causes: [] });
  const full = new Denied('deployments.apps "x" is forbidden: exceeded quota: q');
  const policy = new Denied("ValidatingAdmissionPolicy 'p' denied request: no");
  const after = (phase: Status['phase']) => revision(deployment(), { status: { ...(phase && { phase }) } });

  test.each([
    ['refused before a workload is there', 'CREATE_FAILED', invalid, false, 'Refused'],
    ['beyond a quota before a workload is there', 'CREATE_FAILED', full, false, 'QuotaExceeded'],
    ['against a policy before a workload is there', 'CREATE_FAILED', policy, false, 'Refused'],
    ['refused when there is a workload', 'DEPLOY_FAILED', invalid, true, 'Refused'],
    ['beyond a quota when there is a workload', 'DEPLOY_FAILED', full, true, 'QuotaExceeded'],
  ] as const)('%s ends the revision as %s', (...[, phase, refusal, isMade, reason]) => {
    const report = refusedRevision(after('AWAITING_DEPLOY'), { refusal, isMade, now });
    expect(report?.status).toMatchObject({
      phase,
      reason,
      message: expect.stringContaining(refusal.message),
      endedAt: '2026-01-02T00:00:00Z',
    });
    expect(report?.outcome).toMatchObject({ kind: 'stalled', reason });
  });

  test('leaves a deployed revision deployed; what a quota has no room for is tried again', () => {
    expect(refusedRevision(after('DEPLOYED'), { refusal: invalid, isMade: true, now })?.status.phase).toBe('DEPLOYED');
    expect(refusedRevision(after('DEPLOYED'), { refusal: full, isMade: true, now })).toBeUndefined();
  });
});
