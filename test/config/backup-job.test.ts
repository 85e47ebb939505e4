import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBackupStore } from '../../src/backup/store.ts';
import { backupJobConfig } from '../../src/config/jobs/backup-job.ts';
import { restoreJobConfig, verifyJobConfig } from '../../src/config/jobs/restore-job.ts';

/** The part of a target by which its kind is told. */
const TARGET = { endpoint: 'https://s3.example.com' };
const { signal } = new AbortController();
const ENV = {
  GX_BACKUP:
    '{"name":"20261126t020000z","target":{"endpoint":"https://s3.example.com"},"holds":{"text":"\\u0024(HOME)"}}',
  GX_BACKUP_PIPE: '/somewhere/pipe',
  GX_BACKUP_COPIER: '/somewhere/copier',
  // The platform reads no secret from a variable.
  GX_BACKUP_ACCESS_KEY_ID: 'of-the-environment',
  GX_AES_KEY: 'b'.repeat(32),
};
let secrets: string;
let env: Record<string, string>;
beforeEach(() => {
  secrets = mkdtempSync(join(tmpdir(), 'gx-secrets-'));
  env = { ...ENV, GX_BACKUP_CREDENTIAL: secrets, GX_BACKUP_ENCRYPTION: secrets };
  put({ accessKeyId: 'a-key-id\n', secretAccessKey: 'a-secret-key' });
});
afterEach(() => rmSync(secrets, { recursive: true }));
const put = (files: Record<string, string>): void => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(secrets, name), text);
};

test('the Job of a backup reads its order, its credential and the folder that both containers share', () => {
  expect(backupJobConfig(env)).toEqual({
    order: { name: '20261126t020000z', target: TARGET, holds: { text: '$(HOME)' } },
    keys: { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' },
    mount: '/gx/store',
    pipe: '/somewhere/pipe',
    copier: '/somewhere/copier',
    terminationLog: '/dev/termination-log',
  });
});

test('without an order it does not start, and a credential that is not there is reported by the store', () => {
  expect(() => backupJobConfig({})).toThrow(/GX_BACKUP is not set/);
  const { target, keys } = {
    target: TARGET,
    keys: backupJobConfig({ ...env, GX_BACKUP_CREDENTIAL: join(secrets, 'none') }).keys,
  };
  expect(keys).toEqual({ accessKeyId: '', secretAccessKey: '' });
  const opened = () =>
    openBackupStore(
      { ...target, bucket: 'b', region: '', prefix: '', pathStyle: true },
      keys,
      '',
      signal,
    );
  expect(opened).toThrow(/The Secret of the target is not there/);
});

test('the Job of a restore reads its order, its credential and the keys that the agents will read with', () => {
  const key = Buffer.alloc(32, 7);
  const given = { ...env, GX_RESTORE: JSON.stringify({ into: 'a-uid', target: TARGET }) };
  put({ LANGGRAPH_AES_KEY: key.toString('base64') });
  expect(restoreJobConfig(given)).toEqual({
    order: { into: 'a-uid', target: TARGET },
    keys: { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' },
    encryptionKeys: [key.toString('base64')],
    mount: '/gx/store',
    pipe: '/somewhere/pipe',
    copier: '/somewhere/copier',
    terminationLog: '/dev/termination-log',
  });
  // The agent server tells what is wrong with a key.
  put({ LANGGRAPH_AES_KEY: 'short' });
  expect(restoreJobConfig(given).encryptionKeys).toEqual([]);
  expect(() => restoreJobConfig({})).toThrow(/GX_RESTORE is not set/);
});

test('the Job of a verification knows no keys of encryption', () => {
  put({ GX_AES_KEY: 'a'.repeat(32) });
  expect(
    verifyJobConfig({
      ...env,
      GX_VERIFY: JSON.stringify({ name: '20261126t020000z', target: TARGET }),
    }),
  ).toEqual({
    order: { name: '20261126t020000z', target: TARGET },
    keys: { accessKeyId: 'a-key-id', secretAccessKey: 'a-secret-key' },
    mount: '/gx/store',
    pipe: '/somewhere/pipe',
    copier: '/somewhere/copier',
    terminationLog: '/dev/termination-log',
  });
  expect(() => verifyJobConfig({})).toThrow(/GX_VERIFY is not set/);
});
