import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { access, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { checkBackup, restoreBackup } from '../../src/backup/restore.ts';
import { verifyBackup } from '../../src/backup/verify.ts';
import { S3Store } from '../../src/backup/s3/store.ts';
import { upload } from '../../src/backup/upload.ts';
import type { RestoreJobConfig } from '../../src/config/jobs/restore-job.ts';
import { deriveAesKeyId } from '../../src/schema/agent/aes-key-id.ts';
import type { CatalogueEntry } from '../../src/schema/wire/backup-message.ts';
import type { RestoreOrder } from '../../src/schema/wire/restore-message.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { newPipe, takeDump } from './dump-double.ts';

/* A real S3 server, and a stand-in for the container with pg_restore: a real pipe, from which a test reads. */

const TENANT = '00000000-0000-4000-8000-000000000000';
const OTHER_TENANT = '11111111-1111-4111-8111-111111111111';
const ID = '00000000-0000-4000-8000-00000000000a';
const KEY = Buffer.alloc(32, 7).toString('base64');
const BYTES = randomBytes(20 * 1_048_576);
let store: S3Server;
let pipe: string;

beforeAll(async () => {
  store = await startS3Server();
  await keep('20261124t020000z', { from: '2026-11-24T02:00:01.000Z' }, Buffer.from('the first'));
  await keep('20261125t020000z', { from: '2026-11-25T02:00:01.000Z' }, BYTES);
  await keep('20261126t020000z', { from: '2026-11-26T02:00:01.000Z' }, Buffer.from('the last'));
});
afterAll(() => store.stop());
beforeEach(async () => {
  pipe = await newPipe();
  execFileSync('mkfifo', [join(pipe, 'answers', 'dump')]);
});
afterEach(() => rm(pipe, { recursive: true }));

/** Keeps a backup at the store, as the Job of a backup does. */
async function keep(
  name: string,
  entry: Partial<CatalogueEntry>,
  bytes: Buffer,
  id = ID,
): Promise<void> {
  const s3 = new S3Store(store.target, S3_KEYS, { signal: new AbortController().signal });
  const folder = `gx/${TENANT}/${id}`;
  const source = (async function* pieces() {
    yield await Promise.resolve(bytes);
  })();
  const sent = await upload(s3, `${folder}/dumps/${name}`, {
    source,
    whole: () => Promise.resolve(),
  });
  const owner = { tenant: TENANT, id, uid: id };
  const about = {
    name,
    method: 'dump',
    owner,
    postgres: '17.6',
    migration: 1,
    schema: 1,
    keys: [],
    counts: {},
    holds: {},
    until: '',
    from: '',
  };
  await s3.write(
    `${folder}/catalogue/${name}.json`,
    JSON.stringify({ ...about, ...sent, ...entry }),
  );
}

const order = (given: Partial<RestoreOrder> = {}): RestoreOrder => ({
  target: store.target,
  owner: { tenant: TENANT, id: ID },
  into: 'the-new-one',
  resume: false,
  ...given,
});
const attempt = (given: Partial<RestoreOrder> = {}, more: Partial<RestoreJobConfig> = {}) =>
  restoreBackup(
    {
      order: order(given),
      keys: S3_KEYS,
      mount: '/none',
      encryptionKeys: [],
      pipe,
      copier: '/none',
      terminationLog: '/dev/null',
      pauses: [10, 20],
      ...more,
    },
    new AbortController().signal,
  );
const found = (state = 'empty', version = '17.6 (Debian)'): Promise<void> =>
  writeFile(join(pipe, 'answers', 'found'), `${version}\n${state}\n`);
const isThere = (name: string): Promise<boolean> =>
  access(join(pipe, 'orders', name)).then(
    () => true,
    () => false,
  );

/** Does what the other container does: it reads all bytes, and ends well only if they were whole. */
async function restores(): Promise<Buffer> {
  await found();
  return takeDump(pipe);
}

describe('a restore', () => {
  test('brings the bytes of the newest backup of a moment, with the statements that make it quiet', async () => {
    const before = await store.keys();
    const [done, bytes] = await Promise.all([attempt({ at: '2026-11-26T02:00:00Z' }), restores()]);
    expect(done).toEqual({ backup: `${ID}/20261125t020000z`, from: '2026-11-25T02:00:01.000Z' });
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(
      createHash('sha256').update(BYTES).digest('hex'),
    );
    expect(await readFile(join(pipe, 'orders', 'quiet.sql'), 'utf8')).toContain(
      'update gx.cron set enabled = false',
    );
    expect(await readFile(join(pipe, 'orders', 'marker.sql'), 'utf8')).toContain(
      '"restoredInto":"the-new-one"',
    );
    // Nothing at the store is changed.
    expect(await store.keys()).toEqual(before);
  });

  test('that resumes has no such statements, and takes the newest backup', async () => {
    const [done, bytes] = await Promise.all([attempt({ resume: true }), restores()]);
    expect(done.backup).toBe(`${ID}/20261126t020000z`);
    expect(bytes.toString()).toBe('the last');
    expect(existsSync(join(pipe, 'orders', 'quiet.sql'))).toBe(false);
  });

  test('takes the backup of a name', async () => {
    const [done] = await Promise.all([attempt({ name: '20261124t020000z' }), restores()]);
    expect(done.backup).toBe(`${ID}/20261124t020000z`);
  });

  test('that a former Job has done is only told', async () => {
    const marker = {
      backup: `${ID}/20261124t020000z`,
      from: '2026-11-24T02:00:01.000Z',
      restoredInto: 'the-new-one',
    };
    await found(JSON.stringify(marker));
    expect(await attempt()).toEqual({ backup: marker.backup, from: marker.from });
    expect([
      existsSync(join(pipe, 'orders', 'go')),
      existsSync(join(pipe, 'orders', 'stop')),
    ]).toEqual([false, true]);
  });

  test('of bytes that are not those of the backup is never committed', async () => {
    const id = '00000000-0000-4000-8000-00000000000b';
    await keep('20261126t020000z', { sha256: 'another' }, Buffer.from('changed'), id);
    await Promise.all([
      expect(attempt({ owner: { tenant: TENANT, id } })).rejects.toMatchObject({
        reason: 'RestoreFailed',
        message: expect.stringContaining('not those that the catalogue names') as string,
      }),
      found(),
      readFile(join(pipe, 'answers', 'dump')),
    ]);
    expect(existsSync(join(pipe, 'orders', 'whole'))).toBe(false);
  });

  test('that pg_restore refuses is told with its words', async () => {
    const refuse = async (): Promise<void> => {
      await found();
      while (!(await isThere('go'))) await wait(20);
      await readFile(join(pipe, 'answers', 'dump'));
      await writeFile(
        join(pipe, 'answers', 'error'),
        'pg_restore: error: unsupported version (1.16) in file header',
      );
      await writeFile(join(pipe, 'answers', 'end'), '1\n');
    };
    await Promise.all([
      expect(attempt()).rejects.toMatchObject({
        message: expect.stringContaining('unsupported version (1.16)') as string,
      }),
      refuse(),
    ]);
  });
});

describe('a restore is refused before anything begins', () => {
  /** Returns how the attempt is refused, and whether the other container was let begin. */
  const refusal = async (given: Partial<RestoreOrder>, more: Partial<RestoreJobConfig> = {}) => {
    const { reason, message } = (await attempt(given, more).catch((error: unknown) => error)) as {
      reason?: string;
      message?: string;
    };
    return { reason, message, begun: existsSync(join(pipe, 'orders', 'go')) };
  };
  const like = (reason: string, words: string) => ({
    reason,
    message: expect.stringContaining(words) as string,
    begun: false,
  });

  test('of a moment before the oldest backup', async () => {
    await found();
    expect(await refusal({ at: '2026-11-01T00:00:00Z' })).toEqual(
      like('TimeNotKept', '2026-11-24T02:00:01.000Z'),
    );
  });

  test("of a backup that is not there, and of another tenant's", async () => {
    await found();
    expect(await refusal({ name: '20261101t020000z' })).toEqual(
      like('BackupMissing', 'no backup 20261101t020000z'),
    );
    expect(await refusal({ owner: { tenant: OTHER_TENANT, id: ID } })).toEqual(
      like('BackupMissing', 'no backup'),
    );
  });

  test('into a database that holds data', async () => {
    await found('filled');
    expect(await refusal({})).toEqual(like('DatabaseNotEmpty', 'already holds data'));
  });

  test('of a newer schema, and of a newer Postgres', async () => {
    const id = '00000000-0000-4000-8000-00000000000c';
    await keep('20261126t020000z', { schema: 2 }, Buffer.from('newer'), id);
    await found();
    expect(await refusal({ owner: { tenant: TENANT, id } })).toEqual(
      like('SchemaTooNew', 'schema version 2'),
    );
    await found('empty', '16.4');
    expect(await refusal({})).toEqual(like('SchemaTooNew', 'Postgres 17.6'));
  });

  test('without a key that its data needs', async () => {
    const id = '00000000-0000-4000-8000-00000000000d';
    const needed = deriveAesKeyId(Buffer.from(KEY, 'base64'));
    await keep(
      '20261126t020000z',
      { keys: [needed, 'encryption.path'] },
      Buffer.from('sealed'),
      id,
    );
    const owner = { tenant: TENANT, id };
    await found();
    expect(
      await refusal({ owner }, { encryptionKeys: [Buffer.alloc(32, 8).toString('base64')] }),
    ).toEqual(like('KeysMissing', needed));
    const [done] = await Promise.all([attempt({ owner }, { encryptionKeys: [KEY] }), restores()]);
    expect(done.backup).toBe(`${id}/20261126t020000z`);
  });

  test('with a credential that the store refuses', async () => {
    await found();
    expect(await refusal({}, { keys: { ...S3_KEYS, secretAccessKey: 'another' } })).toEqual(
      like('TargetRefused', 'SignatureDoesNotMatch'),
    );
  });
});

describe('a verification', () => {
  const id = '00000000-0000-4000-8000-00000000000e';
  const name = '20261126t020000z';
  const counts = { 'gx.run': '2 77', 'gx.thread': '3 -42' };
  const verify = () =>
    verifyBackup(
      {
        order: { target: store.target, owner: { tenant: TENANT, id }, name },
        keys: S3_KEYS,
        mount: '/none',
        pipe,
        copier: '/none',
        terminationLog: '/dev/null',
        pauses: [10],
      },
      new AbortController().signal,
    );
  /** Does what the container with the scratch database does. */
  const scratch = async (counted: string): Promise<void> => {
    await writeFile(join(pipe, 'answers', 'counted'), counted);
    await restores();
  };

  test('finds the rows that were counted when the backup was made, and needs no key', async () => {
    await keep(name, { counts, keys: ['0a1b2c3d'] }, Buffer.from('a dump'), id);
    const [done] = await Promise.all([
      verify(),
      scratch('1\ngx.run 2 77\ngx.thread 3 -42\ngx.worker 0 0\n'),
    ]);
    expect(done).toEqual({ verified: name });
  });

  test.each([
    ['fewer rows', '1\ngx.run 2 77\ngx.thread 2 -41\n', 'gx.thread (2 rows, and had 3)'],
    ['as many other rows', '1\ngx.run 2 78\ngx.thread 3 -42\n', 'gx.run (2 rows, and had 2)'],
    ['no such table', '1\ngx.thread 3 -42\n', 'gx.run (no rows, and had 2)'],
    ['another schema', '2\ngx.run 2 77\ngx.thread 3 -42\n', 'migration 2, and had 1'],
  ])('fails with %s, and names them', async (_what, counted, words) => {
    await keep(name, { counts }, Buffer.from('a dump'), id);
    await Promise.all([
      expect(verify()).rejects.toMatchObject({
        reason: 'NotVerified',
        message: expect.stringContaining(words) as string,
      }),
      scratch(counted),
    ]);
  });
});

describe('a look at a backup that is to replace data', () => {
  const look = (given: Partial<RestoreOrder> = {}) =>
    checkBackup(
      {
        order: order(given),
        keys: S3_KEYS,
        mount: '/none',
        encryptionKeys: [],
        pipe,
        copier: '/none',
        terminationLog: '/dev/null',
        pauses: [10, 20],
      },
      new AbortController().signal,
    );

  test('finds the newest of a moment, and lets nothing begin', async () => {
    await found();
    expect(await look({ at: '2026-11-26T02:00:00Z' })).toEqual({
      backup: `${ID}/20261125t020000z`,
      from: '2026-11-25T02:00:01.000Z',
    });
    expect(await isThere('go')).toBe(false);
  });

  test('refuses a copy of the files that another major version has written', async () => {
    const id = '00000000-0000-4000-8000-0000000000cd';
    const owner = { tenant: TENANT, id };
    await keep(
      '20261126t020000z',
      { method: 'continuous', copy: '20261126-020000F' },
      Buffer.from('a'),
      id,
    );
    await found('empty', '18.1');
    await expect(look({ owner })).rejects.toMatchObject({
      reason: 'RestoreFailed',
      message: expect.stringContaining('Postgres 17.6') as string,
    });
    await found('empty', '17.9');
    expect(await look({ owner })).toMatchObject({
      backup: `${id}/20261126t020000z`,
      copy: '20261126-020000F',
    });
  });

  test('refuses one without its dump, one of a newer schema, one of a newer Postgres, and one without its keys', async () => {
    const id = '00000000-0000-4000-8000-0000000000cc';
    const owner = { tenant: TENANT, id };
    await keep('20261124t020000z', { schema: 99 }, Buffer.from('a'), id);
    await keep(
      '20261125t020000z',
      { keys: [deriveAesKeyId(Buffer.from(KEY, 'base64'))] },
      Buffer.from('b'),
      id,
    );
    await keep('20261126t020000z', {}, Buffer.from('c'), id);
    const s3 = new S3Store(store.target, S3_KEYS, { signal: new AbortController().signal });
    await s3.remove(`gx/${TENANT}/${id}/dumps/20261126t020000z`);
    await found();
    await expect(look({ owner, name: '20261126t020000z' })).rejects.toMatchObject({
      reason: 'BackupMissing',
    });
    await expect(look({ owner, name: '20261125t020000z' })).rejects.toMatchObject({
      reason: 'KeysMissing',
    });
    await expect(look({ owner, name: '20261124t020000z' })).rejects.toMatchObject({
      reason: 'SchemaTooNew',
    });
    await found('empty', '16.4');
    await expect(look({ name: '20261126t020000z' })).rejects.toMatchObject({
      reason: 'SchemaTooNew',
    });
  });
});
