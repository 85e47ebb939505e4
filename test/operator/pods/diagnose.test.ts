import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { findWorstDiagnosis } from '../../../src/operator/pods/diagnose.ts';

const now = Date.parse('2026-01-01T00:10:00Z');
const patience = { now, imagePullSeconds: 60 };

const pod = (status: object, created = '2026-01-01T00:09:50Z'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', creationTimestamp: created },
  status,
});
const container = (given: object): object => ({
  containerStatuses: [{ name: 'agent', image: 'a:1', restartCount: 0, ready: false, ...given }],
});
const waitingFor = (reason: string, more: object = {}): object =>
  container({ state: { waiting: { reason, message: 'why' } }, ...more });
const ended = (exitCode: number, restartCount: number, reason = 'Error'): object =>
  waitingFor('CrashLoopBackOff', { restartCount, lastState: { terminated: { exitCode, reason } } });

test.each<[string, KubeObject, object]>([
  [
    'an image that just can not be pulled',
    pod(waitingFor('ImagePullBackOff')),
    { reason: 'ImagePullFailed', final: false, again: 51 },
  ],
  [
    'an image that stays away',
    pod(waitingFor('ErrImagePull'), '2026-01-01T00:00:00Z'),
    { reason: 'ImagePullFailed', final: true },
  ],
  [
    'a name that is no image',
    pod(waitingFor('InvalidImageName')),
    { reason: 'ImagePullFailed', final: true },
  ],
  [
    'a Secret that is missing',
    pod(waitingFor('CreateContainerConfigError')),
    { reason: 'SecretMissing', final: false },
  ],
  [
    'an image that would run as root',
    pod(
      container({
        state: {
          waiting: {
            reason: 'CreateContainerConfigError',
            message: 'container has runAsNonRoot and image will run as root',
          },
        },
      }),
    ),
    {
      reason: 'Refused',
      final: true,
      message: 'Container agent may not run: container has runAsNonRoot and image will run as root',
    },
  ],
  [
    'a command that is not in the image',
    pod(waitingFor('RunContainerError')),
    { reason: 'CrashLooping', message: "Container agent can't be started: why" },
  ],
  [
    'the same a while later',
    pod(
      waitingFor('CrashLoopBackOff', {
        restartCount: 3,
        lastState: { terminated: { exitCode: 128, reason: 'StartError', message: 'no such file' } },
      }),
    ),
    {
      reason: 'CrashLooping',
      final: true,
      message: "Container agent can't be started: no such file",
    },
  ],
  [
    'a server that ends well again and again',
    pod(ended(0, 3, 'Completed')),
    { reason: 'CrashLooping', final: true, message: expect.stringContaining('exit code 0') },
  ],
  [
    'a volume that is not there',
    pod(waitingFor('ContainerCreating')),
    { reason: 'DeadlineExceeded', final: false, early: 10 },
  ],
  [
    'a node that gives the pod up',
    pod({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' }),
    { reason: 'Unschedulable', message: 'The node ended the pod (Evicted): low on memory' },
  ],
  ['a first crash', pod(ended(1, 1)), { reason: 'CrashLooping', final: false }],
  [
    'crashes again and again',
    pod(ended(1, 3)),
    { reason: 'CrashLooping', final: true, log: { pod: 'p', container: 'agent', previous: true } },
  ],
  [
    'a database of another version than its volume',
    pod(
      waitingFor('CrashLoopBackOff', {
        name: 'postgres',
        restartCount: 3,
        lastState: {
          terminated: {
            exitCode: 1,
            reason: 'Error',
            message: 'LOG: starting\nFATAL: incompatible\nDETAIL: initialized by 16.\n',
          },
        },
      }),
    ),
    {
      message:
        'Container postgres ends with exit code 1 again and again: FATAL: incompatible DETAIL: initialized by 16.',
    },
  ],
  [
    'a database whose image is for another processor',
    pod(
      waitingFor('CrashLoopBackOff', {
        name: 'postgres',
        restartCount: 3,
        lastState: {
          terminated: {
            exitCode: 255,
            reason: 'Error',
            message: 'exec /usr/local/bin/gx-postgres: exec format error\n',
          },
        },
      }),
    ),
    {
      message: expect.stringMatching(
        /^Container postgres ends with exit code 255 again and again: exec .*: exec format error\. The image is for another processor than that of the node: build it for both/,
      ) as string,
    },
  ],
  ['too little memory', pod(ended(137, 3, 'OOMKilled')), { reason: 'OOMKilled', final: true }],
  [
    'a database that can not be migrated',
    pod(ended(3, 3)),
    { reason: 'MigrationFailed', final: true },
  ],
  [
    'a probe without an answer',
    pod(container({ state: { running: {} } })),
    { reason: 'ProbeFailed', final: false, early: 10 },
  ],
  [
    'no node with room',
    pod({
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' },
      ],
    }),
    { reason: 'Unschedulable', final: false },
  ],
])('%s', (_, given, expected) => {
  expect(findWorstDiagnosis(undefined, [given], patience)).toMatchObject(expected);
});

test('pods that need time, are ready, or are going have nothing wrong', () => {
  const going = pod(ended(1, 9));
  going.metadata.deletionTimestamp = 'x';
  const ready = pod(container({ ready: true, state: { running: {} } }));
  expect(findWorstDiagnosis(undefined, [pod({}), ready, going], patience)).toBeUndefined();
});

test.each([
  ['pods "x" is forbidden: exceeded quota: small', 'QuotaExceeded'],
  ['violates PodSecurity "restricted:latest"', 'Refused'],
])('pods that were never made: %s', (message, reason) => {
  const status = { conditions: [{ type: 'ReplicaFailure', status: 'True', message }] };
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'w' }, status };
  expect(findWorstDiagnosis(workload, [], patience)).toMatchObject({ reason, final: false });
});

test('what is final is told before what may pass', () => {
  expect(
    findWorstDiagnosis(
      undefined,
      [pod(waitingFor('CreateContainerConfigError')), pod(ended(1, 5))],
      patience,
    )?.reason,
  ).toBe('CrashLooping');
});

test.each([[3], [4]])(
  'exit code %i has its meaning in the language of the server alone, not of a sidecar',
  (code) => {
    const lastState = { terminated: { exitCode: code, reason: 'Error' } };
    const status = waitingFor('CrashLoopBackOff', { name: 'proxy', restartCount: 3, lastState });
    expect(findWorstDiagnosis(undefined, [pod(status)], patience)).toMatchObject({
      reason: 'CrashLooping',
      final: true,
    });
  },
);

test('an init container that does not end is told as such, and what waits for it is not', () => {
  const waiting = waitingFor('PodInitializing') as { containerStatuses: object[] };
  const init = (state: object) =>
    pod({
      ...waiting,
      initContainerStatuses: [{ name: 'fetch', ready: false, restartCount: 0, state }],
    });
  expect(findWorstDiagnosis(undefined, [init({ running: {} })], patience)).toMatchObject({
    reason: 'DeadlineExceeded',
    message: expect.stringContaining('Init container fetch is running'),
  });
  expect(
    findWorstDiagnosis(undefined, [init({ waiting: { reason: 'PodInitializing' } })], patience)
      ?.message,
  ).toContain('Container fetch waits for a volume');
});

test('a pod that took the place of one that a node gave up is asked first', () => {
  const gone = pod({ phase: 'Failed', reason: 'Evicted' });
  expect(findWorstDiagnosis(undefined, [gone, pod(ended(1, 1))], patience)?.reason).toBe(
    'CrashLooping',
  );
});
