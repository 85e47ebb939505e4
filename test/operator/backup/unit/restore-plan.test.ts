import { describe, expect, test } from 'vitest';
import { planBackup } from '../../../../src/operator/backup/plan.ts';
import { planRestore } from '../../../../src/operator/backup/restore-plan.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../../../src/schema/platform/resources/custom-resources.ts';
import type { RestoreSpec } from '../../../../src/schema/platform/backup/restore-spec.ts';
import { deployment, settings } from '../../../kit/objects.ts';

// A store without TLS has dumps alone.
const TARGET = {
  endpoint: 'http://s3.example.com',
  bucket: 'ours',
  region: 'eu-1',
  prefix: '',
  pathStyle: false,
  secretName: 'store',
};
const by = settings({
  backups: {
    targets: { main: TARGET, far: TARGET },
    atOnce: 2,
    deadlineMinutes: 60,
    verifyDays: 0,
    image: 'platform',
  },
});
const SOURCE = '22222222-2222-4222-8222-222222222222';
const CLAIMED = '33333333-3333-4333-8333-333333333333';

const copy = (restore: RestoreSpec, status?: DeploymentResource['status']): DeploymentResource =>
  deployment({
    metadata: { name: 'copy', namespace: 'team' },
    spec: { database: { restore } },
    ...(status && { status }),
  });
const source = deployment({
  metadata: { name: 'chat', uid: SOURCE },
  spec: { id: CLAIMED, database: { backup: { target: 'main' } } },
});
const backup = (
  namespace: string,
  phase: 'Running' | 'Succeeded' | 'Failed' = 'Succeeded',
): BackupResource => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Backup',
  metadata: { name: 'chat-20261126t020000z', namespace },
  spec: {
    deployment: 'chat',
    deploymentUid: SOURCE,
    backup: '20261126t020000z',
    target: 'main',
    method: 'dump',
  },
  status: { phase, ...(phase === 'Failed' && { message: 'The store is full.' }) },
});
const planned = (
  wanted: DeploymentResource,
  backups: BackupResource[] = [],
  deployments: DeploymentResource[] = [source],
) =>
  planRestore(wanted, {
    backups,
    deployments: (id) =>
      deployments.filter(({ metadata, spec }) => metadata.uid === id || spec.id === id),
    tenant: 'a-tenant',
    settings: by,
  });
const NAMED = { backup: 'chat-20261126t020000z' };

describe('the backup that a deployment begins with', () => {
  test('is found by its name in any namespace of the tenant, and lies under the id of its deployment', () => {
    expect(planned(copy({ ...NAMED, resume: true }), [backup('elsewhere')])).toEqual({
      state: 'ready',
      target: 'main',
      order: {
        target: {
          endpoint: TARGET.endpoint,
          bucket: 'ours',
          region: 'eu-1',
          prefix: '',
          pathStyle: false,
        },
        owner: { tenant: 'a-tenant', id: CLAIMED },
        name: '20261126t020000z',
        into: copy(NAMED).metadata.uid,
        resume: true,
      },
    });
  });

  test('is that of its own namespace, where several have one of the name', () => {
    expect(planned(copy(NAMED), [backup('elsewhere'), backup('team')])).toMatchObject({
      state: 'ready',
    });
    expect(planned(copy(NAMED), [backup('elsewhere'), backup('other')])).toMatchObject({
      reason: 'BackupMissing',
      message: expect.stringContaining('several namespaces') as string,
    });
  });

  test('is waited for while it is made, and told if it failed or is not there', () => {
    expect(planned(copy(NAMED), [backup('team', 'Running')])).toMatchObject({ state: 'waits' });
    expect(planned(copy(NAMED), [backup('team', 'Failed')])).toMatchObject({
      message: expect.stringContaining('The store is full.') as string,
    });
    expect(planned(copy(NAMED))).toMatchObject({ state: 'fault', reason: 'BackupMissing' });
  });

  test('is found in the folder of a deployment that nobody here knows any more', () => {
    const unknown = {
      deployment: '44444444-4444-4444-8444-444444444444',
      target: 'far',
      at: '2026-11-26T00:00:00Z',
    };
    expect(planned(copy(unknown))).toMatchObject({
      state: 'ready',
      target: 'far',
      order: { owner: { id: unknown.deployment }, at: unknown.at },
    });
    expect(planned(copy({ deployment: unknown.deployment }))).toMatchObject({
      state: 'fault',
      reason: 'TargetMissing',
    });
    expect(planned(copy({ ...unknown, target: 'gone' }))).toMatchObject({
      message: expect.stringContaining('The installation has: far, main') as string,
    });
  });

  test('lies at the target of its deployment, by its uid or the id that it claims', () => {
    for (const id of [SOURCE, CLAIMED.toUpperCase()])
      expect(planned(copy({ deployment: id }))).toMatchObject({
        state: 'ready',
        target: 'main',
        order: { owner: { id: CLAIMED }, resume: false },
      });
  });
});

describe('a moment after the data of an original was replaced', () => {
  const [BEFORE, R, LATER] = [
    '2026-11-26T03:00:00Z',
    '2026-11-26T04:00:00Z',
    '2026-11-26T04:30:00Z',
  ];
  const spec = {
    id: CLAIMED,
    database: { backup: { target: 'main', method: 'continuous' as const } },
  };
  const living = deployment({
    metadata: { name: 'chat', uid: SOURCE },
    spec,
    status: { restoredAt: R },
  });
  const copyOf = (name: string, from: string): BackupResource => {
    const made = backup('team');
    return {
      ...made,
      spec: { ...made.spec, backup: name, method: 'continuous' },
      status: { phase: 'Succeeded', from },
    };
  };
  const first = copyOf('20261126t020000z', '2026-11-26T02:00:01Z');
  const next = copyOf('20261126t044000z', '2026-11-26T04:40:05Z');
  const plan = (at: string | undefined, backups: BackupResource[]) =>
    planned(copy({ deployment: SOURCE, ...(at !== undefined && { at }) }), backups, [living]);

  test('is not kept before the next copy, and the newest is waited for', () => {
    for (const backups of [[first], [first, next]])
      expect(plan(LATER, backups)).toMatchObject({
        state: 'fault',
        reason: 'TimeNotKept',
        message: expect.stringContaining(R) as string,
      });
    expect(plan(undefined, [first])).toMatchObject({ state: 'waits', method: 'continuous' });
  });

  test('is found with a copy of after it, as one of before it is', () => {
    expect(plan(BEFORE, [first])).toMatchObject({ state: 'ready' });
    expect(plan(undefined, [first, next])).toMatchObject({ state: 'ready' });
    expect(plan('2026-11-26T05:00:00Z', [first, next])).toMatchObject({ state: 'ready' });
  });
});

describe('a clone', () => {
  const [A, B] = ['2026-11-26T01:00:00Z', '2026-11-26T01:00:01Z'];
  const asked = (
    requestedAt: string,
    phase: 'Running' | 'Succeeded' | 'Failed',
  ): BackupResource => {
    const made = backup('elsewhere', phase);
    return { ...made, spec: { ...made.spec, requestedAt } };
  };
  const clone = copy({ deployment: SOURCE, requestedAt: A });

  test('waits for the backup that was asked for, and takes that and no older one', () => {
    expect(planned(clone, [backup('elsewhere')])).toMatchObject({ state: 'waits' });
    expect(planned(clone, [backup('elsewhere'), asked(A, 'Running')])).toMatchObject({
      state: 'waits',
    });
    expect(planned(clone, [asked(A, 'Succeeded')])).toMatchObject({
      state: 'ready',
      order: { name: '20261126t020000z', owner: { id: CLAIMED } },
    });
  });

  test('takes that of a later request, which has taken the place of its own', () => {
    expect(planned(clone, [asked(A, 'Failed'), asked(B, 'Succeeded')])).toMatchObject({
      state: 'ready',
    });
    expect(
      planned(copy({ deployment: SOURCE, requestedAt: B }), [asked(A, 'Succeeded')]),
    ).toMatchObject({ state: 'waits' });
  });

  test('ends with the words of a backup that failed, and without its original', () => {
    expect(planned(clone, [asked(A, 'Failed')])).toMatchObject({
      reason: 'BackupMissing',
      message: expect.stringContaining('The store is full.') as string,
    });
    expect(planned(clone, [asked(A, 'Succeeded')], [])).toMatchObject({
      state: 'fault',
      reason: 'BackupMissing',
    });
  });
});

test('one that is restored, and one that has served without a status, is never restored again', () => {
  expect(planned(copy(NAMED, { restoredBackup: 'x' }))).toEqual({ state: 'done' });
  expect(planned(copy(NAMED, { activeRevision: 'copy-00001' }))).toEqual({ state: 'done' });
  expect(planned(deployment())).toBeUndefined();
});

test('no backup is made of a database that is still to be restored', () => {
  const wanted = copy(NAMED);
  const backed = {
    ...wanted,
    spec: {
      ...wanted.spec,
      database: {
        ...wanted.spec.database,
        backup: { target: 'main', requestedAt: '2026-11-26T02:00:00Z' },
      },
    },
  };
  const seen = {
    backups: [],
    settings: by,
    now: new Date('2026-11-26T03:00:00Z'),
    asleepSince: undefined,
  };
  expect(planBackup(backed, seen)).toMatchObject({ isDue: false });
  expect(planBackup({ ...backed, status: { restoredBackup: 'x' } }, seen)).toMatchObject({
    isDue: true,
  });
});
