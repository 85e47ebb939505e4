import { describe, expect, test } from 'vitest';
import type { NamedTarget } from '../../../../src/config/platform/backups.ts';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import { backupJob, backupOrder } from '../../../../src/operator/backup/job.ts';
import { checkJob } from '../../../../src/operator/backup/replace-job.ts';
import { restoreJob } from '../../../../src/operator/backup/restore-job.ts';
import { verifyJob } from '../../../../src/operator/backup/verify-job.ts';
import { buildPasswordJob } from '../../../../src/operator/database/own/credentials/job.ts';
import { buildStagedJob } from '../../../../src/operator/revision/build/staged-job.ts';
import type { BackupResource } from '../../../../src/schema/platform/resources/custom-resources.ts';
import { BUILDER, deployment, fromGit, revision, settings, UID } from '../../../kit/objects.ts';

/* The pods of several containers that do not trust each other: what one of them writes, the others can only read. */

type Mount = { name: string; mountPath: string; readOnly?: boolean };
type Container = {
  name: string;
  env?: { name: string; valueFrom?: { secretKeyRef?: object } }[];
  volumeMounts: Mount[];
};
type PodSpec = {
  initContainers?: Container[];
  containers: Container[];
  volumes: { name: string; secret?: object; emptyDir?: object }[];
};

const S3: NamedTarget = {
  endpoint: 'https://s3.example.com',
  bucket: 'b',
  region: 'r',
  prefix: '',
  pathStyle: true,
  secretName: 'store',
};
const CLAIM: NamedTarget = { claim: 'disk', prefix: '' };
const withTarget = (main: NamedTarget) =>
  settings({ backups: { ...settings().backups, targets: { main }, image: 'platform' } });
const chat = deployment({
  template: { secretName: 'chat-env' },
  spec: {
    database: { backup: { target: 'main' }, restore: { deployment: UID, sqlConfigMap: 'sql' } },
  },
});
const backupOf = (method: 'dump' | 'continuous'): BackupResource => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Backup',
  metadata: { name: 'chat-1', namespace: 'x' },
  spec: {
    deployment: 'chat',
    deploymentUid: UID,
    backup: '20261126t020000z',
    target: 'main',
    method,
  },
});
const orderOf = { into: UID, target: CLAIM, owner: { tenant: 't', id: UID }, resume: false };
const plan = (filled: boolean) =>
  ({ state: 'ready', target: 'main', order: { ...orderOf, filled } }) as never;

function podsAt(target: NamedTarget): [string, KubeObject | undefined][] {
  const using = withTarget(target);
  const made = (method: 'dump' | 'continuous') => {
    const order = backupOrder(chat, backupOf(method), {
      tenant: 't',
      revision: undefined,
      settings: using,
    });
    return order && backupJob(chat, backupOf(method), order, 'chat-db', using);
  };
  return [
    ['a dump', made('dump')],
    ['a copy', made('continuous')],
    ['a verification of a dump', verifyJob(chat, backupOf('dump'), 't', using)],
    ['a verification of a copy', verifyJob(chat, backupOf('continuous'), 't', using)],
    ['a restore', restoreJob(chat, { plan: plan(false), secret: 'chat-db' }, using)],
    [
      'a restore into a filled database',
      restoreJob(chat, { plan: plan(true), secret: 'chat-db' }, using),
    ],
    ['a look at a backup', checkJob(chat, plan(false), 'now', using)],
  ];
}
const JOBS = [
  ...podsAt(S3),
  ...podsAt(CLAIM).map(([name, job]): [string, KubeObject | undefined] => [
    `${name} on a volume`,
    job,
  ]),
];
const podOf = (job: KubeObject | undefined): PodSpec =>
  (job as KubeObject & { spec: { template: { spec: PodSpec } } }).spec.template.spec;

/** The scratch database of a copy: the copier fills it and ends with it before the other container begins. */
const HANDED_OVER = ['scratch'];

describe.each(JOBS)('the pod of %s', (_name, job) => {
  const { containers, volumes } = podOf(job);
  const mountsOf = (volume: string): Mount[] =>
    containers.flatMap((one) => one.volumeMounts.filter(({ name }) => name === volume));

  test('has no folder that two containers write', () => {
    const shared = volumes.filter(
      ({ name }) => mountsOf(name).length > 1 && !HANDED_OVER.includes(name),
    );
    expect(shared.length).toBeGreaterThan(0);
    for (const { name } of shared)
      expect([
        name,
        mountsOf(name).filter(({ readOnly }) => readOnly !== true).length <= 1,
      ]).toEqual([name, true]);
  });

  test('has each credential in files of the containers that use it, and in no environment', () => {
    expect(JSON.stringify(containers.map(({ env = [] }) => env))).not.toContain('secretKeyRef');
    const users = (volume: string): string[] =>
      containers
        .filter((one) => one.volumeMounts.some(({ name }) => name === volume))
        .map(({ name }) => name);
    expect(users('credential').filter((name) => !['send', 'copy'].includes(name))).toEqual([]);
    expect(users('encryption').filter((name) => name !== 'send')).toEqual([]);
    // The containers with the store's credential ask no database, and those that ask one have no other credential.
    expect(users('address').filter((name) => users('credential').includes(name))).toEqual([]);
  });
});

test('a password has its credentials in files', () => {
  const credential = { secret: 'chat-db-1', number: 1 };
  for (const task of ['set', 'retire', 'adopt'] as const) {
    const { containers } = podOf(
      buildPasswordJob(chat, { task, from: credential, to: credential }, settings()),
    );
    expect(JSON.stringify(containers[0]?.env)).not.toContain('secretKeyRef');
  }
});

test('the stages of a build that run a repository share what they were given by earlier ones, and can not change it', () => {
  const source = fromGit('main');
  const job = buildStagedJob(
    revision(deployment(source)),
    { integration: { kind: 'generic' }, tenant: 't' } as never,
    {
      ...settings(),
      builder: BUILDER,
    },
  );
  const { initContainers = [], containers } = podOf(job);
  const build = [...initContainers, ...containers].find(({ name }) => name === 'build');
  expect(build?.volumeMounts.find(({ name }) => name === 'kept')).toMatchObject({ readOnly: true });
  expect(
    build?.volumeMounts
      .map(({ name }) => name)
      .filter((name) => ['git', 'registry', 'indexes'].includes(name)),
  ).toEqual([]);
});
