import { describe, expect, test } from 'vitest';
import type { Builder } from '../../../src/config/platform/builder.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { countRevisionSecondsLeft } from '../../../src/operator/revision/deadline.ts';
import { decideRevision } from '../../../src/operator/revision/decide.ts';
import type { RevisionWorld } from '../../../src/operator/revision/world.ts';
import { buildRevisionReport } from '../../../src/operator/revision/status.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../../kit/objects.ts';

const now = new Date('2026-01-01T01:00:00Z');
type Status = NonNullable<ReturnType<typeof revision>['status']>;

const up = (replicas = 1): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'w', generation: 1 },
  spec: { replicas },
  status: {
    observedGeneration: 1,
    replicas,
    updatedReplicas: replicas,
    availableReplicas: replicas,
  },
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
  status: {
    phase: 'Running',
    containerStatuses: [
      { name: 'agent', image: 'i:1', ready: false, started: false, ...container },
    ],
  },
});
const crashedPod = (secondsAgo: number): KubeObject =>
  withStatus({
    restartCount: 3,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: {
      terminated: {
        exitCode: 1,
        finishedAt: new Date(now.getTime() - secondsAgo * 1000).toISOString(),
      },
    },
  });
const readyFor = (seconds: number): KubeObject => ({
  ...readyPod,
  status: {
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        lastTransitionTime: new Date(now.getTime() - seconds * 1000).toISOString(),
      },
    ],
  },
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
const next = (given: Partial<RevisionWorld>, status: Status = {}) =>
  decideRevision({
    revision: revision(deployment(), { status }),
    world: world(given),
    settings: settings(),
  });

test('one that serves waits some seconds for the first report of its server, where there is a gateway', () => {
  const server = { revision: 'chat-00001', version: 'v1', guard: 'key' as const };
  const phaseOf = (
    seconds: number,
    given: Partial<RevisionWorld> = {},
    gateway = true,
  ): unknown => {
    const seen = world({
      api: up(),
      queue: up(),
      hasTraffic: true,
      apiPods: [readyFor(seconds)],
      ...given,
    });
    const more = gateway ? { gateway: { service: 'gateway', namespace: 'gx' } } : {};
    const { phase, again } = decideRevision({
      revision: revision(),
      world: seen,
      settings: settings(more),
    });
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

/** Returns the pods that a decision asks for. */
const podsOf = ({ wish: { api, queue } }: ReturnType<typeof next>): object => ({ api, queue });

describe('a rollout', () => {
  test.each<[string, Partial<RevisionWorld>, object]>([
    [
      'makes no pods before the address of the database is known',
      { databaseReady: false, address: undefined },
      {},
    ],
    [
      'makes no pods without its database beside one that serves',
      { databaseReady: false, deployment: active('chat-00000') },
      {},
    ],
    ['makes all pods at once where nothing serves', {}, { api: 1, queue: 1 }],
    [
      'makes api pods alone beside one that serves, until they are ready',
      { deployment: active('chat-00000'), api: starting() },
      { api: 1 },
    ],
    ['makes no pods once its deployment is gone', { deployment: undefined }, {}],
  ])('%s', (_, given, pods) => {
    expect(podsOf(next(given))).toEqual(pods);
  });

  test('does not hold against its pods that they ended before their database came, and does when they end with it', () => {
    const crashed = { api: starting(), queue: starting(), apiPods: [crashedPod(5)] };
    expect(next({ ...crashed, databaseSince: now.getTime() - 4000 })).toMatchObject({
      phase: 'DEPLOYING',
      message: 'The pods are starting.',
    });
    expect(next({ ...crashed, databaseSince: now.getTime() - 6000 })).toMatchObject({
      phase: 'DEPLOY_FAILED',
      reason: 'CrashLooping',
    });
  });

  test.each<[string, number, object]>([
    ['is given some time', 10, { message: 'The pods are starting.', rolledOut: false, again: 20 }],
    [
      'is told when it is late',
      31,
      { message: 'All pods are ready; traffic is being switched.', rolledOut: true },
    ],
    [
      "is looked for again by the operator's own clock, whatever that of the node says",
      -3600,
      { again: 30 },
    ],
  ])('whose pods are all ready gets traffic, which %s', (_, seconds, expected) => {
    const seen = next({ api: up(), queue: up(), apiPods: [readyFor(seconds)] });
    expect(seen).toMatchObject({ phase: 'DEPLOYING', complete: true, ...expected });
  });

  test('says on what it said of itself until it serves', () => {
    const waits = {
      phase: 'AWAITING_DEPLOY' as const,
      reason: 'DatabaseNotReady',
      message: 'Waiting for the database.',
    };
    const complete = { api: up(), queue: up(), apiPods: [readyFor(10)] };
    expect(next(complete, waits)).toMatchObject({ ...waits, complete: true, again: 20 });
    expect(next({ ...complete, hasTraffic: true }, waits)).toMatchObject({
      phase: 'DEPLOYED',
      rolledOut: true,
    });
    expect(
      next(complete, {
        phase: 'QUEUED',
        message: 'Waiting for the rollout of an earlier revision to end.',
      }),
    ).toMatchObject({
      phase: 'DEPLOYING',
      message: 'The pods are starting.',
    });
  });

  test('fails at its deadline with the reason it waits for, and takes its pods back', () => {
    const late = { startedAt: '2026-01-01T00:00:00Z' };
    expect(next({ databaseReady: false }, late)).toMatchObject({
      phase: 'DEPLOY_FAILED',
      reason: 'DatabaseNotReady',
    });
    const seen = next({ api: starting() }, late);
    expect([seen.reason, podsOf(seen)]).toEqual(['DeadlineExceeded', { api: 0 }]);
  });

  test('has its time under the eyes of an operator: nothing counts while there was none', () => {
    const of = deployment({ spec: { progressDeadlineSeconds: 100 } });
    const given = revision(of, { status: { startedAt: '2026-01-01T00:50:00Z' } });
    const at = (time: string): number => Date.parse(`2026-01-01T00:${time}Z`);
    const left = (...absences: { from: number; to: number }[]): number =>
      countRevisionSecondsLeft({
        revision: given,
        world: world({ deployment: of, absences }),
        settings: settings(),
      });
    expect(left()).toBe(-500);
    expect(
      left({ from: at('40:00'), to: at('50:30') }, { from: at('50:40'), to: at('59:50') }),
    ).toBe(80);
    expect(left({ from: at('51:00'), to: Date.parse('2026-01-01T02:00:00Z') })).toBe(40);
    expect(left({ from: at('30:00'), to: at('40:00') })).toBe(-500);
  });
});

describe('a revision from git', () => {
  const of = deployment(fromGit('main'));
  const built: Status = {
    phase: 'AWAITING_DEPLOY',
    image: 'chat:1',
    startedAt: '2026-01-01T00:00:00Z',
    builtAt: '2026-01-01T00:59:00Z',
  };
  const seen = (
    status: Status,
    { given = {}, builder }: { given?: Partial<RevisionWorld>; builder?: Builder } = {},
  ) => {
    const at = {
      revision: revision(of, { status }),
      world: world({ deployment: of, ...given }),
      settings: settings(builder && { builder }),
    };
    return { ...decideRevision(at), left: countRevisionSecondsLeft(at) };
  };

  test('has the whole time of its rollout from the end of its build on', () => {
    expect(seen(built, { builder: BUILDER })).toMatchObject({ phase: 'DEPLOYING', left: 540 });
  });
  test('gives up its build when its deployment hibernates', () => {
    const given = { deployment: deployment({ ...fromGit('main'), spec: { hibernate: true } }) };
    expect(seen({ phase: 'BUILDING' }, { given, builder: BUILDER })).toMatchObject({
      phase: 'QUEUED',
      build: 'drop',
    });
  });
  test('needs no builder once it is built', () => {
    expect(seen(built).phase).toBe('DEPLOYING');
  });
});

describe('a deployment that hibernates', () => {
  const zero = up(0);

  test('starts its pods again when it wakes: beside a database for which they wait, and after any other', () => {
    const pods = { deployment: active('chat-00001'), api: zero, queue: zero };
    expect(next({ ...pods, databaseReady: false }, { phase: 'DEPLOYED' }).wish).toEqual({
      api: 0,
      queue: 0,
      down: true,
    });
    const address = { secretName: 'db', key: 'uri', authority: 'db-tls' };
    expect(next({ ...pods, address, databaseReady: false }, { phase: 'DEPLOYED' }).wish).toEqual({
      api: 1,
      queue: 1,
    });
    expect(next(pods, { phase: 'DEPLOYED' }).wish).toEqual({ api: 1, queue: 1 });
  });
  test('keeps its pods when the database is lost while it is awake', () => {
    const seen = next(
      { deployment: active('chat-00001'), api: up(), queue: up(), databaseReady: false },
      { phase: 'DEPLOYED' },
    );
    expect(seen.wish).toEqual({ api: 1, queue: 1 });
  });
  test('takes a rollout back to the queue; its deadline does not run', () => {
    const late = { phase: 'DEPLOYING' as const, startedAt: '2026-01-01T00:00:00Z' };
    const seen = next(
      { deployment: deployment({ spec: { hibernate: true } }), api: starting() },
      late,
    );
    expect(seen).toMatchObject({
      phase: 'QUEUED',
      reason: 'Hibernated',
      wish: { api: 0 },
      started: false,
    });
  });
});

test('a revision keeps its pods while it is the one to serve, though the status names another one', () => {
  const seen = next(
    { deployment: active('chat-00099'), isPick: true, api: up(), queue: up() },
    { phase: 'DEPLOYED' },
  );
  expect(seen.wish).toEqual({ api: 1, queue: 1 });
});

test('pods that the database has too few connections for are refused before one is made, and the sentence says how many it takes', () => {
  const of = revision(
    deployment({ template: { resourceSpec: { minScale: 5, dbMaxConnections: 50 } } }),
  );
  expect(decideRevision({ revision: of, world: world(), settings: settings() })).toMatchObject({
    phase: 'CREATE_FAILED',
    reason: 'Refused',
    message: expect.stringMatching(
      /^template.resourceSpec.dbMaxConnections: 50 .* 10 pods.* need 110/,
    ),
  });
});

test('a revision that fails of its database says what the deployment knows of it', () => {
  const message = "The database does not answer yet. The image postgres:0 can't be pulled";
  const at = { lastTransitionTime: '2026-01-01T00:00:00Z' };
  const waiting = deployment({
    status: {
      conditions: [
        { type: 'DatabaseReady', status: 'False', reason: 'DatabaseNotReady', message, ...at },
      ],
    },
  });
  const late = { phase: 'AWAITING_DEPLOY' as const, startedAt: '2026-01-01T00:00:00Z' };
  expect(next({ databaseReady: false, deployment: waiting }, late)).toMatchObject({
    phase: 'DEPLOY_FAILED',
    reason: 'DatabaseNotReady',
    message: `Not ready in time. Waiting for the database. ${message}`,
  });
});

test('a rollout that found room in the end does not blame the quota at its deadline', () => {
  const late = {
    phase: 'DEPLOYING' as const,
    startedAt: '2026-01-01T00:00:00Z',
    reason: 'QuotaExceeded',
    message: 'No room.',
  };
  expect(next({ api: starting(), queue: starting() }, late)).toMatchObject({
    phase: 'DEPLOY_FAILED',
    reason: 'DeadlineExceeded',
  });
});

test('a rollout that was suspended has its whole deadline once it goes on', () => {
  const at = { lastTransitionTime: '2026-01-01T00:30:00Z' };
  const suspended = {
    type: 'Suspended',
    status: 'True' as const,
    reason: 'Suspended',
    message: '',
    ...at,
  };
  const late = { phase: 'DEPLOYING' as const, startedAt: '2026-01-01T00:00:00Z' };
  const status = { ...late, conditions: [suspended] };
  expect(next({ api: starting() }, late)).toMatchObject({ phase: 'DEPLOY_FAILED' });
  expect(next({ api: starting() }, status)).toMatchObject({ phase: 'DEPLOYING' });
  const decision = next({ api: starting() }, status);
  const report = buildRevisionReport(revision(deployment(), { status }), {
    decision,
    world: world(),
    secondsLeft: 1,
    logTail: undefined,
  });
  expect(report.status.startedAt).toBe('2026-01-01T01:00:00Z');
});
