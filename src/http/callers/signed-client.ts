import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto';
import type { AskedOver } from './client.ts';
import { readSecretFile } from './secret-file.ts';

/*
 * The word of the platform's own proxies about a client, signed: an address proves nothing where pods come and go,
 * because the next pod may have it. A signature is of one request for one deployment, and of a short time.
 */

/** The header with the time, the public key and the signature. */
export const SIGNATURE_HEADER = 'x-gx-forwarded-signature';

const FORM = /^(\d{1,12})\.([\w-]{43})\.([\w-]{86})$/;

/** Seconds for which a signature counts, before and after its time: the clocks of nodes differ. */
const LIFE = 60;

/** Headers that are signed: everything that a proxy says about a client. */
const SIGNED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-prefix'];

/** The name of the control plane, as it is signed. A deployment's name is a path. */
export const OF_CONTROL_PLANE = 'control-plane';

/** `of`: the deployment that is asked, or the control plane. `at`: seconds since 1970. */
type Signing = { of: string; at: number };

const buildSignedText = (
  { method = '', url = '', headers }: AskedOver,
  { of, at }: Signing,
): Buffer =>
  Buffer.from(
    JSON.stringify([
      SIGNATURE_HEADER,
      of,
      at,
      method,
      url,
      ...SIGNED.map((name) => headers[name] ?? null),
    ]),
  );

/** Signs for one process. `key` is the public one, in base64url. */
export type ClientSigner = { key: string; sign(asked: AskedOver, signing: Signing): string };

/** Makes a key that lives as long as the process, and returns the signer with it. */
export const createClientSigner = (): ClientSigner =>
  buildSigner(generateKeyPairSync('ed25519').privateKey);

/** A private key of Ed25519 in PKCS #8, up to its 32 bytes (RFC 8410, 7). */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Returns the signer of those processes that share a secret. */
export function deriveClientSigner(secret: Buffer): ClientSigner {
  const seed = createHash('sha256').update(`${SIGNATURE_HEADER}\n`).update(secret).digest();
  return buildSigner(
    createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' }),
  );
}

/** Returns the signer by the secret of console and control plane; undefined if there is none. Throws `StartError`. */
export function readClientSigner(file: string | undefined): ClientSigner | undefined {
  const secret = readSecretFile(file, 'GX_CLIENT_KEY_FILE');
  return secret && deriveClientSigner(secret);
}

function buildSigner(privateKey: KeyObject): ClientSigner {
  const { x: key = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return {
    key,
    sign: (asked, signing) =>
      [
        signing.at,
        key,
        sign(null, buildSignedText(asked, signing), privateKey).toString('base64url'),
      ].join('.'),
  };
}

/** Returns whether one of the keys has signed the words of this request's headers about its client. */
export function isClientSignedBy(
  keys: readonly string[],
  asked: AskedOver,
  { of, at: now }: Signing,
): boolean {
  const shown = asked.headers[SIGNATURE_HEADER];
  const [, time = '', x = '', text = ''] = FORM.exec(typeof shown === 'string' ? shown : '') ?? [];
  // The key is named, so that a forged header costs one check at most.
  if (!keys.includes(x) || Math.abs(now - Number(time)) > LIFE) return false;
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(
    null,
    buildSignedText(asked, { of, at: Number(time) }),
    key,
    Buffer.from(text, 'base64url'),
  );
}
