import { execFileSync } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { restoreBackup } from '../../src/backup/restore.ts';
import { createBackup } from '../../src/backup/run.ts';
import type { RestoreDone } from '../../src/schema/wire/restore-message.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { until } from '../kit/until.ts';
import { backupsAt } from './backups-at.ts';
import { dumpInto, newPipe } from './dump-double.ts';
import { openFaultyProxy, refuse, type Fault, type FaultyProxy } from './faulty-proxy.ts';

/*
 * A backup is read from a real S3 server behind a proxy with faults. A test stands in for the container with
 * pg_restore.
 */

const NAME = '20261126t020000z';
/** More than one part of a download. */
const BYTES = Buffer.alloc(40 * 1_048_576, 'some rows of a table ');

let store: S3Server;
let proxy: FaultyProxy;
let pipe: string;
let owner: { tenant: string; id: string; uid: string };

beforeAll(async () => {
  store = await startS3Server();
  proxy = await openFaultyProxy(store.target.endpoint);
  pipe = await newPipe();
  const { order, configFor } = backupsAt(() => ({ target: store.target, mount: '/none', pipe }));
  const given = order({ name: NAME });
  ({ owner } = given);
  await Promise.all([
    createBackup(configFor(given), new AbortController().signal),
    dumpInto(pipe, BYTES, { keys: '' }),
  ]);
  await rm(pipe, { recursive: true });
});
afterAll(async () => {
  proxy.stop();
  await store.stop();
});
beforeEach(async () => {
  pipe = await newPipe();
  execFileSync('mkfifo', [join(pipe, 'answers', 'dump')]);
  await writeFile(join(pipe, 'answers', 'found'), '17.6\nempty\n');
});
afterEach(() => rm(pipe, { recursive: true }));

/** Restores the backup through the proxy. Returns the result, and the bytes if they are committed. */
async function restore(
  fault: Fault,
): Promise<{ done: PromiseSettledResult<RestoreDone>; committed: Buffer | undefined }> {
  proxy.fault = fault;
  const order = {
    target: { ...store.target, endpoint: proxy.endpoint },
    owner,
    into: 'the-new-one',
    resume: true,
  };
  const config = {
    order,
    keys: S3_KEYS,
    mount: '/none',
    encryptionKeys: [],
    pipe,
    copier: '/none',
    terminationLog: '/dev/null',
    pauses: [5, 10, 20],
  };
  const isThere = (name: string): Promise<boolean> =>
    readFile(join(pipe, 'orders', name)).then(
      () => true,
      () => false,
    );
  let committed: Buffer | undefined;
  let over: 'over' | undefined;
  const receives = async (): Promise<void> => {
    const begins = await until('it begins or ends', async () =>
      (await isThere('go')) ? 'go' : over,
    );
    if (begins !== 'go') return;
    const bytes = await readFile(join(pipe, 'answers', 'dump'));
    const isWhole = await until('it ends', async () => ((await isThere('whole')) ? 'whole' : over));
    if (isWhole === 'whole') committed = bytes;
    await writeFile(join(pipe, 'answers', 'end'), isWhole === 'whole' ? '0\n' : '1\n');
  };
  const restoring = restoreBackup(config, new AbortController().signal).finally(
    () => (over = 'over'),
  );
  const [done] = await Promise.allSettled([restoring, receives()]);
  return { done, committed };
}

test('a store that is overloaded now and then gives all bytes', async () => {
  let count = 0;
  const { done, committed } = await restore((_asked, answer) =>
    (count += 1) % 2 === 0 ? refuse(answer, 503, 'SlowDown') : undefined,
  );
  expect(done).toMatchObject({ status: 'fulfilled', value: { backup: `${owner.id}/${NAME}` } });
  expect(committed?.equals(BYTES)).toBe(true);
  expect(count).toBeGreaterThan(4);
});

test('downloads that are cut in their middle now and then give all bytes, each once', async () => {
  let asked = 0;
  const { done, committed } = await restore(({ url = '' }, answer) => {
    if (!url.includes('/dumps/')) return undefined;
    asked += 1;
    if (asked % 2 === 1) answer.write = (...given) => (answer.destroy(), given.length > 0);
    return undefined;
  });
  expect(done).toMatchObject({ status: 'fulfilled' });
  // Five parts, and each was cut once.
  expect([asked, committed?.equals(BYTES)]).toEqual([10, true]);
});

test.each<[string, Fault]>([
  ['is overloaded for good', (_asked, answer) => refuse(answer, 503, 'SlowDown')],
  [
    'cuts every download of the dump',
    (asked, answer) =>
      (asked.url ?? '').includes('/dumps/') ? (answer.destroy(), 'handled' as const) : undefined,
  ],
])(
  'from a store that %s nothing is committed, and the reason is told',
  async (_situation, fault) => {
    const { done, committed } = await restore(fault);
    expect(done).toMatchObject({ status: 'rejected', reason: { reason: 'TargetUnreachable' } });
    expect(committed).toBeUndefined();
  },
);
