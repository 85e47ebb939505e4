import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/*
 * A key is `gx_`, 256 random bits and 128 bits of a MAC over them, in base64url. The MAC tells forged keys from real
 * ones without a look at the stored keys.
 */

const PREFIX = 'gx_';
const RANDOM_LENGTH = 43;
const MAC_BYTES = 16;
const FORM = /^gx_[\w-]{65}$/;
const ID_LENGTH = 16;

/** Returns a new key whose MAC is made with this secret. */
export function createApiKey(macSecret: Buffer): string {
  const random = randomBytes(32).toString('base64url');
  return `${PREFIX}${random}${deriveMac(random, macSecret)}`;
}

/** Returns whether a text has the form of a key. */
export const hasFormOfKey = (text: string): boolean => FORM.test(text);

/** Returns whether the MAC of a key was made with this secret. */
export function hasMacOf(key: string, macSecret: Buffer): boolean {
  const body = key.slice(PREFIX.length);
  const [given, made] = [
    body.slice(RANDOM_LENGTH),
    deriveMac(body.slice(0, RANDOM_LENGTH), macSecret),
  ].map((text) => Buffer.from(text));
  return given?.length === made?.length && timingSafeEqual(given!, made!);
}

const deriveMac = (random: string, secret: Buffer): string =>
  createHmac('sha256', secret)
    .update(`${PREFIX}${random}`)
    .digest()
    .subarray(0, MAC_BYTES)
    .toString('base64url');

/** Returns the hash under which a key is stored. Being random, a key can be neither guessed nor reversed from it. */
export const hashApiKey = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Returns the id by which people and objects name a key: the beginning of its hash. */
export const deriveKeyId = (hash: string): string => hash.slice(0, ID_LENGTH);
