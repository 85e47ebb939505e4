import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import type { DeploymentWorld } from '../../../src/operator/deployment/observe.ts';
import { deploymentReport, refusedDeployment } from '../../../src/operator/deployment/status.ts';
import { deployment, revision, settings } from '../../kit/objects.ts';

type RevisionStatus = NonNullable<ReturnType<typeof revision>['status']>;

const numbered = (generation: number, status: RevisionStatus) => revision(deployment({ metadata: { generation } }), { status });
const database = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'd' }, status: { readyReplicas: 1 } };
const api = (name: string): KubeObject => ({
  ...database,
  kind: 'Deployment',
  metadata: { name: `${name}-api` },
  status: { availableReplicas: 1 },
});

const report = (world: Partial<DeploymentWorld>, active?: string) => {
  const empty = { revisions: [], foreign: [], children: [], database: undefined, databasePods: [], service: undefined, workloads: [] };
  return deploymentReport(deployment(), { world: { ...empty, ...world }, active, now: new Date() }, settings());
};
const deployed = { phase: 'DEPLOYED' as const };
const serving = { database, workloads: [api('chat-00001')] };

test.each([
  ['no database yet', {}, undefined, ['AWAITING_DATABASE', 'waiting', 'RevisionMissing']],
  ['a database that does not answer', { revisions: [numbered(1, {})] }, undefined, ['AWAITING_DATABASE', 'waiting', 'DatabaseNotReady']],
  [
    'a first rollout',
    { database, revisions: [numbered(1, { phase: 'DEPLOYING' as const })] },
    undefined,
    ['AWAITING_DATABASE', 'waiting', 'RollingOut'],
  ],
  [
    'a first rollout that failed',
    { database, revisions: [numbered(1, { phase: 'DEPLOY_FAILED' as const, reason: 'OOMKilled' })] },
    undefined,
    ['UNKNOWN', 'stalled', 'OOMKilled'],
  ],
  ['a revision that serves', { ...serving, revisions: [numbered(1, deployed)] }, 'chat-00001', ['READY', 'settled', 'Serving']],
  [
    'a second one that failed while the first serves',
    { ...serving, revisions: [numbered(1, deployed), numbered(2, { phase: 'DEPLOY_FAILED' as const, reason: 'CrashLooping' })] },
    'chat-00001',
    ['READY', 'stalled', 'CrashLooping'],
  ],
  ['a lost last pod', { database, revisions: [numbered(1, deployed)] }, 'chat-00001', ['UNKNOWN', 'waiting', 'NoReplicaAvailable']],
])('%s', (_, world, active, expected) => {
  const { status, outcome } = report(world, active);
  expect([status.phase, outcome.kind, outcome.reason]).toEqual(expected);
});

test('whoever looks at the conditions learns that nobody is asked for credentials', () => {
  expect(report({}).statements).toContainEqual(expect.objectContaining({ type: 'Unauthenticated', status: 'True' }));
});

test('a refusal keeps what was known', () => {
  const told = refusedDeployment(deployment({ status: { phase: 'READY', url: 'http://x' } }), 'spec.x: bad');
  expect(told).toMatchObject({ outcome: { kind: 'stalled', reason: 'Refused' }, status: { phase: 'READY', url: 'http://x' } });
});
