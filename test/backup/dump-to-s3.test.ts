import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createBackup } from '../../src/backup/run.ts';
import type { BackupJobConfig } from '../../src/config/jobs/backup-job.ts';
import type { BackupDone, BackupOrder } from '../../src/schema/wire/backup-message.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { backupsAt } from './backups-at.ts';
import { newPipe } from './dump-double.ts';

/* A real S3 server, and a stand-in for the container with pg_dump: a real pipe, into which a test writes. */

let store: S3Server;
let pipe: string;

beforeAll(async () => {
  store = await startS3Server();
});
afterAll(() => store.stop());
beforeEach(async () => {
  pipe = await newPipe();
});
afterEach(() => rm(pipe, { recursive: true }));

const { order, configFor, dumps, run, folderOf } = backupsAt(() => ({
  target: store.target,
  mount: '/none',
  pipe,
}));
const keysOf = async (given: BackupOrder): Promise<string[]> => {
  const below = `${folderOf(given)}/`;
  return (await store.keys())
    .filter((key) => key.startsWith(below))
    .map((key) => key.slice(below.length));
};

describe('a backup', () => {
  test('is not listed if the store is gone in its middle', async () => {
    const given = order();
    const made = createBackup(configFor(given), new AbortController().signal);
    const cut = async (): Promise<void> => {
      await expect.poll(() => keysOf(given)).toContain('owner.json');
      await store.kill();
      await dumps(Buffer.from('a dump'));
    };
    await Promise.all([expect(made).rejects.toMatchObject({ reason: 'TargetUnreachable' }), cut()]);
    await store.start();
    expect(await keysOf(given)).toEqual(['owner.json']);
    await rm(join(pipe, 'answers', 'dump'));
    // The next one clears away what it has begun.
    await run({ ...given, name: '20261126t030000z' });
    expect(await keysOf(given)).toEqual([
      'catalogue/20261126t030000z.json',
      'dumps/20261126t030000z',
      'owner.json',
    ]);
  });
});

describe('a target that does not take the backup is told with the words of the store', () => {
  const attempt = (given: BackupOrder, more: Partial<BackupJobConfig> = {}): Promise<BackupDone> =>
    createBackup(configFor(given, more), new AbortController().signal);

  test('a wrong key', async () => {
    const keys = { ...S3_KEYS, secretAccessKey: 'another' };
    await expect(attempt(order(), { keys })).rejects.toMatchObject({
      reason: 'TargetRefused',
      message: expect.stringContaining('SignatureDoesNotMatch') as string,
    });
  });

  test('a bucket that is not there', async () => {
    await expect(
      attempt(order({ target: { ...store.target, bucket: 'no-such-bucket' } })),
    ).rejects.toMatchObject({
      reason: 'TargetMissing',
    });
  });

  test('an address at which nobody answers', async () => {
    await expect(
      attempt(order({ target: { ...store.target, endpoint: 'http://127.0.0.1:1' } })),
    ).rejects.toMatchObject({
      reason: 'TargetUnreachable',
    });
  });

  test('a full store, and one that is overloaded for a moment', async () => {
    const answers: [number, string][] = [[503, '<Error><Code>SlowDown</Code></Error>']];
    const fake: Server = createServer((_request, response) => {
      const [status, body] = answers.shift() ?? [
        507,
        '<Error><Code>XMinioStorageFull</Code><Message>The drive is full</Message></Error>',
      ];
      response.writeHead(status).end(body);
    });
    await new Promise<void>((resolve) => void fake.listen(0, '127.0.0.1', resolve));
    const { port } = fake.address() as { port: number };
    try {
      await expect(
        attempt(order({ target: { ...store.target, endpoint: `http://127.0.0.1:${port}` } })),
      ).rejects.toMatchObject({
        reason: 'NoRoom',
        message: expect.stringContaining('The drive is full') as string,
      });
      expect(answers).toEqual([]);
    } finally {
      fake.closeAllConnections();
      fake.close();
    }
  });
});
