import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const NONCE = 12;
const TAG = 16;

/** Seals texts, which only a process with the same secret can read and nobody else can make. */
export class Seal {
  readonly #key: Buffer;

  constructor(secret: Uint8Array) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'gx console session', 32));
  }

  /** Seals a text for a purpose. A text that is sealed for one is not readable as another. */
  close(text: string, purpose: string): string {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Returns the text; undefined for one that was changed, or sealed with another secret or for another purpose. */
  open(sealed: string, purpose: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < NONCE + TAG) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE), {
      authTagLength: TAG,
    })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(-TAG));
    try {
      return Buffer.concat([
        decipher.update(bytes.subarray(NONCE, -TAG)),
        decipher.final(),
      ]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}
