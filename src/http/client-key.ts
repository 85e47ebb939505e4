import { readFileSync } from 'node:fs';
import { asError, StartError } from '../errors.ts';
import { clientSignerFrom, type ClientSigner } from './signed-client.ts';

/** Bytes that the secret has at least. */
const LEAST = 32;

/**
 * Returns the signer by the secret that console and control plane share, from the file of `GX_CLIENT_KEY_FILE`.
 * Undefined if there is none, because the Secret of a pod may be missing. Throws `StartError` if it can't be used.
 */
export function clientSignerIn(file: string | undefined): ClientSigner | undefined {
  const secret = file === undefined ? undefined : contentOf(file);
  if (secret === undefined) return undefined;
  if (secret.length < LEAST)
    throw new StartError(`GX_CLIENT_KEY_FILE: ${file} has ${secret.length} bytes; a secret needs ${LEAST} at least.`);
  return clientSignerFrom(secret);
}

function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartError(`GX_CLIENT_KEY_FILE: ${file} can't be read: ${asError(error).message}`, { cause: error });
  }
}
