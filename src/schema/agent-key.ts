import { createHash } from 'node:crypto';

/*
 * The key of a deployment, which opens its agents. The operator makes it, and pods get it as files of a Secret.
 */

/** Entries of the Secret: the key, and while a rotation lasts, the one before it. */
export const CURRENT_KEY = 'api-key';
export const PREVIOUS_KEY = 'previous';

/** Returns the hash by which a key is compared. Being random, a key can be neither guessed nor reversed from it. */
export const agentKeyHash = (key: string): Buffer => createHash('sha256').update(key).digest();
