import { describe, expect, test } from 'vitest';
import { planBackup } from '../../../../src/operator/backup/plan.ts';
import { computeNextBackupTime } from '../../../../src/schema/platform/backup/backup-schedule.ts';
import { buildBackupStatement } from '../../../../src/operator/backup/statement.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../../../src/schema/platform/resources/custom-resources.ts';
import { backupName } from '../../../../src/schema/wire/backup-message.ts';
import { newDeployment, settings } from '../../../kit/objects.ts';

const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'our-backups',
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
const at = (time: string): Date => new Date(time);

const chat = (backup: object, more: object = {}): DeploymentResource => {
  const made = newDeployment('agents', {
    metadata: { name: 'chat' },
    spec: { database: { backup: { target: 'main', ...backup } }, ...more },
  });
  return {
    ...made,
    metadata: { ...made.metadata, uid: UID, creationTimestamp: '2026-11-01T00:00:00Z' },
  };
};
const record = (
  time: string,
  phase: 'Running' | 'Succeeded' | 'Failed',
  more: object = {},
): BackupResource => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Backup',
  metadata: { name: `chat-${backupName(at(time))}` },
  spec: {
    deployment: 'chat',
    deploymentUid: UID,
    backup: backupName(at(time)),
    target: 'main',
    method: 'dump',
  },
  status: { phase, from: time, until: time, size: '1 MB', ...more },
});
const planAt = (
  now: string,
  backups: BackupResource[],
  {
    deployment = chat({ schedule: '0 2 * * *' }),
    asleepSince = undefined as string | undefined,
  } = {},
) => planBackup(deployment, { backups, settings: by, now: at(now), asleepSince })!;

describe('a backup is due', () => {
  test('once a day, after the hour of the schedule and within the hour that follows', () => {
    const plan = planAt('2026-11-26T12:00:00Z', [record('2026-11-26T02:50:00Z', 'Succeeded')]);
    expect(plan.isDue).toBe(false);
    expect(plan.dueAt?.toISOString()).toMatch(/^2026-11-27T02:/);
    expect(
      planAt('2026-11-27T03:00:00Z', [record('2026-11-26T02:50:00Z', 'Succeeded')]).isDue,
    ).toBe(true);
  });

  test('at the hour of its time zone', () => {
    const deployment = chat({ schedule: '0 2 * * *', timeZone: 'Asia/Tokyo' });
    expect(
      planAt('2026-11-26T12:00:00Z', [record('2026-11-25T17:50:00Z', 'Succeeded')], {
        deployment,
      }).dueAt?.toISOString(),
    ).toMatch(/^2026-11-26T17:/);
  });

  test('never while another is under way, and never while the deployment hibernates', () => {
    expect(planAt('2026-11-28T12:00:00Z', [record('2026-11-28T11:59:00Z', 'Running')]).isDue).toBe(
      false,
    );
    const deployment = chat({ schedule: '0 2 * * *' }, { hibernate: true });
    expect(planAt('2026-11-28T12:00:00Z', [], { deployment }).isDue).toBe(false);
  });

  test('again a quarter of an hour after a failure, and later after each further one', () => {
    const failures = [record('2026-11-26T02:00:00Z', 'Failed')];
    expect(planAt('2026-11-26T02:14:00Z', failures).isDue).toBe(false);
    expect(planAt('2026-11-26T02:15:00Z', failures).isDue).toBe(true);
    const more = [
      ...failures,
      record('2026-11-26T02:15:00Z', 'Failed'),
      record('2026-11-26T02:45:00Z', 'Failed'),
    ];
    expect(planAt('2026-11-26T03:00:00Z', more).dueAt).toEqual(at('2026-11-26T03:45:00Z'));
  });

  test('at once where the data has been replaced, though the copy under way until then has failed', () => {
    const failed = { ...record('2026-11-26T02:00:00Z', 'Failed') };
    const copies = [{ ...failed, spec: { ...failed.spec, method: 'continuous' as const } }];
    const made = chat({ method: 'continuous' });
    const replacedAt = (restoredAt: string) =>
      planAt('2026-11-26T02:01:00Z', copies, {
        deployment: {
          ...made,
          status: { ...made.status, archivedSince: '2026-11-25T00:00:00Z', restoredAt },
        },
      }).isDue;
    expect(replacedAt('2026-11-26T02:00:37Z')).toBe(true);
    expect(replacedAt('2026-11-26T01:59:00Z')).toBe(false);
  });

  test('of a database that sleeps only if it has been awake since the last one', () => {
    const backups = [record('2026-11-26T02:50:00Z', 'Succeeded')];
    expect(
      planAt('2026-11-28T12:00:00Z', backups, { asleepSince: '2026-11-26T01:00:00Z' }).isDue,
    ).toBe(false);
    expect(
      planAt('2026-11-28T12:00:00Z', backups, { asleepSince: '2026-11-26T03:00:00Z' }).isDue,
    ).toBe(true);
  });
});

test('a thousand deployments with one schedule do not start at once, and each keeps its own moment', () => {
  const when = { schedule: '0 2 * * *' };
  const last = at('2026-11-26T12:00:00Z');
  const moments = Array.from({ length: 1000 }, (_, index) =>
    computeNextBackupTime(when, last, `uid-${index}`)!.getTime(),
  );
  const minutes = moments.map((moment) =>
    Math.floor((moment - Date.parse('2026-11-27T02:00:00Z')) / 60_000),
  );
  expect(Math.min(...minutes)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...minutes)).toBeLessThan(60);
  const most = Math.max(
    ...[...Map.groupBy(minutes, (minute) => minute).values()].map((group) => group.length),
  );
  expect(most).toBeLessThan(50);
  expect(computeNextBackupTime(when, last, 'uid-7')!.getTime()).toBe(moments[7]);
});

test('objects of expired backups go, but never that of the last good one, and the last failures stay', () => {
  const deployment = chat({ keep: { count: 2 } });
  const good = ['01', '02', '03'].map((day) => record(`2026-11-${day}T02:00:00Z`, 'Succeeded'));
  const bad = ['04', '05', '06', '07'].map((day) => record(`2026-11-${day}T02:00:00Z`, 'Failed'));
  expect(planAt('2026-11-26T12:00:00Z', [...good, ...bad], { deployment }).outdated).toEqual([
    good[0],
    bad[0],
  ]);
});

test('a backup that is due for longer than one may take is overdue, and the message says since when', () => {
  const plan = planAt('2026-11-30T12:00:00Z', [record('2026-11-26T02:50:00Z', 'Succeeded')]);
  const stated = buildBackupStatement(plan, {
    settings: by,
    now: at('2026-11-30T12:00:00Z'),
    hibernates: false,
  });
  expect(stated).toMatchObject({
    status: 'False',
    reason: 'Overdue',
    message: expect.stringContaining('2026-11-27T02:') as string,
  });
});
