import { parseBackupTime, type CatalogueEntry } from '../schema/wire/backup-message.ts';
import type { RestoreOrder } from '../schema/wire/restore-message.ts';
import { listMissingKeys } from '../schema/agent/aes-key-id.ts';
import { SCHEMA_MAJOR } from '../schema/agent/schema-major.ts';
import { BackupFailed } from './s3/failure.ts';
import { requireName, type Folder } from './folder.ts';
import type { BackupStore } from './store.ts';

/** Returns the entry of the catalogue that an order asks for. Throws with the reason where there is none. */
export async function chooseCatalogueEntry(
  store: BackupStore,
  folder: Folder,
  order: Pick<RestoreOrder, 'name' | 'at' | 'owner'>,
): Promise<CatalogueEntry> {
  const { name, at, owner } = order;
  const entries =
    name === undefined ? sortNewestFirst(await listNames(store, folder)) : [requireName(name)];
  let oldest: CatalogueEntry | undefined;
  for (const each of entries) {
    const entry = await readEntry(store, folder, each);
    if (entry === undefined || entry.owner.tenant !== owner.tenant) continue;
    if (at === undefined || Date.parse(entry.from) <= Date.parse(at)) return entry;
    oldest = entry;
  }
  if (oldest !== undefined)
    throw new BackupFailed(
      'TimeNotKept',
      `The oldest backup in ${folder.all} has the data of ${oldest.from}, which is later than ${at}.`,
    );
  throw new BackupFailed(
    'BackupMissing',
    `${folder.catalogue} has no backup${name === undefined ? '' : ` ${name}`}.`,
  );
}

async function listNames(store: BackupStore, folder: Folder): Promise<string[]> {
  const names = [folder.catalogue, folder.copies].map(async (below) =>
    (await store.listKeys(below)).map((key) => key.slice(below.length)),
  );
  return (await Promise.all(names)).flat().map((file) => file.replace(/\.json$/, ''));
}

async function readEntry(
  store: BackupStore,
  folder: Folder,
  name: string,
): Promise<CatalogueEntry | undefined> {
  const dump = parseEntry(await store.read(`${folder.catalogue}${name}.json`));
  return dump ?? parseEntry(await store.read(`${folder.copies}${name}.json`));
}

const sortNewestFirst = (names: readonly string[]): string[] =>
  names
    .filter((name) => !Number.isNaN(parseBackupTime(name)))
    .toSorted()
    .toReversed();

function parseEntry(text: string | undefined): CatalogueEntry | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as CatalogueEntry);
  } catch {
    return undefined;
  }
}

/** The database that is to get the data, and the keys that its agents will have. */
export type Receiver = { postgres: string; keys: readonly string[] };

/** The entries of early backups lack some facts. */
type KnownEntry = Partial<CatalogueEntry> & { name: string; postgres: string };

const parseMajor = (version: string): number => Number.parseInt(version, 10);

/** Throws if the data could not be read where it is to be restored. */
export function requireReadable(
  { name, method, postgres, schema, keys = [] }: KnownEntry,
  receiver: Receiver,
): void {
  if (schema !== undefined && schema > SCHEMA_MAJOR)
    throw new BackupFailed(
      'SchemaTooNew',
      `Backup ${name} has schema version ${schema}; this installation knows up to ${SCHEMA_MAJOR}.`,
    );
  if (parseMajor(postgres) > parseMajor(receiver.postgres))
    throw new BackupFailed(
      'SchemaTooNew',
      `Backup ${name} is of Postgres ${postgres}; the image of the database has ${receiver.postgres}.`,
    );
  if (method === 'continuous' && parseMajor(postgres) !== parseMajor(receiver.postgres))
    throw new BackupFailed(
      'RestoreFailed',
      `Copy ${name} has the files of Postgres ${postgres}, which only the same major version reads; the image of the database has ${receiver.postgres}. Restore it with the image of before, and move the data then.`,
    );
  const missing = listMissingKeys(keys, receiver.keys);
  if (missing.length > 0) throw new BackupFailed('KeysMissing', describeMissingKeys(name, missing));
}

const describeMissingKeys = (name: string, missing: readonly string[]): string =>
  `Backup ${name} is encrypted with ${missing.length === 1 ? 'the key' : 'the keys'} ${missing.join(', ')}, which GX_AES_KEY of the deployment's Secret does not hold.`;
