import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import type { BuildWorld } from '../../../../src/operator/revision/build/observe.ts';
import { decideRevision, secondsLeft } from '../../../../src/operator/revision/decide.ts';
import type { RevisionWorld } from '../../../../src/operator/revision/observe.ts';
import { DIGEST } from '../../../kit/fake-kubelet.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../../../kit/objects.ts';
import { stagedStatus } from '../../../kit/status-of-stages.ts';

const now = new Date('2026-01-01T01:00:00Z');
type Status = NonNullable<ReturnType<typeof revision>['status']>;
const of = deployment(fromGit('main'));
const IMAGE = `registry.example/agents/team/chat:chat-00001@${DIGEST}`;

const object = (kind: string, status: object, seconds = 10): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'chat-00001-build', creationTimestamp: new Date(now.getTime() - seconds * 1000).toISOString() },
  status,
});
const pod = (status: object, seconds?: number): BuildWorld => ({ pod: object('Pod', status, seconds), job: undefined });
const job = (status: object, seconds?: number): BuildWorld => ({ pod: undefined, job: object('Job', status, seconds) });
const ended = (reason: string): object => ({ conditions: [{ type: 'Failed', status: 'True', reason }] });
const waiting = (reason: string): object => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'build', image: 'builder:1', state: { waiting: { reason, message: 'not found' } } }],
});
const ends = { push: { image: IMAGE } };

const next = (given: Partial<RevisionWorld>, status: Status = { phase: 'AWAITING_BUILD' }, builder: typeof BUILDER | null = BUILDER) => {
  const world: RevisionWorld = {
    missing: [],
    absences: [],
    deployment: of,
    isForeign: false,
    order: 'go',
    isPick: false,
    hasTraffic: false,
    databaseReady: true,
    databaseSince: undefined,
    connections: 100,
    address: { secretName: 'db', key: 'uri' },
    environment: { secret: 'none' },
    repeated: undefined,
    build: { pod: undefined, job: undefined },
    api: undefined,
    queue: undefined,
    apiPods: [],
    queuePods: [],
    now,
    ...given,
  };
  const situation = { revision: revision(of, { status }), world, settings: settings(builder === null ? {} : { builder }) };
  return { ...decideRevision(situation), left: secondsLeft(situation) };
};

describe('a build', () => {
  test.each<[string, Partial<RevisionWorld>, object]>([
    ['is asked for', {}, { phase: 'AWAITING_BUILD', build: 'make', started: false }],
    ['waits for its pod', { build: job({}) }, { phase: 'AWAITING_BUILD', message: expect.stringContaining('events of Job'), again: 5 }],
    ['waits for its pod to start', { build: pod({ phase: 'Pending' }) }, { phase: 'AWAITING_BUILD', started: false }],
    ['says what its pod waits for', { build: pod(waiting('ImagePullBackOff')) }, { phase: 'AWAITING_BUILD', reason: 'ImagePullFailed' }],
    ['runs', { build: pod(stagedStatus({ running: 'build' })) }, { phase: 'BUILDING', started: true, again: 590 }],
    ['is done', { build: pod(stagedStatus({ succeeded: ends })) }, { phase: 'AWAITING_DEPLOY', image: IMAGE, started: true }],
  ])('%s', (_, given, expected) => {
    expect(next(given)).toMatchObject({ wish: {}, ...expected });
  });

  test.each<[string, BuildWorld, string, string, 'drop' | undefined]>([
    ['ended with a code', pod(stagedStatus({ failed: 'build', message: 'npm ci failed' })), 'BuildFailed', 'npm ci failed', undefined],
    ['named no image', pod(stagedStatus({ succeeded: {} })), 'PushFailed', 'termination message is empty', undefined],
    ['needs more memory', pod(stagedStatus({ failed: 'build', how: 'OOMKilled' })), 'OutOfMemory', 'more memory', undefined],
    ['runs too long', pod(stagedStatus({ running: 'build' }), 700), 'DeadlineExceeded', 'within 600 seconds', 'drop'],
    ['has an image that can not be pulled', pod(waiting('InvalidImageName')), 'ImagePullFailed', "can't be pulled", 'drop'],
    ['was ended by Kubernetes', job(ended('DeadlineExceeded')), 'DeadlineExceeded', 'within 600 seconds', undefined],
    ['lost its pod', job(ended('BackoffLimitExceeded')), 'Interrupted', 'its result is lost', undefined],
    ['never got a pod', job({}, 700), 'DeadlineExceeded', 'events of Job', 'drop'],
  ])('that %s has failed', (...[, build, reason, words, drop]) => {
    const seen = next({ build });
    expect(seen).toMatchObject({ phase: 'BUILD_FAILED', reason, message: expect.stringContaining(words), wish: {} });
    expect(seen.build).toBe(drop);
  });

  test('whose log can be read shows it', () => {
    expect(next({ build: pod(stagedStatus({ failed: 'build' })) }).diagnosis?.log).toEqual({
      pod: 'chat-00001-build',
      container: 'build',
      previous: false,
    });
  });

  test.each<[string, Partial<RevisionWorld>, string]>([
    ['a newer revision came', { order: 'skip' }, 'SKIPPED'],
    ['the deployment hibernates', { deployment: deployment({ ...fromGit('main'), spec: { hibernate: true } }) }, 'QUEUED'],
  ])('is given up when %s', (_, given, phase) => {
    expect(next(given, { phase: 'BUILDING' })).toMatchObject({ phase, build: 'drop' });
    expect(next(given, { phase: 'CREATING' }).build).toBeUndefined();
  });
});

test('the rollout of what was built has its whole time from then on', () => {
  const built: Status = { phase: 'AWAITING_DEPLOY', image: IMAGE, startedAt: '2026-01-01T00:00:00Z', builtAt: '2026-01-01T00:59:00Z' };
  expect(next({}, built)).toMatchObject({ phase: 'DEPLOYING', left: 540 });
});

test('a rollback deploys the very image again, and builds nothing', () => {
  expect(next({ repeated: IMAGE, build: undefined })).toMatchObject({ phase: 'AWAITING_DEPLOY', image: IMAGE });
});

test('without a builder a git revision fails at once, unless it was built before', () => {
  expect(next({}, {}, null)).toMatchObject({ phase: 'BUILD_FAILED', reason: 'BuilderMissing' });
  expect(next({}, { phase: 'DEPLOYING', image: IMAGE }, null).phase).toBe('DEPLOYING');
});
