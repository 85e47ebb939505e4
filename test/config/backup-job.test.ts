import { expect, test } from 'vitest';
import { backupJobConfig } from '../../src/config/backup-job.ts';

const ENV = {
  GX_BACKUP: '{"name":"20261126t020000z","holds":{"text":"\\u0024(HOME)"}}',
  GX_BACKUP_ACCESS_KEY_ID: 'a-key-id',
  GX_BACKUP_SECRET_ACCESS_KEY: 'a-secret-key',
  GX_BACKUP_PIPE: '/somewhere/pipe',
};

test('the Job of a backup reads its order, its credential and the folder that both containers share', () => {
  expect(backupJobConfig(ENV)).toEqual({
    order: { name: '20261126t020000z', holds: { text: '$(HOME)' } },
    keys: { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' },
    pipe: '/somewhere/pipe',
    terminationLog: '/dev/termination-log',
  });
});

test('without an order and a credential it does not start, and says what is missing', () => {
  expect(() => backupJobConfig({})).toThrow(
    /GX_BACKUP is not set.*GX_BACKUP_ACCESS_KEY_ID is not set.*GX_BACKUP_SECRET_ACCESS_KEY is not set/,
  );
});
