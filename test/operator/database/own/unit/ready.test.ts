import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/kube/kube.ts';
import { buildManagedCondition } from '../../../../../src/operator/database/own/ready.ts';
import { deployment, settings } from '../../../../kit/objects.ts';

const starting: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  status: {
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [{ name: 'agent', started: false, state: { waiting: { reason: 'X' } } }],
  },
};

test.each<[number, KubeObject[], string]>([
  [10, [], 'The database does not answer yet.'],
  [
    31,
    [],
    'The database does not answer yet. It has no pod; the events of StatefulSet chat-db say why (a quota, or an admission policy).',
  ],
  [31, [starting], 'The database does not answer yet.'],
])('an own database whose set is %i s old, with pods %j', (age, databasePods, message) => {
  const now = new Date('2026-01-01T00:10:00Z');
  const creationTimestamp = new Date(now.getTime() - age * 1000).toISOString();
  const database: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'chat-db', creationTimestamp },
    status: {},
  };
  const view = {
    database,
    databasePods,
    agentPods: [],
    passwordPods: [],
    workloads: [],
    isAsleep: false,
  };
  expect(buildManagedCondition(deployment(), { view, settings: settings(), now })).toMatchObject({
    message,
  });
});
