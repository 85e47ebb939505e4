import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';

/** The number of iterations that Postgres uses. */
const ITERATIONS = 4096;
const LENGTH = 32;

/**
 * Returns what Postgres stores of a password (RFC 5803): `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`. It is
 * sent in place of the password, so that no log of statements ever holds the password. Passwords must be ASCII, because
 * others would have to be normalised first.
 */
export function scramVerifier(password: string, salt: Buffer): string {
  const salted = pbkdf2Sync(password, salt, ITERATIONS, LENGTH, 'sha256');
  const keyed = (word: string): Buffer => createHmac('sha256', salted).update(word).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`;
}
