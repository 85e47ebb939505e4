import type { Log } from '../../log.ts';
import type { ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import { openDatabase, type Database } from '../db/base/pool.ts';
import { codecOf } from '../encryption/codec-of.ts';
import { userCipher } from '../encryption/user-module.ts';
import type { Embed } from '../gx-json/embed.ts';
import { importExport } from '../gx-json/import-export.ts';
import { SemanticSearch } from '../gx-json/semantic-search.ts';
import { ItemStorage } from './item-storage.ts';
import type { ListElement } from './lists.ts';
import { StepStorage } from './step-storage.ts';

type Start = Pick<ThreadStart, 'database' | 'encryption' | 'encryptionModule' | 'index' | 'storeLife'>;

type Parts<E> = {
  /** The pool's name in the database. */
  name: string;
  elementOf: (stored: unknown) => E;
  embed?: Embed | undefined;
  log: Log;
};

/** Bytes of states that are remembered for the next steps and runs of their threads: some 15,000 short messages. */
const REMEMBERED_BYTES = 24 * 1024 * 1024;

/** Opens the storage for a thread's runs, with a pool of its own. */
export async function openRunStorage<E extends ListElement>(
  { database, encryption, encryptionModule, index, storeLife }: Start,
  { name, elementOf, embed, log }: Parts<E>,
): Promise<{ steps: StepStorage<E>; items: ItemStorage }> {
  const codec = codecOf(encryption, encryptionModule && (await moduleFrom(encryptionModule, log)));
  const db: Database = openDatabase({ ...database, name, codec }, log);
  const untidied = (error: unknown): void => log.warn({ err: error }, 'older checkpoints stay as they are until a later run');
  return {
    steps: new StepStorage(db, { elementOf, rememberedBytes: REMEMBERED_BYTES, untidied }),
    items: new ItemStorage(db, storeLife, index && embed && new SemanticSearch({ db, index, embed })),
  };
}

async function moduleFrom(module: NonNullable<Start['encryptionModule']>, log: Log): Promise<ReturnType<typeof userCipher>> {
  const { file, exportName, seconds } = module;
  return userCipher(await importExport(module, 'encryption.path'), { at: `"${exportName}" of ${file}`, seconds, log });
}
