import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createBackup } from '../../src/backup/run.ts';
import {
  backupName,
  type BackupOrder,
  type CatalogueEntry,
} from '../../src/schema/wire/backup-message.ts';
import { STORES, type TestedStore } from '../kit/backup-stores.ts';
import { backupsAt } from './backups-at.ts';
import { newPipe } from './dump-double.ts';

/* Backups at every kind of target, with a stand-in for the container with pg_dump: a real pipe, which a test fills. */

const DAY = 86_400_000;
/** Milliseconds in which a store is compiled, once. */
const BUILD = 1_200_000;

describe.each(Object.entries(STORES))('at %s', (_kind, open) => {
  let store: TestedStore;
  let pipe: string;

  beforeAll(async () => {
    store = await open();
  }, BUILD);
  afterAll(() => store.stop());
  beforeEach(async () => {
    pipe = await newPipe();
  });
  afterEach(() => rm(pipe, { recursive: true }));

  const { order, configFor, dumps, run, folderOf } = backupsAt(() => ({
    target: store.target,
    mount: store.mount,
    pipe,
  }));
  const keysOf = async (given: BackupOrder): Promise<string[]> => {
    const below = `${folderOf(given)}/`;
    return (await store.keys())
      .filter((key) => key.startsWith(below))
      .map((key) => key.slice(below.length));
  };

  describe('a backup', () => {
    test('has the bytes of the dump, and an entry of the catalogue that says what is in it', async () => {
      const bytes = Buffer.alloc(40 * 1_048_576, 'some rows of a table ');
      const given = order();
      const done = await run(given, bytes);
      const keys = ['0a1b2c3d', 'encryption.path'];
      expect(done).toMatchObject({
        bytes: bytes.length,
        migration: 3,
        keys,
        from: '2026-11-26T02:00:01.000Z',
      });
      expect(await keysOf(given)).toEqual([
        `catalogue/${given.name}.json`,
        `dumps/${given.name}`,
        'owner.json',
      ]);
      expect((await store.content(`${folderOf(given)}/dumps/${given.name}`)).equals(bytes)).toBe(
        true,
      );
      const entry = JSON.parse(
        (await store.content(`${folderOf(given)}/catalogue/${given.name}.json`)).toString(),
      ) as CatalogueEntry;
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      expect(entry).toMatchObject({
        method: 'dump',
        postgres: '17.6',
        migration: 3,
        schema: 1,
        keys,
        counts: { 'gx.run': '2 77', 'gx.thread': '3 -42' },
        sha256,
        holds: given.holds,
      });
      expect(entry.owner).toEqual(given.owner);
    });

    test('is not listed, and leaves nothing, if pg_dump fails', async () => {
      const given = order();
      const made = createBackup(configFor(given), new AbortController().signal);
      await Promise.all([
        expect(made).rejects.toMatchObject({
          reason: 'DumpFailed',
          message: expect.stringContaining('disk on fire') as string,
        }),
        dumps(Buffer.from('half of it'), { status: '1', words: 'pg_dump: error: disk on fire' }),
      ]);
      expect(await keysOf(given)).toEqual(['owner.json']);
    });
  });

  describe('the folder of a deployment', () => {
    test('is never touched by another deployment', async () => {
      const given = order();
      await run(given);
      const before = await keysOf(given);
      const other = order({
        owner: { ...given.owner, uid: 'another' },
        name: '20261127t020000z',
        keep: { count: 1 },
      });
      await expect(
        createBackup(configFor(other), new AbortController().signal),
      ).rejects.toMatchObject({
        reason: 'TargetNotEmpty',
        message: expect.stringContaining(given.owner.uid) as string,
      });
      expect(await keysOf(given)).toEqual(before);
    });

    test('keeps as many backups as it is to keep, and removes what failed ones have left', async () => {
      const given = order({ keep: { count: 2 } });
      for (const day of ['01', '02', '03', '04'])
        await run({ ...given, name: `202611${day}t020000z` });
      const kept = ['20261103t020000z', '20261104t020000z'];
      expect(await keysOf(given)).toEqual([
        ...kept.map((name) => `catalogue/${name}.json`),
        ...kept.map((name) => `dumps/${name}`),
        'owner.json',
      ]);
    });

    test('keeps the backups of so many days', async () => {
      const given = order({ keep: { days: 3 } });
      const names = [5, 2, 0].map((days) => backupName(new Date(Date.now() - days * DAY)));
      for (const name of names) await run({ ...given, name });
      expect((await keysOf(given)).filter((key) => key.startsWith('dumps/'))).toEqual(
        names.slice(1).map((name) => `dumps/${name}`),
      );
    });
  });
});
