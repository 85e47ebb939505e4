import { hkdfSync } from 'node:crypto';

/** The variables with keys of encryption, in the order in which they count. */
export const ENCRYPTION_KEYS = ['GX_AES_KEY', 'LANGGRAPH_AES_KEY'];

export const AES_ID_BYTES = 4;
/** The name under which values of a module of `encryption.path` are known. Nobody else can tell its keys. */
export const MODULE_KEY = 'encryption.path';

/** Derives bytes for one use from a key (HKDF with SHA-256, by a text that names the use). */
export const deriveKeyBytes = (
  secret: Buffer,
  use: string,
  bytes: number,
  salt: Buffer = Buffer.alloc(0),
): Buffer => Buffer.from(hkdfSync('sha256', secret, salt, `gx at rest: ${use}`, bytes));

/** Returns the id of a key, which tells nothing of its secret: 32 bits that HKDF derives for this use alone. */
export const deriveAesKeyId = (secret: Buffer): string =>
  deriveKeyBytes(secret, 'id', AES_ID_BYTES).toString('hex');

/** Returns those of the ids whose keys are not among these (in base64). A module's keys are not known here. */
export function listMissingKeys(needed: readonly string[], keys: readonly string[]): string[] {
  const known = new Set(keys.map((key) => deriveAesKeyId(Buffer.from(key, 'base64'))));
  return needed.filter((id) => id !== MODULE_KEY && !known.has(id));
}
