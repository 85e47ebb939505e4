import type { Log } from '../../log.ts';
import type { ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import { openDatabase, type Database } from '../db/base/pool.ts';
import { buildCodec, type EncryptionModule } from '../encryption/codec-of.ts';
import type { Cipher } from '../encryption/custom.ts';
import { buildUserCipher } from '../encryption/user-module.ts';
import { runFields, type RunInLog } from '../kernel/run-fields.ts';
import type { Embed } from '../gx-json/embed.ts';
import { importExport } from '../gx-json/import-export.ts';
import { SemanticSearch } from '../gx-json/semantic-search.ts';
import { ItemStorage } from './item-storage.ts';
import type { ListElement } from './lists.ts';
import { StepStorage } from './step-storage.ts';

type Start = Pick<
  ThreadStart,
  'database' | 'encryption' | 'encryptionModule' | 'askedCipher' | 'index' | 'storeLife'
>;

type StorageOptions<E> = {
  /** The pool's name in the database. */
  name: string;
  elementOf: (stored: unknown) => E;
  embed?: Embed | undefined;
  cipher: Cipher;
  log: Log;
};

/** Bytes of states that are remembered for the next steps and runs of their threads: some 15,000 short messages. */
const REMEMBERED_BYTES = 24 * 1024 * 1024;

/** Opens the storage for a thread's runs, with a pool of its own. */
export async function openRunStorage<E extends ListElement>(
  { database, encryption, index, storeLife, ...start }: Start,
  { name, elementOf, embed, cipher, log }: StorageOptions<E>,
): Promise<{ steps: StepStorage<E>; items: ItemStorage }> {
  const codec = buildCodec(encryption, await importModule(start, { cipher, log }));
  const db: Database = openDatabase({ ...database, name, codec }, log);
  const logUntidied = (error: unknown, run: RunInLog): void =>
    log.warn(
      { err: error, ...runFields(run) },
      'older checkpoints stay as they are until a later run',
    );
  return {
    steps: new StepStorage(db, {
      elementOf,
      rememberedBytes: REMEMBERED_BYTES,
      untidied: logUntidied,
    }),
    items: new ItemStorage(
      db,
      storeLife,
      index && embed && new SemanticSearch({ db, index, embed }),
    ),
  };
}

async function importModule(
  { encryptionModule: module, askedCipher: asked }: Pick<Start, 'encryptionModule' | 'askedCipher'>,
  { cipher, log }: { cipher: Cipher; log: Log },
): Promise<EncryptionModule | undefined> {
  if (asked !== undefined) return { ...asked, cipher };
  if (module === undefined) return undefined;
  const { file, exportName, seconds } = module;
  return buildUserCipher(await importExport(module, 'encryption.path'), {
    at: `"${exportName}" of ${file}`,
    seconds,
    log,
  });
}
