import { createHmac } from 'node:crypto';

/*
 * Signatures as Standard Webhooks has them (https://www.standardwebhooks.com), for which receivers have libraries.
 */

/** Returns the headers by which a receiver knows a message again, and verifies it where there are keys. */
export function buildSignatureHeaders(
  message: { id: string; seconds: number; body: string },
  keys: Buffer[],
): Record<string, string> {
  const { id, seconds, body } = message;
  const sign = (key: Buffer): string =>
    `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    ...(keys.length > 0 && { 'webhook-signature': keys.map(sign).join(' ') }),
  };
}
