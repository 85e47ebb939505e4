import { describe, expect, test } from 'vitest';
import { backupEndOf, summarizeLastBackups } from '../../../../src/operator/backup/last.ts';
import { planBackup } from '../../../../src/operator/backup/plan.ts';
import { buildBackupStatement } from '../../../../src/operator/backup/statement.ts';
import { planVerification } from '../../../../src/operator/backup/verify-plan.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../../../src/schema/platform/resources/custom-resources.ts';
import { backupName } from '../../../../src/schema/wire/backup-message.ts';
import { deployment, fromGit, settings } from '../../../kit/objects.ts';

const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'ours',
  region: 'eu-1',
  prefix: '',
  pathStyle: false,
  secretName: 'store',
};
const by = (verifyDays = 7) =>
  settings({
    backups: {
      targets: { main: TARGET },
      atOnce: 2,
      deadlineMinutes: 60,
      verifyDays,
      image: 'platform',
    },
  });
const chat: DeploymentResource = deployment({ spec: { database: { backup: { target: 'main' } } } });
const record = (time: string, more: BackupResource['status'] = {}): BackupResource => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Backup',
  metadata: { name: `chat-${backupName(new Date(time))}`, namespace: 'team' },
  spec: {
    deployment: 'chat',
    deploymentUid: chat.metadata.uid ?? '',
    backup: backupName(new Date(time)),
    target: 'main',
    method: 'dump',
  },
  status: { phase: 'Succeeded', from: time, until: time, size: '1 MB', ...more },
});
const plan = (now: string, backups: BackupResource[], { of = chat, days = 7 } = {}) =>
  planVerification(of, backups, by(days), new Date(now));

describe('a backup is verified', () => {
  const first = record('2026-11-01T02:00:00Z');
  const verified = record('2026-11-01T02:00:00Z', { verified: '2026-11-01T03:00:00Z' });

  test('for the first time at once, and then the newest in so many days', () => {
    expect(plan('2026-11-01T02:01:00Z', [first])?.due).toBe(first);
    const newest = record('2026-11-08T02:00:00Z');
    expect(plan('2026-11-08T02:59:00Z', [newest, verified])?.due).toBeUndefined();
    expect(plan('2026-11-08T04:00:00Z', [newest, verified])?.due).toBe(newest);
  });

  test('again a day after it has failed, and never two at once', () => {
    const failed = record('2026-11-01T02:00:00Z', { verifyFailed: '2026-11-01T03:00:00Z' });
    expect(plan('2026-11-02T02:59:00Z', [failed])).toMatchObject({ due: undefined, failed });
    expect(plan('2026-11-02T03:00:00Z', [failed])?.due).toBe(failed);
    const running = record('2026-11-01T02:00:00Z', { verifying: '2026-11-02T03:00:00Z' });
    expect(plan('2026-11-09T03:00:00Z', [running, record('2026-11-08T02:00:00Z')])).toMatchObject({
      running,
      due: undefined,
    });
  });

  test('only where it is asked for: not of a dev type, and not where the installation has none', () => {
    const dev = deployment(
      fromGit('main', {
        spec: {
          source: 'git',
          sourceConfig: { deploymentType: 'dev' },
          database: { backup: { target: 'main' } },
        },
      }),
    );
    expect(plan('2026-11-01T02:01:00Z', [first], { of: dev })).toBeUndefined();
    expect(plan('2026-11-01T02:01:00Z', [first], { days: 0 })).toBeUndefined();
    expect(plan('2026-11-01T02:01:00Z', [first], { of: deployment() })).toBeUndefined();
  });
});

test('a backup that did not come back as it was makes BackedUp False, until another one has', () => {
  const failed = record('2026-11-01T02:00:00Z', {
    verifyFailed: '2026-11-01T03:00:00Z',
    verifyMessage: 'NotVerified: gx.thread (2 rows, and had 3).',
  });
  const state = (backups: BackupResource[]) => {
    const now = new Date('2026-11-02T12:00:00Z');
    const backup = planBackup(chat, { backups, settings: by(), now, asleepSince: undefined })!;
    return buildBackupStatement(backup, {
      settings: by(),
      now,
      hibernates: false,
      verification: plan('2026-11-02T12:00:00Z', backups),
    });
  };
  expect(state([failed])).toMatchObject({
    status: 'False',
    reason: 'VerificationFailed',
    message: expect.stringContaining('gx.thread (2 rows, and had 3)') as string,
  });
  const better = record('2026-11-02T02:00:00Z', { verified: '2026-11-02T03:00:00Z' });
  expect(state([failed, better])).toMatchObject({
    status: 'True',
    message: expect.stringContaining('last verified at 2026-11-02T03:00:00Z') as string,
  });
  const ends = [better, failed].map((one) => backupEndOf(one)!);
  expect(summarizeLastBackups(ends)).toMatchObject({
    verifiedAt: Date.parse('2026-11-02T03:00:00Z') / 1000,
  });
});
