import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { decideRevision, secondsLeft } from '../../../src/operator/revision/decide.ts';
import type { RevisionWorld } from '../../../src/operator/revision/observe.ts';
import { revisionReport } from '../../../src/operator/revision/status.ts';
import { hashOf } from '../../../src/schema/platform/revision-of.ts';
import { deployment, revision, settings } from '../../kit/objects.ts';

const now = new Date('2026-01-01T01:00:00Z');
type Status = NonNullable<ReturnType<typeof revision>['status']>;

const up = (replicas = 1): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'w', generation: 1 },
  spec: { replicas },
  status: { observedGeneration: 1, replicas, updatedReplicas: replicas, availableReplicas: replicas },
});
const starting = (): KubeObject => ({ ...up(), status: {} });
const readyPod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'w-1' },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

const withStatus = (container: object): KubeObject => ({
  ...readyPod,
  metadata: { name: 'w-1', creationTimestamp: new Date(now.getTime() - 5000).toISOString() },
  status: { phase: 'Running', containerStatuses: [{ name: 'agent', image: 'i:1', ready: false, started: false, ...container }] },
});
const runningPod = withStatus({ state: { running: {} } });
const crashedPod = (secondsAgo: number): KubeObject =>
  withStatus({
    restartCount: 3,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 1, finishedAt: new Date(now.getTime() - secondsAgo * 1000).toISOString() } },
  });
const unpulledPod = withStatus({ state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } });

const readyFor = (seconds: number): KubeObject => ({
  ...readyPod,
  status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(now.getTime() - seconds * 1000).toISOString() }] },
});

const world = (given: Partial<RevisionWorld> = {}): RevisionWorld => ({
  deployment: deployment(),
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
  missing: [],
  absences: [],
  build: undefined,
  api: undefined,
  queue: undefined,
  apiPods: [readyPod],
  queuePods: [],
  now,
  ...given,
});
const next = (given: Partial<RevisionWorld>, status: Status = {}, metadata: object = {}) => {
  const of = revision(deployment(), { status });
  return decideRevision({ revision: { ...of, metadata: { ...of.metadata, ...metadata } }, world: world(given), settings: settings() });
};
test('one that serves waits some seconds for the first report of its server, where there is a gateway', () => {
  const server = { revision: 'chat-00001', version: 'v1', guard: 'key' as const };
  const phaseOf = (seconds: number, given: Partial<RevisionWorld> = {}, gateway = true): unknown => {
    const seen = world({ api: up(), queue: up(), hasTraffic: true, apiPods: [readyFor(seconds)], ...given });
    const more = gateway ? { gateway: { service: 'gateway', namespace: 'gx' } } : {};
    const { phase, again } = decideRevision({ revision: revision(), world: seen, settings: settings(more) });
    return [phase, again];
  };
  expect(phaseOf(2)).toEqual(['DEPLOYING', 3]);
  expect(phaseOf(5)).toEqual(['DEPLOYED', undefined]);
  expect(phaseOf(2, { server })).toEqual(['DEPLOYED', undefined]);
  expect(phaseOf(2, {}, false)).toEqual(['DEPLOYED', undefined]);
  // The clock of a node may be ahead.
  expect(phaseOf(-3600)).toEqual(['DEPLOYED', undefined]);
});

const active = (name: string) => deployment({ status: { activeRevision: name } });

describe('a rollout', () => {
  test.each<[string, Partial<RevisionWorld>, object]>([
    [
      'waits for the database that all its pods start beside, where nothing serves',
      { databaseReady: false, api: starting(), queue: starting(), apiPods: [runningPod] },
      { phase: 'AWAITING_DEPLOY', reason: 'DatabaseNotReady', wish: { api: 1, queue: 1 } },
    ],
    [
      'tells at once what keeps its pods from waiting with it',
      { databaseReady: false, api: starting(), queue: starting(), apiPods: [unpulledPod] },
      { phase: 'DEPLOYING', reason: 'ImagePullFailed', wish: { api: 1, queue: 1 } },
    ],
    [
      'does not hold against its pods that they ended without their database',
      { databaseReady: false, api: starting(), queue: starting(), apiPods: [crashedPod(5)] },
      { phase: 'AWAITING_DEPLOY', reason: 'DatabaseNotReady' },
    ],
    [
      'nor that they have, once it is there',
      { databaseSince: now.getTime() - 4000, api: starting(), queue: starting(), apiPods: [crashedPod(5)] },
      { phase: 'DEPLOYING', message: 'The pods are starting.' },
    ],
    [
      'holds it against them when they end with it',
      { databaseSince: now.getTime() - 6000, api: starting(), queue: starting(), apiPods: [crashedPod(5)] },
      { phase: 'DEPLOY_FAILED', reason: 'CrashLooping' },
    ],
    [
      'makes no pod before the address of the database is known',
      { databaseReady: false, address: undefined },
      { phase: 'AWAITING_DEPLOY', reason: 'DatabaseNotReady', wish: {} },
    ],
    [
      'makes no pod without its database beside one that serves',
      { databaseReady: false, deployment: active('chat-00000') },
      { phase: 'AWAITING_DEPLOY', reason: 'DatabaseNotReady', wish: {} },
    ],
    [
      'is not complete without its database',
      { databaseReady: false, api: up(), queue: up() },
      { phase: 'AWAITING_DEPLOY', reason: 'DatabaseNotReady', rolledOut: false },
    ],
    ['waits for its Secret', { environment: { secret: 'missing' } }, { phase: 'AWAITING_DEPLOY', reason: 'SecretMissing', wish: {} }],
    ['starts all pods at once where nothing serves', {}, { phase: 'DEPLOYING', wish: { api: 1, queue: 1 }, rolledOut: false }],
    [
      'starts with the api pods beside one that serves',
      { deployment: active('chat-00000') },
      { phase: 'DEPLOYING', wish: { api: 1 }, rolledOut: false },
    ],
    [
      'keeps to the api pods until they are ready',
      { deployment: active('chat-00000'), api: starting() },
      { phase: 'DEPLOYING', wish: { api: 1 } },
    ],
    ['goes on with the queue pods', { api: up() }, { phase: 'DEPLOYING', wish: { api: 1, queue: 1 }, rolledOut: false }],
    [
      'waits until a ready api pod is seen',
      { deployment: active('chat-00000'), api: up(), apiPods: [] },
      { phase: 'DEPLOYING', wish: { api: 1 }, rolledOut: false },
    ],
    [
      'is complete when both are ready, and lets the deployment send traffic before it says so',
      { api: up(), queue: up(), apiPods: [readyFor(10)] },
      { phase: 'DEPLOYING', message: 'The pods are starting.', complete: true, rolledOut: false, again: 20 },
    ],
    [
      'tells when traffic is late',
      { api: up(), queue: up(), apiPods: [readyFor(31)] },
      { phase: 'DEPLOYING', message: 'All pods are ready; traffic is being switched.', complete: true, rolledOut: true },
    ],
    [
      'looks again by its own clock, whatever that of the node says',
      { api: up(), queue: up(), apiPods: [readyFor(-3600)] },
      { phase: 'DEPLOYING', complete: true, again: 30 },
    ],
    ['is deployed when it serves', { api: up(), queue: up(), hasTraffic: true }, { phase: 'DEPLOYED', rolledOut: true }],
    ['waits its turn', { order: 'wait' }, { phase: 'QUEUED', started: false }],
    ['is skipped when a newer one came', { order: 'skip' }, { phase: 'SKIPPED' }],
    ['does nothing once its deployment is gone', { deployment: undefined }, { wish: {} }],
  ])('%s', (_, given, expected) => {
    expect(next(given)).toMatchObject(expected);
  });

  test('says on what it said of itself until it serves', () => {
    const waits = { phase: 'AWAITING_DEPLOY' as const, reason: 'DatabaseNotReady', message: 'Waiting for the database.' };
    const complete = { api: up(), queue: up(), apiPods: [readyFor(10)] };
    expect(next(complete, waits)).toMatchObject({ ...waits, complete: true, again: 20 });
    expect(next({ ...complete, hasTraffic: true }, waits)).toMatchObject({ phase: 'DEPLOYED', rolledOut: true });
    expect(next(complete, { phase: 'QUEUED', message: 'Waiting for the rollout of an earlier revision to end.' })).toMatchObject({
      phase: 'DEPLOYING',
      message: 'The pods are starting.',
    });
  });

  test('fails at its deadline with the reason it waits for, and takes its pods back', () => {
    const late = { startedAt: '2026-01-01T00:00:00Z' };
    expect(next({ databaseReady: false }, late)).toMatchObject({ phase: 'DEPLOY_FAILED', reason: 'DatabaseNotReady', wish: {} });
    expect(next({ api: starting() }, late)).toMatchObject({ phase: 'DEPLOY_FAILED', reason: 'DeadlineExceeded', wish: { api: 0 } });
  });

  test('has as long as the deployment says, counted from its start', () => {
    const of = deployment({ spec: { progressDeadlineSeconds: 100 } });
    const given = revision(of, { status: { startedAt: '2026-01-01T00:59:30Z' } });
    expect(secondsLeft({ revision: given, world: world({ deployment: of }), settings: settings() })).toBe(70);
  });

  test('has its time under the eyes of an operator: nothing counts while there was none', () => {
    const of = deployment({ spec: { progressDeadlineSeconds: 100 } });
    const given = revision(of, { status: { startedAt: '2026-01-01T00:50:00Z' } });
    const at = (time: string): number => Date.parse(`2026-01-01T00:${time}Z`);
    const left = (...absences: { from: number; to: number }[]): number =>
      secondsLeft({ revision: given, world: world({ deployment: of, absences }), settings: settings() });
    expect(left()).toBe(-500);
    expect(left({ from: at('40:00'), to: at('50:30') }, { from: at('50:40'), to: at('59:50') })).toBe(80);
    expect(left({ from: at('51:00'), to: Date.parse('2026-01-01T02:00:00Z') })).toBe(40);
    expect(left({ from: at('30:00'), to: at('40:00') })).toBe(-500);
  });

  test('is interrupted on request', () => {
    const annotated = { annotations: { 'gx.dev/interrupt': 'now' } };
    expect(next({ api: up() }, {}, annotated)).toMatchObject({ phase: 'INTERRUPTED', wish: { api: 0 } });
    expect(next({ api: up(), queue: up() }, { phase: 'DEPLOYED' }, annotated).phase).toBe('DEPLOYED');
  });
});

describe('a deployment that hibernates', () => {
  const asleep = (activeRevision?: string) =>
    deployment({ spec: { hibernate: true }, status: { ...(activeRevision !== undefined && { activeRevision }) } });
  const zero = up(0);

  test('stops the pods of the revision that serves, which stays the deployed one', () => {
    const seen = next({ deployment: asleep('chat-00001'), api: up(), queue: up() }, { phase: 'DEPLOYED' });
    expect(seen).toMatchObject({ phase: 'DEPLOYED', rolledOut: true, wish: { api: 0, queue: 0 } });
  });
  test('starts them again when it wakes: beside a database for which they wait, and after any other', () => {
    const pods = { deployment: active('chat-00001'), api: zero, queue: zero };
    expect(next({ ...pods, databaseReady: false }, { phase: 'DEPLOYED' }).wish).toEqual({ api: 0, queue: 0, down: true });
    const address = { secretName: 'db', key: 'uri', authority: 'db-tls' };
    expect(next({ ...pods, address, databaseReady: false }, { phase: 'DEPLOYED' }).wish).toEqual({ api: 1, queue: 1 });
    expect(next(pods, { phase: 'DEPLOYED' }).wish).toEqual({ api: 1, queue: 1 });
  });
  test('keeps its pods when the database is lost while it is awake', () => {
    const seen = next({ deployment: active('chat-00001'), api: up(), queue: up(), databaseReady: false }, { phase: 'DEPLOYED' });
    expect(seen.wish).toEqual({ api: 1, queue: 1 });
  });
  test('takes a rollout back to the queue; its deadline does not run', () => {
    const late = { phase: 'DEPLOYING' as const, startedAt: '2026-01-01T00:00:00Z' };
    const seen = next({ deployment: asleep(), api: starting() }, late);
    expect(seen).toMatchObject({ phase: 'QUEUED', reason: 'Hibernated', wish: { api: 0 }, started: false });
    expect(next({ deployment: asleep(), order: 'skip' }).phase).toBe('SKIPPED');
  });
});

test('one that is tried out stops with a deployment that sleeps, keeps its phase, and starts again with it', () => {
  const candidate = { revision: 'chat-00001', step: 1, share: 50, by: 'thread' as const, since: '2026-01-01T00:00:00Z' };
  const deploymentOf = (asleepSince?: string) =>
    deployment({ status: { activeRevision: 'chat-00000', ...(asleepSince !== undefined && { asleepSince }) } });
  const late = { phase: 'DEPLOYING' as const, startedAt: '2026-01-01T00:00:00Z' };
  const given = { candidate, isTriedOut: true, api: up(), queue: up() };
  expect(next({ ...given, deployment: deploymentOf('2026-01-02T00:00:00Z') }, late)).toMatchObject({
    phase: 'DEPLOYING',
    reason: 'Asleep',
    message: 'Its pods are stopped while the deployment sleeps. It keeps 50 % of the new threads.',
    wish: { api: 0, queue: 0 },
    rolledOut: false,
  });
  expect(next({ ...given, api: up(0), queue: up(0), deployment: deploymentOf() }, late)).toMatchObject({
    phase: 'DEPLOYING',
    wish: { api: 1 },
  });
});

describe('a revision that is over', () => {
  test('serves on with all its pods', () => {
    expect(next({ deployment: active('chat-00001') }, { phase: 'DEPLOYED' })).toMatchObject({
      wish: { api: 1, queue: 1 },
      rolledOut: true,
    });
  });
  test('goes to zero once another one serves', () => {
    const seen = next({ deployment: active('chat-00002'), api: up(), queue: up() }, { phase: 'DEPLOYED' });
    expect(seen).toMatchObject({ phase: 'DEPLOYED', wish: { api: 0, queue: 0 } });
  });
  test('keeps its pods while it is the one to serve, though the status names another one', () => {
    const seen = next({ deployment: active('chat-00099'), isPick: true, api: up(), queue: up() }, { phase: 'DEPLOYED' });
    expect(seen).toMatchObject({ wish: { api: 1, queue: 1 } });
  });
  test('failed, makes no pods again', () => {
    expect(next({}, { phase: 'DEPLOY_FAILED', reason: 'OOMKilled' })).toMatchObject({
      phase: 'DEPLOY_FAILED',
      reason: 'OOMKilled',
      wish: {},
    });
  });
});

test('a changed spec is refused, also inside free-form parts', () => {
  const mounted = (context: object) =>
    revision(deployment({ template: { resourceSpec: { sidecars: [{ name: 's', image: 'i', securityContext: context }] } } }));
  const before = mounted({ runAsUser: 0 });
  const after = { ...mounted({ privileged: true }), status: { specHash: hashOf(before.spec), phase: 'DEPLOYED' as const } };
  const seen = decideRevision({ revision: after, world: world({ api: up(), queue: up() }), settings: settings() });
  expect(seen).toMatchObject({ phase: 'DEPLOYED', reason: 'SpecChanged', wish: {} });
});

test('pods that the database has too few connections for are refused before one is made, and the sentence says how many it takes', () => {
  const of = revision(deployment({ template: { resourceSpec: { minScale: 5, dbMaxConnections: 50 } } }));
  expect(decideRevision({ revision: of, world: world(), settings: settings() })).toMatchObject({
    phase: 'CREATE_FAILED',
    reason: 'Refused',
    message: expect.stringMatching(/^template.resourceSpec.dbMaxConnections: 50 .* 10 pods.* need 110/),
    wish: {},
  });
});

test('a revision that fails of its database says what the deployment knows of it', () => {
  const message = "The database does not answer yet. The image postgres:0 can't be pulled";
  const at = { lastTransitionTime: '2026-01-01T00:00:00Z' };
  const waiting = deployment({
    status: { conditions: [{ type: 'DatabaseReady', status: 'False', reason: 'DatabaseNotReady', message, ...at }] },
  });
  const late = { phase: 'AWAITING_DEPLOY' as const, startedAt: '2026-01-01T00:00:00Z' };
  expect(next({ databaseReady: false, deployment: waiting }, late)).toMatchObject({
    phase: 'DEPLOY_FAILED',
    reason: 'DatabaseNotReady',
    message: `Not ready in time. Waiting for the database. ${message}`,
  });
});

test('a rollout that a quota kept from one of its workloads until its deadline ends with the words of the quota', () => {
  const late = { phase: 'DEPLOYING' as const, startedAt: '2026-01-01T00:00:00Z', reason: 'QuotaExceeded', message: 'No room.' };
  const ended = { phase: 'DEPLOY_FAILED', reason: 'QuotaExceeded', message: 'Not ready in time. No room.' };
  expect(next({}, late)).toMatchObject(ended);
  expect(next({ api: up() }, late)).toMatchObject(ended);
  // There was room in the end, and then something else happened.
  expect(next({ api: starting(), queue: starting() }, late)).toMatchObject({ phase: 'DEPLOY_FAILED', reason: 'DeadlineExceeded' });
});

test('a rollout that was suspended has its whole deadline once it goes on', () => {
  const at = { lastTransitionTime: '2026-01-01T00:30:00Z' };
  const suspended = { type: 'Suspended', status: 'True' as const, reason: 'Suspended', message: '', ...at };
  const late = { phase: 'DEPLOYING' as const, startedAt: '2026-01-01T00:00:00Z' };
  const status = { ...late, conditions: [suspended] };
  expect(next({ api: starting() }, late)).toMatchObject({ phase: 'DEPLOY_FAILED' });
  expect(next({ api: starting() }, status)).toMatchObject({ phase: 'DEPLOYING' });
  const decision = next({ api: starting() }, status);
  const report = revisionReport(revision(deployment(), { status }), { decision, world: world(), secondsLeft: 1, logTail: undefined });
  expect(report.status.startedAt).toBe('2026-01-01T01:00:00Z');
});
