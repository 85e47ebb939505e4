import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { toError, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';

/** Paths of a certificate chain and its private key, in PEM. */
type CertificateFiles = { cert: string; key: string };
type Pair = { cert: Buffer; key: Buffer };

/**
 * The files are compared this often. Mounted Secrets change by a link that is moved, which file watchers may miss.
 */
const LOOK_MILLISECONDS = 10_000;

/** Reads a certificate and its key. Throws if they can't be read or do not belong together. */
async function readPair({ cert, key }: CertificateFiles): Promise<Pair> {
  const pair = { cert: await readFile(cert), key: await readFile(key) };
  createSecureContext(pair);
  return pair;
}

const getCertificateEnd = ({ cert }: Pair): Date => new X509Certificate(cert).validToDate;

/** Reads them for the start of a server. Throws a `StartError` that names the files. */
export async function readFirstPair(files: CertificateFiles): Promise<Pair> {
  try {
    return await readPair(files);
  } catch (error) {
    const problem = `The certificate ${files.cert} and its key ${files.key} can't be used: ${toError(error).message}`;
    throw new StartError(problem, { cause: error });
  }
}

/** `served` hears of the end of each certificate that is served. */
export type ServedCertificate = {
  files: CertificateFiles;
  log: Log;
  every?: number;
  served?: ((until: Date) => void) | undefined;
};
/**
 * Gives new connections the certificate that the files hold now. Files that can't be used, as in the middle of a
 * change, leave the last certificate in use. Returns a function that ends it.
 */
export function followCertificate(
  server: Server,
  {
    files,
    first,
    log,
    every = LOOK_MILLISECONDS,
    served: tell,
  }: ServedCertificate & { first: Pair },
): () => void {
  let served = first;
  tell?.(getCertificateEnd(first));
  let last = '';
  const look = async (): Promise<void> => {
    try {
      const pair = await readPair(files);
      last = '';
      if (pair.cert.equals(served.cert) && pair.key.equals(served.key)) return;
      server.setSecureContext(pair);
      served = pair;
      const until = getCertificateEnd(pair);
      tell?.(until);
      log.info({ not_after: until.toISOString() }, 'new certificate is served');
    } catch (error) {
      const problem = toError(error).message;
      // The same problem is logged once.
      if (problem !== last)
        log.error(
          { err: toError(error), file: files.cert },
          'certificate could not be read; the last one stays in use',
        );
      last = problem;
    }
  };
  const timer = setInterval(() => void look(), every);
  timer.unref();
  return () => clearInterval(timer);
}
