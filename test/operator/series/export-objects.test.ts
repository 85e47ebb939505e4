import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { OperatorMetrics } from '../../../src/operator/kernel/metrics.ts';
import { exportObjects } from '../../../src/operator/series/export-objects.ts';
import { createCaches, type Caches } from '../../../src/operator/view/caches.ts';
import type { Condition } from '../../../src/schema/platform/objects/conditions.ts';
import type {
  BackupResource,
  DeploymentResource,
  RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { deployment, revision } from '../../kit/objects.ts';
import { printed } from '../../kit/operator.ts';

type Seen = { caches: Caches; series: (name?: string) => Promise<string[]> };

/** Fills caches whose objects have metrics. `series` returns those of one deployment, or of any. */
function watched(): Seen {
  const caches = createCaches();
  const metrics = new OperatorMetrics();
  exportObjects(metrics, caches);
  const series = async (name?: string): Promise<string[]> => {
    const lines = (await printed(metrics)).split('\n');
    return lines.filter(
      (line) =>
        line.includes('namespace="') &&
        (name === undefined || line.includes(`deployment="${name}"`)),
    );
  };
  return { caches, series };
}

let version = 0;
const at = (name: string, more: object = {}) => ({
  name,
  namespace: 'team',
  resourceVersion: String((version += 1)),
  ...more,
});
const stated = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: '',
  lastTransitionTime: '2026-11-01T00:00:00Z',
});
const chat = (
  name: string,
  conditions: Condition[],
  status: DeploymentResource['status'] = {},
): DeploymentResource => deployment({ metadata: at(name), status: { conditions, ...status } });
const backup = (
  name: string,
  deploymentName: string,
  status: NonNullable<BackupResource['status']>,
): BackupResource => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Backup',
  metadata: at(`${deploymentName}-${name}`),
  spec: {
    deployment: deploymentName,
    deploymentUid: '',
    backup: name,
    target: 'main',
    method: 'dump',
  },
  status,
});
const revisionIn = (
  name: string,
  phase: NonNullable<RevisionResource['status']>['phase'],
): RevisionResource => ({
  ...revision(),
  metadata: at(name),
  spec: { ...revision().spec, deployment: name.slice(0, -6) },
  status: { ...(phase && { phase }) },
});
const databasePod = (name: string, words: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: at(`${name}-db-0`, {
    labels: { 'gx.dev/component': 'database' },
    annotations: { 'gx.dev/deployment': name },
  }),
  status: {
    containerStatuses: [
      { name: 'postgres', restartCount: 2 },
      { name: 'guard', restartCount: 9, lastState: { terminated: { message: words } } },
    ],
  },
});

const WELL = [
  stated('Ready', 'True', 'Ready'),
  stated('Serving', 'True', 'Serving'),
  stated('DatabaseReady', 'True', 'Ready'),
];

test('a deployment shows Ready, Serving, and the conditions that are in a bad state', async () => {
  const { caches, series } = watched();
  const bad = [
    stated('BackedUp', 'Unknown', 'NoBackupYet'),
    stated('Stalled', 'True', 'CrashLooping'),
    stated('Draining', 'True', 'PinnedWork'),
  ];
  caches.deployments.addIfNewer(chat('good', WELL));
  caches.deployments.addIfNewer(
    chat('bad', [stated('Ready', 'False', 'CrashLooping'), ...WELL.slice(1), ...bad]),
  );
  const shown = (lines: string[]): string[] =>
    lines.map((line) =>
      /condition="(\w+)",status="(\w+)",reason="(\w+)"/.exec(line)!.slice(1).join(' '),
    );
  expect(shown(await series('good'))).toEqual(['Ready True Ready', 'Serving True Serving']);
  expect(shown(await series('bad'))).toEqual([
    'Ready False CrashLooping',
    'Serving True Serving',
    'BackedUp Unknown NoBackupYet',
    'Stalled True CrashLooping',
  ]);
});

test('a deployment that rests shows nothing bad', async () => {
  const { caches, series } = watched();
  const resting = ['Ready', 'DatabaseReady', 'ApiScaled'].map((type) =>
    stated(type, type === 'Ready' ? 'True' : 'False', 'Hibernated'),
  );
  caches.deployments.addIfNewer(
    chat('resting', [
      ...resting,
      stated('Asleep', 'True', 'Idle'),
      stated('Serving', 'False', 'Hibernated'),
    ]),
  );
  expect((await series('resting')).map((line) => /condition="(\w+)"/.exec(line)![1])).toEqual([
    'Ready',
    'Serving',
  ]);
});

test('the reason of a condition is escaped as Prometheus reads it', async () => {
  const { caches, series } = watched();
  caches.deployments.addIfNewer(chat('odd', [stated('Ready', 'False', 'a"b\\c\nd')]));
  expect(await series('odd')).toEqual([
    String.raw`gx_deployment_condition{namespace="team",deployment="odd",condition="Ready",status="False",reason="a\"b\\c\nd"} 1`,
  ]);
});

test('certificates, volumes, restarts, backups and a revision that was given up have their numbers', async () => {
  const { caches, series } = watched();
  const until = '2027-01-01T00:00:00Z';
  const aborted = {
    revision: 'chat-00002',
    since: '2026-11-03T00:00:00Z',
    cause: 'Check',
    message: '',
  } as const;
  const rollout = {
    madeAt: '2026-11-03T00:00:00Z',
    current: 'chat-00001',
    living: [],
    draining: [],
    aborted,
  };
  caches.deployments.addIfNewer(chat('chat', WELL, { databaseCertificateUntil: until, rollout }));
  caches.pods.addIfNewer(databasePod('chat', 'nearly-full 8 10\n'));
  caches.backups.addIfNewer(
    backup('20261102t000000z', 'chat', {
      phase: 'Succeeded',
      from: '2026-11-02T00:00:00Z',
      sizeBytes: 7,
    }),
  );
  caches.backups.addIfNewer(
    backup('20261101t000000z', 'chat', {
      phase: 'Succeeded',
      from: '2026-11-01T00:00:00Z',
      sizeBytes: 5,
      verified: until,
    }),
  );
  const values = Object.fromEntries(
    (await series('chat')).map((line) => [
      line.slice(0, line.indexOf('{')),
      Number(line.split(' ').at(-1)),
    ]),
  );
  const seconds = (time: string): number => Date.parse(time) / 1000;
  expect(values).toEqual({
    gx_deployment_condition: 1,
    gx_database_certificate_expiry_timestamp_seconds: seconds(until),
    gx_rollout_given_up_timestamp_seconds: seconds(aborted.since),
    gx_database_volume_used_bytes: 8,
    gx_database_volume_size_bytes: 10,
    gx_pod_restarts: 2,
    gx_backup_last_success_timestamp_seconds: seconds('2026-11-02T00:00:00Z'),
    gx_backup_last_verified_timestamp_seconds: seconds(until),
    gx_backup_size_bytes: 7,
  });
});

test('revisions are counted by phase, and those that have not ended are named', async () => {
  const { caches, series } = watched();
  for (const [name, phase] of [
    ['one-00001', 'DEPLOYED'],
    ['one-00002', 'BUILDING'],
    ['two-00001', 'DEPLOYED'],
  ] as const)
    caches.revisions.addIfNewer(revisionIn(name, phase));
  expect(await series()).toEqual([
    'gx_revision_phase{namespace="team",deployment="one",revision="one-00002",phase="BUILDING"} 1',
    'gx_revisions{namespace="team",phase="DEPLOYED"} 2',
    'gx_revisions{namespace="team",phase="BUILDING"} 1',
  ]);
  caches.revisions.addIfNewer(revisionIn('one-00002', 'BUILD_FAILED'));
  expect(await series()).toEqual([
    'gx_revisions{namespace="team",phase="DEPLOYED"} 2',
    'gx_revisions{namespace="team",phase="BUILD_FAILED"} 1',
  ]);
});

test('a thousand deployments that are deleted leave no series, and at rest each has eight at most, and six for backups', async () => {
  const { caches, series } = watched();
  const names = Array.from({ length: 1000 }, (_, index) => `chat-${index}`);
  const until = '2027-01-01T00:00:00Z';
  for (const name of names) {
    caches.deployments.addIfNewer(chat(name, WELL, { databaseCertificateUntil: until }));
    caches.revisions.addIfNewer(revisionIn(`${name}-00001`, 'DEPLOYED'));
    caches.pods.addIfNewer(databasePod(name, 'roomy 1 10'));
  }
  const before = (await series('chat-7')).length;
  expect(before).toBeLessThanOrEqual(8);
  for (const name of names) {
    caches.backups.addIfNewer(backup('20261101t000000z', name, { phase: 'Failed' }));
    caches.backups.addIfNewer(
      backup('20261102t000000z', name, {
        phase: 'Succeeded',
        from: until,
        verified: until,
        sizeBytes: 1,
      }),
    );
  }
  expect((await series('chat-7')).length - before).toBeLessThanOrEqual(6);
  for (const cache of [caches.pods, caches.backups, caches.revisions, caches.deployments])
    for (const { metadata } of cache.list())
      cache.remove(`${metadata.namespace}/${metadata.name}`, BigInt((version += 1)));
  expect(await series()).toEqual([]);
});
