import { expect, test } from 'vitest';
import {
  isAwaitingBackup,
  planLastBackup,
} from '../../../../src/operator/backup/before-deletion-plan.ts';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import { backupName } from '../../../../src/schema/wire/backup-message.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../../../src/schema/platform/resources/custom-resources.ts';
import { newDeployment, settings } from '../../../kit/objects.ts';
import { dumpRecord } from '../../../kit/backup-record.ts';

const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'b',
  region: 'eu-1',
  prefix: '',
  pathStyle: false,
  secretName: 'store',
};
const by = settings({
  backups: {
    targets: { main: TARGET },
    atOnce: 2,
    deadlineMinutes: 60,
    verifyDays: 0,
    image: 'platform',
  },
});
const UID = '11111111-1111-4111-8111-111111111111';
const DELETED = '2026-11-27T05:00:00Z';
const CLAIM: KubeObject = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data-chat-db-0' },
  status: { phase: 'Bound' },
};

const leaving = (
  backup: object = {},
  spec: object = {},
  status: object = {},
): DeploymentResource => {
  const made = newDeployment('agents', {
    metadata: { name: 'chat' },
    spec: {
      deletionPolicy: 'Delete',
      database: { backup: { target: 'main', beforeDeletion: true, ...backup } },
      ...spec,
    },
  });
  return { ...made, metadata: { ...made.metadata, uid: UID, deletionTimestamp: DELETED }, status };
};
const record = (
  time: string,
  phase: 'Running' | 'Succeeded' | 'Failed',
  requestedAt?: string,
): BackupResource => {
  const made = dumpRecord({
    namespace: 'agents',
    deployment: 'chat',
    uid: UID,
    backup: backupName(new Date(time)),
  });
  return {
    ...made,
    spec: { ...made.spec, ...(requestedAt !== undefined && { requestedAt }) },
    status: {
      phase,
      from: time,
      ...(phase === 'Failed' && { reason: 'TargetUnreachable', message: 'No answer.' }),
    },
  };
};
const planAt = (
  now: string,
  backups: BackupResource[] = [],
  given: { deployment?: DeploymentResource; claim?: KubeObject | undefined; isUp?: boolean } = {},
) => {
  const { deployment, ...seen } = { deployment: leaving(), claim: CLAIM, isUp: true, ...given };
  return planLastBackup(deployment, { backups, settings: by, now: new Date(now), ...seen });
};

test('only a deletion that deletes data waits, and only if its deployment asks for it', () => {
  expect(isAwaitingBackup(leaving(), by)).toBe(true);
  expect(isAwaitingBackup(leaving({ beforeDeletion: false }), by)).toBe(false);
  expect(isAwaitingBackup(leaving({}, { deletionPolicy: 'Retain' }), by)).toBe(false);
  expect(
    isAwaitingBackup(leaving({}, { deletionPolicy: undefined }), {
      ...by,
      deletionPolicy: 'Delete',
    }),
  ).toBe(true);
  const { deletionTimestamp: _, ...metadata } = leaving().metadata;
  expect(isAwaitingBackup({ ...leaving(), metadata }, by)).toBe(false);
});

test('it says until when it waits and how to go on, whatever backups there were before', () => {
  const plan = planAt('2026-11-27T05:00:01Z', [record('2026-11-27T04:59:00Z', 'Succeeded')], {
    isUp: false,
  });
  expect(plan).toMatchObject({
    state: 'waits',
    mayBegin: true,
    running: undefined,
    requestedAt: DELETED,
  });
  expect(plan.statement).toMatchObject({ status: 'Unknown', reason: 'AwaitingBackup' });
  for (const words of [
    'The database does not answer yet',
    '2026-11-28T05:00:00.000Z',
    'beforeDeletion to false',
    'deletionPolicy to Retain',
  ])
    expect(plan.statement.message).toContain(words);
});

test('one that is being made is followed, and one that was made lets the deletion go on', () => {
  expect(
    planAt('2026-11-27T05:01:00Z', [record('2026-11-27T05:00:02Z', 'Running', DELETED)]),
  ).toMatchObject({
    state: 'waits',
    mayBegin: false,
    running: { spec: { backup: '20261127t050002z' } },
  });
  const over = planAt('2026-11-27T05:02:00Z', [
    record('2026-11-27T05:00:02Z', 'Succeeded', DELETED),
  ]);
  expect(over).toMatchObject({
    state: 'over',
    keepsData: false,
    isStored: false,
    statement: { status: 'True', reason: 'LastBackupMade' },
  });
  // The objects of backups go next. The status knows how the wait has ended.
  const condition = { ...over.statement, lastTransitionTime: DELETED };
  expect(
    planAt('2026-11-27T05:03:00Z', [], {
      deployment: leaving({}, {}, { conditions: [condition] }),
    }),
  ).toMatchObject({
    state: 'over',
    isStored: true,
    keepsData: false,
  });
});

test('a failed one is told with its remedy, and tried again after a quarter of an hour', () => {
  const failed = [record('2026-11-27T05:00:02Z', 'Failed', DELETED)];
  const plan = planAt('2026-11-27T05:15:01Z', failed);
  expect(plan).toMatchObject({
    state: 'waits',
    mayBegin: false,
    statement: { status: 'False', reason: 'TargetUnreachable', event: 'Warning' },
  });
  expect(plan.statement.message).toContain('No answer. Check that the store runs');
  expect(planAt('2026-11-27T05:15:02Z', failed)).toMatchObject({ state: 'waits', mayBegin: true });
});

test('a target that is not there is told', () => {
  const deployment = leaving({ target: 'other' });
  expect(planAt('2026-11-27T05:01:00Z', [], { deployment })).toMatchObject({
    state: 'waits',
    mayBegin: false,
    statement: {
      reason: 'TargetMissing',
      message: expect.stringContaining('The installation has: main') as string,
    },
  });
});

test('after a day the deployment goes, and its data stays', () => {
  expect(planAt('2026-11-28T04:59:59Z')).toMatchObject({ state: 'waits' });
  const over = planAt('2026-11-28T05:00:00Z');
  expect(over).toMatchObject({
    state: 'over',
    keepsData: true,
    statement: { reason: 'DataKept', event: 'Warning' },
  });
  expect(over.statement.message).toContain('volume claim data-chat-db-0');
  const deployment = leaving(
    {},
    {},
    { conditions: [{ ...over.statement, lastTransitionTime: DELETED }] },
  );
  expect(planAt('2026-11-28T05:01:00Z', [], { deployment })).toMatchObject({
    state: 'over',
    keepsData: true,
    isStored: true,
  });
});

test('what can not be backed up holds nothing: a lost volume, none, and an empty database', () => {
  const none = {
    state: 'over',
    keepsData: false,
    statement: { status: 'False', reason: 'NoLastBackup', event: 'Warning' },
  };
  expect(planAt('2026-11-27T05:01:00Z', [], { claim: undefined })).toMatchObject(none);
  const lost = planAt('2026-11-27T05:01:00Z', [], {
    claim: { ...CLAIM, status: { phase: 'Lost' } },
  });
  expect(lost).toMatchObject(none);
  expect(lost.statement.message).toContain('data-chat-db-0 has lost its volume');
  const deployment = leaving(
    {},
    {
      database: { backup: { target: 'main', beforeDeletion: true }, restore: { backup: 'chat-x' } },
    },
  );
  expect(planAt('2026-11-27T05:01:00Z', [], { deployment })).toMatchObject(none);
});

test('a deployment that has slept since its last backup needs no other', () => {
  const deployment = leaving({}, {}, { asleepSince: '2026-11-27T01:00:00Z' });
  const plan = planAt('2026-11-27T05:01:00Z', [record('2026-11-27T02:00:00Z', 'Succeeded')], {
    deployment,
    isUp: false,
  });
  expect(plan).toMatchObject({
    state: 'over',
    keepsData: false,
    statement: { reason: 'LastBackupMade' },
  });
});
