import { readFileSync } from 'node:fs';
import { toError, StartError } from '../../errors.ts';

/** Bytes that a secret must have at least: those of the key that comes of it. */
export const LEAST_SECRET = 32;

/**
 * Returns the secret in the file that a setting names. Undefined if there is no file, because a pod's Secret may be
 * missing. Throws `StartError`, which names the setting, if the file can't be read or is too short.
 */
export function readSecretFile(file: string | undefined, setting: string): Buffer | undefined {
  const secret = file === undefined ? undefined : readContent(file, setting);
  if (secret !== undefined && secret.length < LEAST_SECRET)
    throw new StartError(
      `${setting}: ${file} has ${secret.length} bytes; a secret needs ${LEAST_SECRET} at least.`,
    );
  return secret;
}

function readContent(file: string, setting: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartError(`${setting}: ${file} can't be read: ${toError(error).message}`, {
      cause: error,
    });
  }
}
