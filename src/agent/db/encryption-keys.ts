import type { EncryptionSettings } from '../../config/encryption.ts';
import { StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { aesKeyId } from '../encryption/aes.ts';
import type { Place } from '../encryption/codec.ts';
import type { Db } from './pool.ts';

const placeOf = (keyId: string): Place => ({ kind: 'key', of: keyId });

/** What a row holds, sealed by its key. */
const WORD = 'gx';

/**
 * Makes sure that this server can read what the database holds, and writes down the key that it encrypts with. Throws a
 * `StartError` when none of its keys has encrypted anything here, although others have.
 */
export async function checkKeys(db: Db, settings: EncryptionSettings | undefined, log: Log): Promise<void> {
  const rows = await db.query<{ key_id: string; sealed: unknown }>({ text: 'select key_id, sealed from gx.encryption_key' });
  const [writing] = settings?.encrypts === true ? idsOf(settings) : [];
  const missing: string[] = [];
  for (const { key_id, sealed } of rows) if (!(await reads(db, key_id, sealed))) missing.push(key_id);
  if (rows.length > 0 && missing.length === rows.length) throw new StartError(sentence(missing, settings));
  if (missing.length > 0) log.warn({ keys: missing }, 'values that these keys encrypted can not be read: GX_AES_KEY lacks them');
  if (writing === undefined || rows.some(({ key_id }) => key_id === writing)) return;
  await db.query({
    text: 'insert into gx.encryption_key (key_id, sealed) values ($1, $2) on conflict do nothing',
    values: [writing, await db.codec.seal(placeOf(writing), JSON.stringify(WORD))],
  });
}

const idsOf = ({ keys }: EncryptionSettings): string[] => keys.map((key) => aesKeyId(Buffer.from(key, 'base64')));

const reads = (db: Db, keyId: string, sealed: unknown): Promise<boolean> =>
  db.codec.open(placeOf(keyId), sealed).then(
    (word) => word === WORD,
    () => false,
  );

function sentence(missing: string[], settings: EncryptionSettings | undefined): string {
  const encrypted = `The database is encrypted with ${missing.length === 1 ? 'the key' : 'the keys'} ${missing.join(', ')}`;
  if (settings === undefined) return `${encrypted}, and GX_AES_KEY is not set; set it to that key.`;
  return `${encrypted}; GX_AES_KEY holds another (${idsOf(settings).join(', ')}). Add the right key to its list, with a comma.`;
}
