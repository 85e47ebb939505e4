import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import type { WrittenFacts } from '../../../src/operator/deployment/part.ts';
import { DEPLOYMENT_PARTS } from '../../../src/operator/deployment/parts.ts';
import { countDatabaseReplicas } from '../../../src/operator/database/own/desired.ts';
import {
  buildDeploymentReport,
  buildRefusedDeploymentReport,
} from '../../../src/operator/deployment/status.ts';
import { factsOf } from '../../kit/facts.ts';
import { deployment, revision } from '../../kit/objects.ts';

type RevisionStatus = NonNullable<ReturnType<typeof revision>['status']>;

const numbered = (generation: number, status: RevisionStatus) =>
  revision(deployment({ metadata: { generation } }), { status });
const database = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'd' },
  status: { readyReplicas: 1 },
};
const api = (name: string): KubeObject => ({
  ...database,
  kind: 'Deployment',
  metadata: { name: `${name}-api` },
  status: { availableReplicas: 1 },
});

const report = (world: Partial<WrittenFacts>, active?: string, of = deployment()) => {
  const facts = factsOf(of, { ...world, active });
  return buildDeploymentReport(
    facts,
    DEPLOYMENT_PARTS.map((part) => part.report?.(facts) ?? {}),
  );
};
const deployed = { phase: 'DEPLOYED' as const };
const scaledToZero = revision(
  deployment({ metadata: { generation: 1 }, template: { resourceSpec: { minScale: 0 } } }),
  {
    status: deployed,
  },
);
const serving = { database, workloads: [api('chat-00001')] };

test.each([
  ['no database yet', {}, undefined, ['AWAITING_DATABASE', 'waiting', 'RevisionMissing']],
  [
    'a database that does not answer',
    { revisions: [numbered(1, {})] },
    undefined,
    ['AWAITING_DATABASE', 'waiting', 'DatabaseNotReady'],
  ],
  [
    'a first rollout',
    { database, revisions: [numbered(1, { phase: 'DEPLOYING' as const })] },
    undefined,
    ['AWAITING_DATABASE', 'waiting', 'RollingOut'],
  ],
  [
    'a first rollout that failed',
    {
      database,
      revisions: [numbered(1, { phase: 'DEPLOY_FAILED' as const, reason: 'OOMKilled' })],
    },
    undefined,
    ['UNKNOWN', 'stalled', 'OOMKilled'],
  ],
  [
    'a revision that serves',
    { ...serving, revisions: [numbered(1, deployed)] },
    'chat-00001',
    ['READY', 'settled', 'Serving'],
  ],
  [
    'a second one that failed while the first serves',
    {
      ...serving,
      revisions: [
        numbered(1, deployed),
        numbered(2, { phase: 'DEPLOY_FAILED' as const, reason: 'CrashLooping' }),
      ],
    },
    'chat-00001',
    ['READY', 'stalled', 'CrashLooping'],
  ],
  [
    'a revision that asks for no pod',
    {
      database,
      workloads: [{ ...api('chat-00001'), spec: { replicas: 0 }, status: {} }],
      revisions: [scaledToZero],
    },
    'chat-00001',
    ['UNUSED', 'settled', 'ScaledToZero'],
  ],
  [
    'a lost last pod',
    { database, revisions: [numbered(1, deployed)] },
    'chat-00001',
    ['UNKNOWN', 'waiting', 'NoReplicaAvailable'],
  ],
])('%s', (_, world, active, expected) => {
  const { status, outcome } = report(world, active);
  expect([status.phase, outcome.kind, outcome.reason]).toEqual(expected);
});

const rest = { ...database, spec: { replicas: 0 }, status: {} };
const resting = { ...api('chat-00001'), spec: { replicas: 0 }, status: {} };
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } };

describe('a deployment that hibernates', () => {
  const asked = deployment({ spec: { hibernate: true } });
  const revisions = [numbered(1, deployed)];
  test.each<[string, Partial<WrittenFacts>, string[]]>([
    [
      'is on its way while a pod is left',
      { ...serving, revisions, agentPods: [pod] },
      ['READY', 'waiting', 'Hibernating'],
    ],
    [
      'is unused once its agents are gone',
      { database: rest, workloads: [resting], revisions, databasePods: [pod] },
      ['UNUSED', 'waiting', 'Hibernating'],
    ],
    [
      'is on its way while its workload has not told that its pods are gone',
      { database: rest, workloads: serving.workloads, revisions },
      ['READY', 'waiting', 'Hibernating'],
    ],
    [
      'is as asked when no pod is left',
      { database: rest, workloads: [resting], revisions },
      ['UNUSED', 'settled', 'Hibernated'],
    ],
    [
      'still says that its newest revision failed',
      { database: rest, revisions: [numbered(1, { phase: 'DEPLOY_FAILED', reason: 'OOMKilled' })] },
      ['UNUSED', 'stalled', 'OOMKilled'],
    ],
  ])('%s', (_, world, expected) => {
    const { status, outcome } = report(world, 'chat-00001', asked);
    expect([status.phase, outcome.kind, outcome.reason]).toEqual(expected);
  });

  test('says of traffic and database that they rest, not that they are broken', () => {
    const { statements } = report(
      { database: rest, workloads: [resting], revisions },
      'chat-00001',
      asked,
    );
    const reasons = statements
      .filter(({ type }) => ['Serving', 'DatabaseReady'].includes(type))
      .map(({ status, reason }) => [status, reason]);
    expect(reasons).toEqual([
      ['False', 'Hibernated'],
      ['False', 'Hibernated'],
    ]);
  });

  test('waits for its database when it wakes, until it serves', () => {
    const waking = deployment({ status: { phase: 'UNUSED' } });
    expect(
      report({ database: rest, workloads: [resting], revisions }, 'chat-00001', waking).status
        .phase,
    ).toBe('AWAITING_DATABASE');
    expect(report({ ...serving, revisions }, 'chat-00001', waking).status.phase).toBe('READY');
  });
});

test('the database stops after the agents', () => {
  const asked = { spec: { hibernate: true } } as ReturnType<typeof deployment>;
  expect(countDatabaseReplicas(asked, { workloads: [resting], agentPods: [pod] })).toBe(1);
  expect(countDatabaseReplicas(asked, { workloads: [api('chat-00001')], agentPods: [] })).toBe(1);
  expect(countDatabaseReplicas(asked, { workloads: [resting], agentPods: [] })).toBe(0);
  expect(countDatabaseReplicas(deployment(), { workloads: [resting], agentPods: [] })).toBe(1);
});

test("whoever looks at the conditions learns whose token the serving revision's agents have", () => {
  const resourceSpec = { serviceAccountName: 'reader', automountServiceAccountToken: true };
  const withToken = revision(deployment({ template: { resourceSpec } }), { status: deployed });
  const told = (revisions: ReturnType<typeof revision>[]): unknown[] =>
    report({ ...serving, revisions }, 'chat-00001').statements.filter(
      ({ type }) => type === 'TokenMounted',
    );
  expect(told([withToken])).toMatchObject([
    { status: 'True', message: expect.stringContaining('ServiceAccount reader') },
  ]);
  expect(told([numbered(1, deployed)])).toEqual([]);
});

describe('whoever looks at the conditions learns whether anybody is asked for credentials', () => {
  const asOpen = deployment({
    template: { sourceRevisionConfig: { imageUri: 'agent:1', auth: { mode: 'open' } } },
  });
  const openness = (of: ReturnType<typeof revision>): string | undefined => {
    const found = report({ ...serving, revisions: [of] }, 'chat-00001').statements.find(
      ({ type }) => type === 'Unauthenticated',
    );
    return found && `${found.status} ${found.reason}`;
  };

  test.each([
    ['agents with a key', numbered(1, { ...deployed, guard: 'key' }), undefined],
    [
      'agents with handlers of their own',
      numbered(1, { ...deployed, guard: 'handlers' }),
      undefined,
    ],
    [
      'agents that are to be open',
      revision(asOpen, { status: { ...deployed, guard: 'open' } }),
      'True AskedFor',
    ],
    [
      'agents that are to be open, with handlers all the same',
      revision(asOpen, { status: { ...deployed, guard: 'handlers' } }),
      undefined,
    ],
    ['agents that did not find the key', numbered(1, { ...deployed, guard: 'open' }), 'True NoKey'],
    ['agents that have not reported', numbered(1, deployed), 'Unknown GuardUnknown'],
  ] as const)('of %s', (_, of, told) => {
    expect(openness(of)).toBe(told);
  });

  test('of a deployment that does not serve, nothing', () => {
    expect(report({}).statements.map(({ type }) => type)).not.toContain('Unauthenticated');
  });
});

test.each([
  ['restricted', false],
  ['baseline', false],
  ['privileged', true],
  [undefined, true],
])('a namespace whose pod security is %s is told of: %s', (level, isTold) => {
  const labels = { ...(level !== undefined && { 'pod-security.kubernetes.io/enforce': level }) };
  const place = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team', labels } };
  const told = report({ place }).statements.filter(({ type }) => type === 'PodSecurityOpen');
  expect(told.map(({ status, reason }) => [status, reason])).toEqual(
    isTold ? [['True', 'NothingEnforced']] : [],
  );
});

test('of a namespace that nobody may read nothing is told', () => {
  expect(report({}).statements.filter(({ type }) => type === 'PodSecurityOpen')).toEqual([]);
});

test('a refusal keeps what was known', () => {
  const told = buildRefusedDeploymentReport(
    deployment({ status: { phase: 'READY', url: 'http://x' } }),
    'spec.x: bad',
  );
  expect(told).toMatchObject({
    outcome: { kind: 'stalled', reason: 'Refused' },
    status: { phase: 'READY', url: 'http://x' },
  });
});

test('a sentence as long as a revision may say is no longer on its deployment', () => {
  const failed = numbered(1, {
    phase: 'CREATE_FAILED',
    reason: 'Refused',
    message: 'x'.repeat(4096),
  });
  expect(report({ database, revisions: [failed] }).status.message).toHaveLength(4096);
});
