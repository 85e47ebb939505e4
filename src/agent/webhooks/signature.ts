import { createHmac } from 'node:crypto';
import { StartError } from '../../errors.ts';

/*
 * Signatures as Standard Webhooks has them (https://www.standardwebhooks.com), for which receivers have libraries.
 */

const PREFIX = 'whsec_';
const BYTES = { least: 24, most: 64 };

/** Reads secrets: `whsec_` and base64 of 24 to 64 bytes. Throws a `StartError` for any other. */
export function signingKeys(secrets: string[]): Buffer[] {
  return secrets.map((secret) => {
    const text = secret.replace(PREFIX, '');
    const key = Buffer.from(text, 'base64');
    const isWhole = secret.startsWith(PREFIX) && key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
    if (!isWhole || key.length < BYTES.least || key.length > BYTES.most)
      throw new StartError(
        `GX_WEBHOOK_SECRET must be "${PREFIX}" and the base64 of ${BYTES.least} to ${BYTES.most} bytes; several stand with commas between them.`,
      );
    return key;
  });
}

/** Returns the headers by which a receiver knows a message again, and verifies it where there are keys. */
export function signedHeaders(message: { id: string; seconds: number; body: string }, keys: Buffer[]): Record<string, string> {
  const { id, seconds, body } = message;
  const sign = (key: Buffer): string => `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    ...(keys.length > 0 && { 'webhook-signature': keys.map(sign).join(' ') }),
  };
}
