import { expect, test } from 'vitest';
import { backupJobConfig } from '../../src/config/backup-job.ts';
import { restoreJobConfig, verifyJobConfig } from '../../src/config/restore-job.ts';

/** The part of a target by which its kind is told. */
const TARGET = { endpoint: 'https://s3.example.com' };
const ENV = {
  GX_BACKUP: '{"name":"20261126t020000z","target":{"endpoint":"https://s3.example.com"},"holds":{"text":"\\u0024(HOME)"}}',
  GX_BACKUP_ACCESS_KEY_ID: 'a-key-id',
  GX_BACKUP_SECRET_ACCESS_KEY: 'a-secret-key',
  GX_BACKUP_PIPE: '/somewhere/pipe',
};

test('the Job of a backup reads its order, its credential and the folder that both containers share', () => {
  expect(backupJobConfig(ENV)).toEqual({
    order: { name: '20261126t020000z', target: TARGET, holds: { text: '$(HOME)' } },
    keys: { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' },
    mount: '/gx/store',
    pipe: '/somewhere/pipe',
    terminationLog: '/dev/termination-log',
  });
});

test('without an order and a credential it does not start, and says what is missing', () => {
  expect(() => backupJobConfig({})).toThrow(
    /GX_BACKUP is not set.*GX_BACKUP_ACCESS_KEY_ID is not set.*GX_BACKUP_SECRET_ACCESS_KEY is not set/,
  );
});

test('the Job of a restore reads its order, its credential and the keys that the agents will read with', () => {
  const { GX_BACKUP: _, ...env } = ENV;
  const key = Buffer.alloc(32, 7);
  const given = { ...env, GX_RESTORE: JSON.stringify({ into: 'a-uid', target: TARGET }), LANGGRAPH_AES_KEY: key.toString('base64') };
  expect(restoreJobConfig(given)).toEqual({
    order: { into: 'a-uid', target: TARGET },
    keys: { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' },
    encryptionKeys: [key.toString('base64')],
    mount: '/gx/store',
    pipe: '/somewhere/pipe',
    terminationLog: '/dev/termination-log',
  });
  // The agent server tells what is wrong with a key.
  expect(restoreJobConfig({ ...given, LANGGRAPH_AES_KEY: 'short' }).encryptionKeys).toEqual([]);
  expect(() => restoreJobConfig({})).toThrow(/GX_RESTORE is not set/);
});

test('the Job of a verification knows no keys of encryption', () => {
  const { GX_BACKUP: _, ...env } = ENV;
  expect(
    verifyJobConfig({ ...env, GX_VERIFY: JSON.stringify({ name: '20261126t020000z', target: TARGET }), GX_AES_KEY: 'a'.repeat(32) }),
  ).toEqual({
    order: { name: '20261126t020000z', target: TARGET },
    keys: { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' },
    mount: '/gx/store',
    pipe: '/somewhere/pipe',
    terminationLog: '/dev/termination-log',
  });
  expect(() => verifyJobConfig({})).toThrow(/GX_VERIFY is not set.*GX_BACKUP_ACCESS_KEY_ID is not set/);
});
