import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import type { KindRow } from '../../../src/operator/kinds/row.ts';
import { OPERATOR_KINDS } from '../../../src/operator/kinds/table.ts';
import {
  isRelevantToOwner,
  isRelevantToDeployment,
  isRelevantToRevisions,
} from '../../../src/operator/wake-filter.ts';

const object = (kind: string, status: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'x', namespace: 'n', generation: 1, ...metadata },
  spec: { replicas: 1, template: {} },
  status,
});

const rowOf = ({ kind }: KubeObject): KindRow =>
  Object.values<KindRow>(OPERATOR_KINDS).find(
    (row) => row.child !== undefined && row.kind.kind === kind,
  ) as KindRow;
const change = (before: KubeObject | undefined, after: KubeObject | undefined): boolean =>
  isRelevantToOwner(
    { key: 'n/x', before, after, via: 'watch' },
    rowOf((after ?? before) as KubeObject),
  );

const up = {
  observedGeneration: 1,
  replicas: 1,
  updatedReplicas: 1,
  availableReplicas: 1,
  readyReplicas: 1,
};
const progressing = { type: 'Progressing', status: 'True', reason: 'NewReplicaSetCreated' };
const scheduled = { type: 'PodScheduled', status: 'True' };
const ready = { type: 'Ready', status: 'True' };

test('a new object and one that goes are news', () => {
  expect([
    change(undefined, object('Deployment', {})),
    change(object('Deployment', {}), undefined),
  ]).toEqual([true, true]);
});

test.each<[string, object, object]>([
  [
    'a workload that is counted, not there yet',
    {},
    { observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1 },
  ],
  ['a workload that goes on', { conditions: [] }, { conditions: [progressing] }],
])('%s is none', (_what, before, after) => {
  expect(change(object('Deployment', before), object('Deployment', after))).toBe(false);
});

test.each<[string, object, object]>([
  ['pods that are available', {}, up],
  ['pods that went', up, { ...up, availableReplicas: 0, readyReplicas: 0 }],
  [
    'pods that the cluster refuses',
    {},
    { conditions: [{ type: 'ReplicaFailure', status: 'True', message: 'exceeded quota' }] },
  ],
])('%s are', (_what, before, after) => {
  expect(change(object('Deployment', before), object('Deployment', after))).toBe(true);
  expect(change(object('StatefulSet', before), object('StatefulSet', after))).toBe(true);
});

test.each<[string, object, object, boolean]>([
  [
    'that was scheduled',
    { phase: 'Pending' },
    { phase: 'Pending', conditions: [scheduled] },
    false,
  ],
  [
    'that no node takes',
    { phase: 'Pending' },
    { phase: 'Pending', conditions: [{ ...scheduled, status: 'False', reason: 'Unschedulable' }] },
    true,
  ],
  ['that is ready', { phase: 'Running' }, { phase: 'Running', conditions: [ready] }, true],
  [
    'that restarted',
    { containerStatuses: [{ name: 'a', restartCount: 0 }] },
    { containerStatuses: [{ name: 'a', restartCount: 1 }] },
    true,
  ],
])('a pod %s', (_what, before, after, is) => {
  expect(change(object('Pod', before), object('Pod', after))).toBe(is);
});

test('what somebody changed in spec, labels or owners is news, and the number of a rollout is not', () => {
  const was = object('Deployment', up);
  expect(
    change(was, { ...was, metadata: { ...was.metadata, generation: 2 }, spec: { replicas: 2 } }),
  ).toBe(true);
  expect(change(was, { ...was, metadata: { ...was.metadata, labels: { a: 'b' } } })).toBe(true);
  expect(
    change(was, {
      ...was,
      metadata: { ...was.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    }),
  ).toBe(true);
  expect(
    change(was, {
      ...was,
      metadata: {
        ...was.metadata,
        resourceVersion: '9',
        annotations: { 'deployment.kubernetes.io/revision': '1' },
      },
    }),
  ).toBe(false);
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x' },
    spec: { selector: { a: 'b' } },
  };
  expect(change(service, { ...service, spec: { selector: {} } })).toBe(true);
});

test('a new pod is none until somebody says a word of it', () => {
  expect(change(undefined, object('Pod', { phase: 'Pending' }))).toBe(false);
  expect(change(undefined, object('Pod', { phase: 'Pending', conditions: [scheduled] }))).toBe(
    true,
  );
  expect(change(undefined, object('Pod', { phase: 'Running' }))).toBe(true);
});

test('of a deployment, its revisions care for its spec, its database and who is active', () => {
  const database = { type: 'DatabaseReady', status: 'True', message: 'The database answers.' };
  const told = (status: object): KubeObject => object('Deployment', status);
  const toRevisions = (before: object, after: object): boolean =>
    isRelevantToRevisions({ key: 'n/x', before: told(before), after: told(after), via: 'watch' });
  expect(
    toRevisions(
      { phase: 'UNKNOWN' },
      { phase: 'READY', message: 'It serves.', conditions: [ready] },
    ),
  ).toBe(false);
  expect(
    toRevisions({ databaseSecret: 'x-db' }, { databaseSecret: 'x-db', conditions: [database] }),
  ).toBe(true);
  expect(toRevisions({}, { activeRevision: 'x-00001' })).toBe(true);
  expect(
    toRevisions({ conditions: [database] }, { conditions: [database], databaseSecret: 'x-db' }),
  ).toBe(true);
  // The first pods start beside their database.
  expect(
    toRevisions({}, { databaseSecret: 'x-db', conditions: [{ ...database, status: 'False' }] }),
  ).toBe(true);
  const was = object('Deployment', {});
  const wakes = (after: KubeObject): boolean =>
    isRelevantToRevisions({ key: 'n/x', before: was, after, via: 'watch' });
  expect([
    wakes({ ...was, spec: { hibernate: true } }),
    wakes({ ...was, metadata: { ...was.metadata, resourceVersion: '9' } }),
  ]).toEqual([true, false]);
});

test('of a revision, its deployment cares for its begin, its end, its trouble and its version, not for each step', () => {
  const told = (status: object): KubeObject => object('Revision', status);
  const toDeployment = (before: object, after: object): boolean =>
    isRelevantToDeployment({ key: 'n/x', before: told(before), after: told(after), via: 'watch' });
  const waits = {
    phase: 'AWAITING_DEPLOY',
    reason: 'DatabaseNotReady',
    message: 'Waiting for the database.',
  };
  const starts = {
    phase: 'DEPLOYING',
    message: 'The pods are starting.',
    startedAt: 't',
    conditions: [{ ...ready, status: 'False' }],
  };
  expect([toDeployment({}, waits), toDeployment({ ...waits, startedAt: 't' }, starts)]).toEqual([
    false,
    false,
  ]);
  // From then on the database's pods count.
  expect(toDeployment(waits, starts)).toBe(true);
  expect(
    toDeployment(starts, { ...starts, reason: 'ImagePullFailed', message: 'No such image.' }),
  ).toBe(true);
  const deployed = { phase: 'DEPLOYED', message: 'It serves.', endedAt: 't', conditions: [ready] };
  expect(toDeployment(starts, deployed)).toBe(true);
  expect(toDeployment(deployed, { ...deployed, conditions: [{ ...ready, status: 'False' }] })).toBe(
    true,
  );
  expect(toDeployment(deployed, { ...deployed, serverVersion: '1.2.3' })).toBe(true);
  expect(toDeployment(deployed, { ...deployed, apiTemplate: 'a/b/c/1' })).toBe(false);
  const was = told(starts);
  expect(
    isRelevantToDeployment({
      key: 'n/x',
      before: was,
      after: { ...was, spec: { hash: 'other', template: {} } },
      via: 'watch',
    }),
  ).toBe(true);
});
