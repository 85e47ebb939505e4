import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createBackup } from '../../src/backup/run.ts';
import type { BackupDone, BackupOrder } from '../../src/schema/wire/backup-message.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { openFaultyProxy, refuse, type Fault, type FaultyProxy } from './faulty-proxy.ts';
import { newPipe } from './dump-double.ts';

/* A real S3 server behind a proxy with faults. A good backup is there before each, and must be there afterwards. */

const GOOD = '20261125t020000z';
const NEXT = '20261126t020000z';
/** Three parts of an upload and a rest. */
const BYTES = Buffer.alloc(40 * 1_048_576, 'some rows of a table ');
const UPLOAD = /[?&]partNumber=/;

let store: S3Server;
let proxy: FaultyProxy;
let pipe: string;
let next = 0;

beforeAll(async () => {
  store = await startS3Server();
  proxy = await openFaultyProxy(store.target.endpoint);
});
afterAll(async () => {
  proxy.stop();
  await store.stop();
});
beforeEach(async () => {
  proxy.fault = () => undefined;
  pipe = await newPipe();
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(pipe, { recursive: true });
});

/** Returns the order of an owner whose folder nobody has used. */
function newOrder(): BackupOrder {
  next += 1;
  const id = `00000000-0000-4000-8000-${String(next).padStart(12, '0')}`;
  const owner = { tenant: '00000000-0000-4000-8000-000000000000', id, uid: id };
  return {
    name: GOOD,
    target: { ...store.target, endpoint: proxy.endpoint },
    owner,
    keep: { count: 7 },
    holds: {},
  };
}

const attempt = (order: BackupOrder): Promise<BackupDone> =>
  createBackup(
    {
      order,
      keys: S3_KEYS,
      mount: '/none',
      pipe,
      copier: '/none',
      terminationLog: '/dev/null',
      pauses: [5, 10, 20],
    },
    new AbortController().signal,
  );

/** Makes a backup, with a stand-in for the container with pg_dump. */
async function run(order: BackupOrder): Promise<BackupDone> {
  await rm(pipe, { recursive: true });
  pipe = await newPipe();
  execFileSync('mkfifo', [join(pipe, 'answers', 'dump')]);
  await writeFile(join(pipe, 'answers', 'facts'), '17.6\n3\n1\n\n2026-11-26T02:00:01Z\n');
  await writeFile(join(pipe, 'answers', 'counts'), 'gx.run 2 77\n');
  const made = attempt(order);
  // pg_dump ends by itself once nobody reads it any more.
  const dumped = writeFile(join(pipe, 'answers', 'dump'), BYTES).then(
    () => writeFile(join(pipe, 'answers', 'end'), '0\n'),
    () => undefined,
  );
  try {
    return await made;
  } finally {
    await dumped;
  }
}

/** Lists the names in the catalogue, and those of the dumps. */
async function listed({ owner }: BackupOrder): Promise<{ catalogue: string[]; dumps: string[] }> {
  const keys = await store.keys();
  const below = (folder: string): string[] =>
    keys.flatMap(
      (key) =>
        key.split(`gx/${owner.tenant}/${owner.id}/${folder}/`)[1]?.replace('.json', '') ?? [],
    );
  return { catalogue: below('catalogue'), dumps: below('dumps') };
}

test('a store that is overloaded now and then gets the whole backup all the same', async () => {
  const order = newOrder();
  let count = 0;
  proxy.fault = (_asked, answer) =>
    (count += 1) % 3 === 0 ? refuse(answer, 503, 'SlowDown') : undefined;
  expect(await run(order)).toMatchObject({ bytes: BYTES.length });
  expect(count).toBeGreaterThan(6);
  expect(await listed(order)).toEqual({ catalogue: [GOOD], dumps: [GOOD] });
});

test('uploads that are cut now and then are sent again, and the object has all bytes', async () => {
  const order = newOrder();
  let count = 0;
  proxy.fault = (asked) => {
    if (!UPLOAD.test(asked.url ?? '') || (count += 1) % 2 === 0) return undefined;
    asked.once('data', () => asked.destroy());
    return 'handled';
  };
  expect(await run(order)).toMatchObject({ bytes: BYTES.length });
  // Three parts, and each was cut once.
  expect(count).toBeGreaterThanOrEqual(6);
  const { owner } = order;
  expect((await store.content(`gx/${owner.tenant}/${owner.id}/dumps/${GOOD}`)).equals(BYTES)).toBe(
    true,
  );
});

const isUpload = (asked: IncomingMessage): boolean => UPLOAD.test(asked.url ?? '');

test.each<[string, string, Fault]>([
  [
    'overloaded for good',
    'TargetUnreachable',
    (asked, answer) => (isUpload(asked) ? refuse(answer, 503, 'SlowDown') : undefined),
  ],
  [
    'that cuts every upload',
    'TargetUnreachable',
    (asked) =>
      isUpload(asked) ? (asked.once('data', () => asked.destroy()), 'handled') : undefined,
  ],
  [
    'that is full',
    'NoRoom',
    (asked, answer) =>
      /partNumber=2/.test(asked.url ?? '') ? refuse(answer, 507, 'InsufficientStorage') : undefined,
  ],
  [
    'that is full when the catalogue is written',
    'NoRoom',
    (asked, answer) =>
      asked.method === 'PUT' && asked.url?.includes('/catalogue/') === true
        ? refuse(answer, 507, 'XMinioStorageFull')
        : undefined,
  ],
])(
  'a store %s loses nothing and lists no half backup, and the next one is made',
  async (_situation, reason, faulty) => {
    const order = newOrder();
    await run(order);
    proxy.fault = faulty;
    await expect(run({ ...order, name: NEXT })).rejects.toMatchObject({ reason });
    expect((await listed(order)).catalogue).toEqual([GOOD]);
    proxy.fault = () => undefined;
    await run({ ...order, name: '20261127t020000z' });
    const both = [GOOD, '20261127t020000z'];
    expect(await listed(order)).toEqual({ catalogue: both, dumps: both });
  },
);

test('a clock that is twenty minutes off is told with the words of the store', async () => {
  const order = newOrder();
  await run(order);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 20 * 60_000 });
  await expect(attempt({ ...order, name: NEXT })).rejects.toMatchObject({
    reason: 'TargetRefused',
    message: expect.stringMatching(/RequestTimeTooSkewed/) as string,
  });
  expect(await listed(order)).toEqual({ catalogue: [GOOD], dumps: [GOOD] });
});
