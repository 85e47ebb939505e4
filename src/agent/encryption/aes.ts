import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import zlib from 'node:zlib';
import type { EncryptionSettings } from '../../config/agent/encryption.ts';
import { Rejected, Unavailable } from '../../errors.ts';
import { AES_ID_BYTES, deriveAesKeyId, deriveKeyBytes } from '../../schema/agent/aes-key-id.ts';
import {
  CUSTOM,
  CUSTOM_FORM,
  isSealed,
  MAGIC,
  RESERVED,
  SEALED,
  SEALED_TEXT,
  type Codec,
  type Place,
} from './codec.ts';

/*
 * Sealing by AES-256-GCM. A sealed value is, in bytes:
 *
 *   form (1) | id of the key (4) | salt (12) | nonce (12) | ciphertext | tag (16)
 *
 * Each process encrypts with a key of its own, which follows from the deployment's key and the salt. So random nonces
 * of 96 bits never come near the 2^32 values after which NIST SP 800-38D asks for another key.
 */

/** The forms: the value as it is, or compressed with Zstandard. */
const AS_IS = 1;
const COMPRESSED = 2;

const SALT_BYTES = 12;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD = 1 + AES_ID_BYTES + SALT_BYTES + NONCE_BYTES;
const CIPHER = 'aes-256-gcm';

/** Bytes from which a value is compressed first: a shorter one gains less than the time that it takes. */
const WORTH_COMPRESSING = 600;
const LEVEL = { params: { [zlib.constants.ZSTD_c_compressionLevel]: 1 } };
/** Node has Zstandard since 22.15. Under an older one, `gx dev` stores values as they are. */
const HAS_ZSTANDARD = 'zstdCompressSync' in zlib;

/** Processes whose keys are remembered. */
const MOST_SALTS = 1000;

/** Returns the first bytes of all values that a key sealed. */
export const buildAesHeads = (keyId: string): Buffer[] =>
  [AS_IS, COMPRESSED].map((form) => Buffer.concat([Buffer.of(form), Buffer.from(keyId, 'hex')]));

/** Returns a codec that reads with all keys, and encrypts new values with the first, if it encrypts at all. */
export function buildAesCodec({
  keys,
  encrypts,
  names,
  strict = false,
}: EncryptionSettings): Codec {
  const secrets = keys.map((key) => Buffer.from(key, 'base64'));
  const ring = new Map(secrets.map((secret) => [deriveAesKeyId(secret), new SaltedKeys(secret)]));
  const writing = encrypts
    ? { key: new SaltedKeys(secrets[0]!), salt: randomBytes(SALT_BYTES) }
    : undefined;
  const decryptText = (place: Place, base64: string): string => {
    if (base64.startsWith(CUSTOM)) throw buildModuleMissing();
    return decryptBytes(place, Buffer.from(base64, 'base64')).toString();
  };
  const decryptBytes = (place: Place, bytes: Buffer): Buffer => decryptValue(ring, place, bytes);
  const passUnencrypted = <T>(place: Place, stored: T): T => {
    if (strict && !isEmpty(stored))
      throw new Unavailable(
        `A value (${place.kind}) is not encrypted, and GX_AES_STRICT refuses such values.`,
      );
    return stored;
  };
  const isOwn = (bytes: Buffer): boolean =>
    writing === undefined || bytes.subarray(1, 1 + AES_ID_BYTES).equals(writing.key.id);
  return {
    encrypts,
    strict,
    isOwn: (sealed) => isOwn(Buffer.from(sealed.slice(0, 8), 'base64')),
    isOwnBytes: (stored) => {
      const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
      return !bytes.subarray(0, MAGIC.length).equals(MAGIC) || isOwn(bytes.subarray(MAGIC.length));
    },
    names: new Set(encrypts ? names : []),
    seal: async (place, json) => {
      if (writing !== undefined)
        return `${SEALED_TEXT}${encryptValue(writing, place, Buffer.from(json)).toString('base64')}"}`;
      if (json.includes(`"${SEALED}":`)) throw new Rejected(RESERVED);
      return json;
    },
    open: async (place, stored) =>
      isSealed(stored)
        ? (JSON.parse(decryptText(place, stored[SEALED])) as unknown)
        : passUnencrypted(place, stored),
    openText: async (place, stored) =>
      stored.startsWith(SEALED_TEXT)
        ? decryptText(place, stored.slice(SEALED_TEXT.length, -2))
        : passUnencrypted(place, stored),
    sealBytes: async (place, bytes) =>
      writing === undefined ? bytes : Buffer.concat([MAGIC, encryptValue(writing, place, bytes)]),
    openBytes: async (place, stored) => {
      const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
      return bytes.subarray(0, MAGIC.length).equals(MAGIC)
        ? decryptBytes(place, bytes.subarray(MAGIC.length))
        : passUnencrypted(place, stored);
    },
  };
}

/** Returns true for the value of a column that nothing was written to. */
const isEmpty = (stored: unknown): boolean =>
  stored === null ||
  stored === undefined ||
  (typeof stored === 'object' && !ArrayBuffer.isView(stored) && Object.keys(stored).length === 0);

/** The keys of the processes that wrote with one key of the deployment. */
class SaltedKeys {
  readonly id: Buffer;
  readonly #secret: Buffer;
  readonly #bySalt = new Map<string, Buffer>();

  constructor(secret: Buffer) {
    this.id = Buffer.from(deriveAesKeyId(secret), 'hex');
    this.#secret = secret;
  }

  deriveKey(salt: Buffer): Buffer {
    const name = salt.toString('latin1');
    const known = this.#bySalt.get(name);
    if (known !== undefined) return known;
    const key = deriveKeyBytes(this.#secret, 'values', 32, salt);
    if (this.#bySalt.size >= MOST_SALTS) this.#bySalt.clear();
    this.#bySalt.set(name, key);
    return key;
  }
}

/** The data that is authenticated beside the value: how it is written, and where it stands. */
const buildAuthenticatedData = (form: number, { kind, of = '' }: Place): Buffer =>
  Buffer.from(`${form}\n${kind}\n${of}`);

function encryptValue(
  { key, salt }: { key: SaltedKeys; salt: Buffer },
  place: Place,
  bytes: Uint8Array,
): Buffer {
  const compressed =
    bytes.length < WORTH_COMPRESSING || !HAS_ZSTANDARD
      ? undefined
      : zlib.zstdCompressSync(bytes, LEVEL);
  const form = compressed === undefined || compressed.length >= bytes.length ? AS_IS : COMPRESSED;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.deriveKey(salt), nonce).setAAD(
    buildAuthenticatedData(form, place),
  );
  const text = cipher.update(form === COMPRESSED ? compressed! : bytes);
  return Buffer.concat([
    Buffer.of(form),
    key.id,
    salt,
    nonce,
    text,
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

const buildModuleMissing = (): Unavailable =>
  new Unavailable(
    'A value is encrypted by a module, and encryption.path of gx.json names none; name that module again.',
  );

/** Throws `Unavailable` for a value of a key that is not in the ring, and for one that was changed or moved. */
function decryptValue(ring: ReadonlyMap<string, SaltedKeys>, place: Place, bytes: Buffer): Buffer {
  const [form = 0] = bytes;
  if (form === CUSTOM_FORM) throw buildModuleMissing();
  const id = bytes.subarray(1, 1 + AES_ID_BYTES).toString('hex');
  const key = ring.get(id);
  if (key === undefined)
    throw new Unavailable(
      `A value is encrypted with the key ${id}, which GX_AES_KEY does not have; add that key.`,
    );
  if (form === COMPRESSED && !HAS_ZSTANDARD)
    throw new Unavailable('A value was encrypted under a newer Node; use Node 22.15 or newer.');
  const salt = bytes.subarray(1 + AES_ID_BYTES, 1 + AES_ID_BYTES + SALT_BYTES);
  try {
    const decipher = createDecipheriv(
      CIPHER,
      key.deriveKey(salt),
      bytes.subarray(HEAD - NONCE_BYTES, HEAD),
      { authTagLength: TAG_BYTES },
    );
    decipher.setAAD(buildAuthenticatedData(form, place)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = Buffer.concat([
      decipher.update(bytes.subarray(HEAD, -TAG_BYTES)),
      decipher.final(),
    ]);
    return form === COMPRESSED ? zlib.zstdDecompressSync(text) : text;
  } catch (error) {
    throw new Unavailable(
      `An encrypted value (${place.kind}) was changed, or belongs elsewhere; it can't be read.`,
      { cause: error },
    );
  }
}
