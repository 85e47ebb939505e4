import { createHash, hkdfSync } from 'node:crypto';
import { Type, type Static } from 'typebox';
import { buildClosedSchema, buildDateTimeSchema, buildNullableSchema } from '../types.ts';

/*
 * The key of a deployment, which opens its agents. The operator makes it, and pods get it as files of a Secret.
 */

/** The start of each key, so that people and scanners recognise one. Keys of the REST API begin with `gx_`. */
export const AGENT_KEY_PREFIX = 'gxa_';
const RANDOM_BYTES = 32;

/** Entries of the Secret: the key, and while a rotation lasts, the one before it. */
export const CURRENT_KEY = 'api-key';
export const PREVIOUS_KEY = 'previous';

export const AgentKey = buildClosedSchema({
  api_key: Type.String({ description: 'Sent in X-Api-Key, or as a bearer token.' }),
  previous_api_key: buildNullableSchema(
    Type.String({ description: 'The previous key, as long as it is still valid.' }),
  ),
  previous_until: buildNullableSchema(buildDateTimeSchema('Until when the previous key is valid.')),
});
export type AgentKey = Static<typeof AgentKey>;

/** Returns a new key: 256 bits from `random`, in base64url. */
export const buildAgentKey = (random: (bytes: number) => Buffer): string =>
  AGENT_KEY_PREFIX + random(RANDOM_BYTES).toString('base64url');

/** Returns the hash by which a key is compared. Being random, a key can be neither guessed nor reversed from it. */
export const hashAgentKey = (key: string): Buffer => createHash('sha256').update(key).digest();

/** Bytes of a key for HMAC with SHA-256 (RFC 2104, section 3). */
const SIGNING_BYTES = 32;

/** Returns the key that signs for one use, derived from the hash of a deployment's key or another secret of it. */
export const deriveSigningKey = (secret: Uint8Array, use: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', secret, '', `gx ${use}`, SIGNING_BYTES));

/**
 * Returns the hash by which the gateway knows a key. It stands in the status of the deployment, so it is another one
 * than that with which agents sign.
 */
export const hashGatewayKey = (key: string): string =>
  createHash('sha256').update(`gx-gateway/${key}`).digest('base64url');
