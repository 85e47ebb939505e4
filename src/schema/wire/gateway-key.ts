import { Type } from 'typebox';

/*
 * The public keys by which agents know the word of the gateway about a client. Each process of the gateway has a key of
 * its own for as long as it lives. The operator hears it with the reports, and writes those of all into the ConfigMap
 * of kept ports, from which each process tells them to agents in its answers to their reports.
 */

export const GATEWAY_KEYS_ENTRY = 'gateway-keys';

/** Keys that a gateway has at most: one for each of its processes. */
export const MOST_GATEWAY_KEYS = 64;

/** A public key of Ed25519, in base64url. */
const FORM = '[\\w-]{43}';
export const GatewayKey = Type.String({
  pattern: `^${FORM}$`,
  description: 'A public key of Ed25519, in base64url.',
});

export const GatewayKeys = Type.Array(GatewayKey, {
  maxItems: MOST_GATEWAY_KEYS,
  description: 'The keys by which the processes of the gateway sign their word about clients.',
});

const isKey = (value: unknown): value is string =>
  typeof value === 'string' && new RegExp(`^${FORM}$`).test(value);

/** Returns the keys of a list from another process, each once. Everything else in it is passed over. */
export const filterGatewayKeys = (list: unknown): string[] =>
  [...new Set(Array.isArray(list) ? list.filter(isKey) : [])].slice(0, MOST_GATEWAY_KEYS);

/** Returns the text of the entry: sorted, so that the same keys are the same text. */
export const formatGatewayKeys = (keys: readonly string[]): string =>
  filterGatewayKeys(keys.toSorted()).join('\n');

/** Reads such a text. */
export const parseGatewayKeys = (text: string): string[] => filterGatewayKeys(text.split('\n'));
