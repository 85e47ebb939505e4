import { createHmac, timingSafeEqual } from 'node:crypto';
import { hashAgentKey, deriveSigningKey } from '../schema/wire/agent-key.ts';
import type { PassWords } from '../schema/wire/agent-pass.ts';

/** The words in base64url, and one MAC for each key that signed. A MAC of SHA-256 has 43 characters there. */
const FORM = /^(gxp_[\w-]{1,4000})\.([\w-]{43}(?:\.[\w-]{43})?)$/;

/** Returns the key that signs passes, derived from the hash of a deployment's key. */
export const passKeyOf = (keyHash: Uint8Array): Uint8Array => deriveSigningKey(keyHash, 'pass');

/**
 * Returns a pass that each of the deployment's keys signs, two at most: a pod reads a new key up to two minutes late,
 * and knows only the former one until then.
 */
export function signPass(words: PassWords, deploymentKeys: readonly string[]): string {
  const shown = `gxp_${Buffer.from(JSON.stringify(words)).toString('base64url')}`;
  const macs = deploymentKeys
    .slice(0, 2)
    .map((key) => deriveMac(shown, passKeyOf(hashAgentKey(key))).toString('base64url'));
  return [shown, ...macs].join('.');
}

/** Returns the words of a pass that one of the keys has signed; undefined for any other text. */
export function verifySignedPass(
  text: string,
  passKeys: readonly Uint8Array[],
): PassWords | undefined {
  const [, shown = '', macs = ''] = FORM.exec(text) ?? [];
  if (shown === '') return undefined;
  const given = macs.split('.').map((mac) => Buffer.from(mac, 'base64url'));
  let isSigned = false;
  for (const own of passKeys.map((key) => deriveMac(shown, key)))
    for (const mac of given)
      isSigned = (mac.length === own.length && timingSafeEqual(mac, own)) || isSigned;
  if (!isSigned) return undefined;
  return JSON.parse(
    Buffer.from(shown.slice('gxp_'.length), 'base64url').toString('utf8'),
  ) as PassWords;
}

const deriveMac = (shown: string, key: Uint8Array): Buffer =>
  createHmac('sha256', key).update(shown).digest();
