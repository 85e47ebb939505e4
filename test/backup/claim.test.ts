import { createHash, randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { giveUp } from '../../src/backup/pipe.ts';
import { checkBackup, restoreBackup } from '../../src/backup/restore.ts';
import { createBackup } from '../../src/backup/run.ts';
import { openBackupStore } from '../../src/backup/store.ts';
import { backupJobConfig } from '../../src/config/jobs/backup-job.ts';
import type { RestoreJobConfig } from '../../src/config/jobs/restore-job.ts';
import type { BackupDone, BackupOrder } from '../../src/schema/wire/backup-message.ts';
import type { RestoreDone } from '../../src/schema/wire/restore-message.ts';
import { claimStore, smallClaimStore, type TestedStore } from '../kit/backup-stores.ts';
import { until } from '../kit/until.ts';
import { dumpInto, forgetDump, newPipe } from './dump-double.ts';

/* A volume claim as the target of backups. */

const OWNER = {
  tenant: '00000000-0000-4000-8000-000000000000',
  id: '00000000-0000-4000-8000-00000000000a',
  uid: 'uid',
};
const FOLDER = `gx/${OWNER.tenant}/${OWNER.id}`;
const BYTES = randomBytes(20 * 1_048_576);
const NO_KEYS = { accessKeyId: '', secretAccessKey: '' };

let store: TestedStore;
let pipe: string;
beforeAll(async () => {
  store = await claimStore();
});
afterAll(() => store.stop());
beforeEach(async () => {
  pipe = await newPipe();
});
afterEach(() => rm(pipe, { recursive: true }));

const signal = (): AbortSignal => new AbortController().signal;
const orderFor = ({ target }: TestedStore, name: string): BackupOrder => ({
  name,
  target,
  owner: OWNER,
  keep: { count: 7 },
  holds: {},
});
const backs = ({ mount, ...at }: TestedStore, name: string): Promise<BackupDone> =>
  createBackup(
    {
      order: orderFor({ mount, ...at }, name),
      keys: NO_KEYS,
      mount,
      pipe,
      copier: '/none',
      terminationLog: '/dev/null',
    },
    signal(),
  );
/** Restores, and lets the other container end if that failed, as the Job does. */
const restore = (name?: string): Promise<RestoreDone> =>
  restoreBackup(restoring(name), signal()).catch(async (error: unknown) => {
    await giveUp(pipe);
    throw error;
  });
const restoring = (name?: string): RestoreJobConfig => ({
  order: {
    target: store.target,
    owner: OWNER,
    into: 'the-new-one',
    resume: true,
    ...(name !== undefined && { name }),
  },
  keys: NO_KEYS,
  mount: store.mount,
  encryptionKeys: [],
  pipe,
  copier: '/none',
  terminationLog: '/dev/null',
});

/** Does what the container with pg_restore does: it reads all bytes, and ends well only if they were whole. */
async function restores(): Promise<Buffer> {
  execFileSync('mkfifo', [join(pipe, 'answers', 'dump')]);
  await writeFile(join(pipe, 'answers', 'found'), '17.6\nempty\n');
  const isThere = (name: string): Promise<boolean> =>
    readFile(join(pipe, 'orders', name)).then(
      () => true,
      () => false,
    );
  await until('it may begin', () => isThere('go'));
  const bytes = await readFile(join(pipe, 'answers', 'dump'));
  await until('it hears of the end', async () => (await isThere('whole')) || isThere('stop'));
  await writeFile(join(pipe, 'answers', 'end'), (await isThere('whole')) ? '0\n' : '1\n');
  return bytes;
}

test('a backup comes back from it byte by byte, and a check finds it', async () => {
  const name = '20261126t020000z';
  await Promise.all([backs(store, name), dumpInto(pipe, BYTES, { keys: '' })]);
  await forgetDump(pipe);
  await writeFile(join(pipe, 'answers', 'found'), '17.6\nempty\n');
  expect(await checkBackup(restoring(), signal())).toMatchObject({ backup: `${OWNER.id}/${name}` });
  const [done, bytes] = await Promise.all([restore(), restores()]);
  expect(done.backup).toBe(`${OWNER.id}/${name}`);
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(
    createHash('sha256').update(BYTES).digest('hex'),
  );
});

test('a dump that was cut off on it is not restored', async () => {
  const name = '20261127t020000z';
  await Promise.all([backs(store, name), dumpInto(pipe, BYTES, { keys: '' })]);
  await forgetDump(pipe);
  await writeFile(join(store.mount, FOLDER, 'dumps', name), BYTES.subarray(0, 1000));
  const [failed] = await Promise.allSettled([restore(name), restores()]);
  expect(failed).toMatchObject({
    status: 'rejected',
    reason: { reason: 'RestoreFailed', message: expect.stringContaining('SHA-256') as string },
  });
});

test('a full one says so, holds no half backup, and keeps those that it has', async () => {
  const small = await smallClaimStore(4);
  try {
    await Promise.all([backs(small, '20261126t020000z'), dumpInto(pipe, Buffer.alloc(1000, 'a'))]);
    await forgetDump(pipe);
    const before = await small.keys();
    const [failed] = await Promise.allSettled([
      backs(small, '20261127t020000z'),
      dumpInto(pipe, BYTES),
    ]);
    expect(failed).toMatchObject({
      status: 'rejected',
      reason: {
        reason: 'NoRoom',
        message: expect.stringMatching(/Volume claim gx-backups answers "ENOSPC/) as string,
      },
    });
    expect(await small.keys()).toEqual(before);
  } finally {
    await small.stop();
  }
});

test('the next backup removes what one that was killed has left', async () => {
  const left = join(store.mount, FOLDER, 'dumps', '20261128t020000z.begun-1');
  await mkdir(join(store.mount, FOLDER, 'dumps'), { recursive: true });
  await writeFile(left, 'half of it');
  const opened = openBackupStore(store.target, NO_KEYS, store.mount, signal());
  expect(await opened.listKeys(`${FOLDER}/dumps/`)).not.toContain(
    `${FOLDER}/dumps/20261128t020000z.begun-1`,
  );
  await Promise.all([backs(store, '20261129t020000z'), dumpInto(pipe, Buffer.from('a dump'))]);
  expect((await store.keys()).filter((key) => key.includes('begun'))).toEqual([]);
});

test('a name that leads out of the folder is refused', async () => {
  const opened = openBackupStore(store.target, NO_KEYS, store.mount, signal());
  await expect(opened.read(`${FOLDER}/catalogue/../../other.json`)).rejects.toMatchObject({
    reason: 'TargetRefused',
  });
});

test('its Job needs no credential', () => {
  const order = orderFor(store, '20261126t020000z');
  expect(backupJobConfig({ GX_BACKUP: JSON.stringify(order) })).toMatchObject({
    order,
    mount: '/gx/store',
    keys: NO_KEYS,
  });
  const { target } = order;
  expect(() => openBackupStore(target, NO_KEYS, store.mount, signal())).not.toThrow();
  const s3 = { endpoint: 'https://s3', bucket: 'b', region: '', prefix: '', pathStyle: true };
  expect(() => openBackupStore(s3, NO_KEYS, store.mount, signal())).toThrow(
    'lacks accessKeyId or secretAccessKey',
  );
});
