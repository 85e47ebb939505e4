import type { EncryptionSettings } from '../../../config/agent/encryption.ts';
import { StartError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import { deriveAesKeyId, MODULE_KEY } from '../../../schema/agent/aes-key-id.ts';
import type { EncryptionModule } from '../../encryption/codec-of.ts';
import type { Place, Replacements } from '../../encryption/codec.ts';
import type { Db } from '../base/pool.ts';

export const buildKeyPlace = (keyId: string): Place => ({ kind: 'key', of: keyId });

/** The content of a row, sealed by its key. */
const WORD = 'gx';

type Encrypting = {
  keys: EncryptionSettings | undefined;
  module: EncryptionModule | undefined;
};

/** Returns the id of the key that encrypts new values; undefined where none does. */
export function chooseWritingKey({ keys, module }: Encrypting): string | undefined {
  if (module?.encrypts === true) return MODULE_KEY;
  return keys?.encrypts === true ? listKeyIds(keys)[0] : undefined;
}

/**
 * Makes sure that this server can read the values in the database, and writes down the key that it encrypts with.
 * Throws a `StartError` when none of its keys has encrypted anything here, although others have.
 */
export async function checkKeys(db: Db, encrypting: Encrypting, log: Log): Promise<void> {
  const rows = await db.query<{ key_id: string; sealed: unknown }>({
    text: 'select key_id, sealed from gx.encryption_key',
  });
  const writing = chooseWritingKey(encrypting);
  const missing: string[] = [];
  for (const { key_id, sealed } of rows)
    if (!(await canRead(db, key_id, sealed))) missing.push(key_id);
  if (rows.length > 0 && missing.length === rows.length)
    throw new StartError(describeMissingKeys(missing, encrypting));
  if (missing.length > 0)
    log.warn(
      { keys: missing },
      'values that these keys encrypted can not be read: GX_AES_KEY lacks them',
    );
  if (writing !== undefined) await useKey(db, writing);
}

/** Returns whether the database has values that a module of `encryption.path` sealed. */
export const isSealedByModule = async (db: Db): Promise<boolean> =>
  (
    await db.query({
      text: 'select 1 from gx.encryption_key where key_id = $1',
      values: [MODULE_KEY],
    })
  ).length > 0;

/** Writes down that a server encrypts with the key now. */
export async function useKey(db: Db, keyId: string): Promise<void> {
  const known = await db.query({
    text: 'update gx.encryption_key set used_at = now() where key_id = $1 returning 1',
    values: [keyId],
  });
  if (known.length > 0) return;
  await db.query({
    text: 'insert into gx.encryption_key (key_id, sealed) values ($1, $2) on conflict (key_id) do update set used_at = now()',
    values: [keyId, await sealWord(db, keyId)],
  });
}

/** Returns the word as the key seals it. Throws a `StartError` where a module does not read its own output. */
async function sealWord(db: Db, keyId: string): Promise<string> {
  const sealed = await db.codec.seal(buildKeyPlace(keyId), JSON.stringify(WORD));
  if (await canRead(db, keyId, JSON.parse(sealed))) return sealed;
  throw new StartError('encryption.path: decrypt did not return the value that encrypt was given.');
}

/** Stores the word as the module wants it, once nothing else is left that it sealed in another way. */
export async function replaceWord(db: Db, { value }: Replacements): Promise<void> {
  const text = 'select sealed from gx.encryption_key where key_id = $1';
  const [row] = await db.query<{ sealed: Record<string, unknown> }>({ text, values: [MODULE_KEY] });
  const fresh = row && (await value(buildKeyPlace(MODULE_KEY), row.sealed));
  if (fresh === row?.sealed) return;
  await db.query({
    text: 'update gx.encryption_key set sealed = $2 where key_id = $1',
    values: [MODULE_KEY, JSON.stringify(fresh)],
  });
}

const listKeyIds = ({ keys }: EncryptionSettings): string[] =>
  keys.map((key) => deriveAesKeyId(Buffer.from(key, 'base64')));

const canRead = (db: Db, keyId: string, sealed: unknown): Promise<boolean> =>
  db.codec.open(buildKeyPlace(keyId), sealed).then(
    (word) => word === WORD,
    () => false,
  );

function describeMissingKeys(missing: string[], { keys, module }: Encrypting): string {
  const ids = missing.filter((id) => id !== MODULE_KEY);
  if (ids.length === 0)
    return module === undefined
      ? 'The database is encrypted by a module, and gx.json names none in encryption.path; name that module again.'
      : 'The database is encrypted by a module, and that of encryption.path does not decrypt it; give it the keys of the former module.';
  const encrypted = `The database is encrypted with ${ids.length === 1 ? 'the key' : 'the keys'} ${ids.join(', ')}`;
  if (keys === undefined) return `${encrypted}, and GX_AES_KEY is not set; set it to that key.`;
  return `${encrypted}; GX_AES_KEY holds another (${listKeyIds(keys).join(', ')}). Add the right key to its list, with a comma.`;
}
