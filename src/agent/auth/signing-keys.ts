import { createHash } from 'node:crypto';
import type { AgentConfig } from '../../config/agent/agent.ts';
import type { Log } from '../../log.ts';
import { deriveSigningKey } from '../../schema/wire/agent-key.ts';
import { AgentKeys } from './agent-keys.ts';

/** Keys that all processes of the deployment have, and nobody else. */
export type SigningKeys = {
  /** Returns the keys for a use. The first one signs; a signature by any of them is accepted. */
  of(use: string): Uint8Array[];
};

/**
 * Derives keys from the deployment's key, both of them while it changes. A deployment without one derives them from the
 * address of its database, which has a password.
 */
export function createSigningKeys({ access, database }: AgentConfig, log: Log): SigningKeys {
  const hasKey = access.key !== undefined || access.keyFolder !== undefined;
  let keys: AgentKeys | undefined;
  const readSecrets = (): Buffer[] =>
    hasKey
      ? (keys ??= new AgentKeys({ access, log })).readHashes()
      : [createHash('sha256').update(database.uri).digest()];
  return { of: (use) => readSecrets().map((secret) => deriveSigningKey(secret, use)) };
}
