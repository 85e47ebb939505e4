import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/kube/kube.ts';
import { filterCredentials } from '../../../../../src/operator/database/own/credentials/credential.ts';
import {
  isUsedEverywhere,
  decideRotationStep,
  type Rotation,
} from '../../../../../src/operator/database/own/credentials/next-step.ts';
import { names } from '../../../../../src/schema/names.ts';
import { deployment, UID } from '../../../../kit/objects.ts';

const first = { secret: 'db', number: 0 };
const second = { secret: 'db-1', number: 1, requestedAt: 'monday' };
const rotation = (given: Partial<Rotation>): Rotation => ({
  credentials: [first],
  used: 'db',
  requestedAt: undefined,
  isDone: () => false,
  isEverywhere: () => false,
  ...given,
});
const both = { credentials: [first, second], requestedAt: 'monday' };

test.each<[string, Partial<Rotation>, object]>([
  ['the request was taken back', { credentials: [second], used: 'db-1' }, { do: 'nothing' }],
  [
    'the Secret was deleted while it became the only one: another one is made',
    { ...both, credentials: [first, { ...second, isLost: true }], used: 'db-1' },
    { do: 'make', number: 2 },
  ],
  [
    'the status was lost meanwhile: told again, before a pod starts',
    { ...both, used: undefined },
    { do: 'run', task: 'set', from: first, to: second },
  ],
  [
    'another one was asked for meanwhile: this one is ended first',
    { ...both, requestedAt: 'tuesday' },
    { do: 'run', task: 'set', from: first, to: second },
  ],
  [
    'a crash came between the Jobs and the former Secret: refused again',
    { ...both, used: 'db-1', isEverywhere: () => true },
    { do: 'run', task: 'retire', from: first, to: second },
  ],
])('a password of which %s', (_, given, expected) => {
  expect(decideRotationStep(rotation(given))).toEqual(expected);
});

describe('all pods have the credential', () => {
  const stamped = (stamp: string | undefined) =>
    stamp === undefined ? {} : { 'gx.dev/database-address': stamp };
  const pod = (stamp?: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations: stamped(stamp) },
  });
  const workload = (stamp: string, replicas = 1, updatedReplicas = replicas): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'w', generation: 1 },
    spec: { replicas, template: { metadata: { annotations: stamped(stamp) } } },
    status: { observedGeneration: 1, replicas, updatedReplicas, availableReplicas: replicas },
  });

  test.each<[string, KubeObject[], KubeObject[], boolean]>([
    [
      'not while one that leaves has the former',
      [pod('db-1/uri/'), pod('db/uri/')],
      [workload('db-1/uri/')],
      false,
    ],
    ['not while one says nothing', [pod()], [workload('db-1/uri/')], false],
    ['not while a workload could make one with the former', [], [workload('db/uri/')], false],
    [
      'not while a workload is replacing them',
      [pod('db-1/uri/')],
      [workload('db-1/uri/', 2, 1)],
      false,
    ],
    [
      'whatever workloads without pods say',
      [pod('db-1/uri/')],
      [workload('db-1/uri/'), workload('db/uri/', 0)],
      true,
    ],
    ['not when another name only begins like it', [pod('db-12/uri/')], [], false],
  ])('%s', (_, agentPods, workloads, expected) => {
    expect(isUsedEverywhere({ agentPods, workloads }, 'db-1')).toBe(expected);
  });
});

test('credentials are those of the data of this deployment, oldest first', () => {
  const secret = (uid: string, number: number, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: names.databaseSecret('chat', uid, number),
      annotations: { 'gx.dev/password-number': String(number), ...more },
    },
  });
  const asked = { 'gx.dev/password-requested-at': 'monday' };
  const found = filterCredentials(
    [secret(UID, 2, asked), secret('another-uid', 3), secret(UID, 1)],
    deployment(),
  );
  expect(found).toEqual([
    { secret: names.databaseSecret('chat', UID, 1), number: 1 },
    { secret: names.databaseSecret('chat', UID, 2), number: 2, requestedAt: 'monday' },
  ]);
});
