import { createHash, timingSafeEqual } from 'node:crypto';

/*
 * The key by which gateways know that the operator speaks. Each process of the operator has a key of its own, which it
 * shows when it tells the budgets of tenants. It writes the hash into the ConfigMap of kept ports, which it alone
 * writes, so that no agent that reaches a gateway can tell it anything.
 */

export const OPERATOR_KEY_ENTRY = 'operator-key';

/** Returns the hash of such a key, which gives no access. */
export const hashOperatorKey = (key: string): string =>
  createHash('sha256').update(`gx-operator/${key}`).digest('base64url');

/** Returns whether a text is the key of this hash. Its time reveals nothing about the key. */
export function isOperatorKey(text: string, hash: string): boolean {
  const [shown, known] = [Buffer.from(hashOperatorKey(text)), Buffer.from(hash)];
  return shown.length === known.length && timingSafeEqual(shown, known);
}
