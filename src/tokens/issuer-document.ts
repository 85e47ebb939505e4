import type { LookupAddress } from 'node:dns';
import { Unavailable } from '../errors.ts';
import { answerTo, callableAddresses, wholeAnswer } from '../http/checked-request.ts';

/** Where the documents of issuers that others chose may be: at public addresses, and at hosts that are named here. */
export type IssuerPlaces = {
  /** Hosts that may have private addresses, or be this machine. */
  privateHosts: readonly string[];
  addressesOf: (host: string) => Promise<LookupAddress[]>;
};

/** Bytes of a document at most. Fifty keys with their certificates take half of that. */
const LARGEST = 256 * 1024;
const TIMEOUT_MILLISECONDS = 5000;

/**
 * Reads a JSON document of an issuer within five seconds. It follows no redirect, unpacks nothing, and leaves an answer
 * that is too long. Without `places`, it may be anywhere. Throws `Unavailable` if there is none.
 */
export async function issuerDocument(url: string, places: IssuerPlaces | undefined): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MILLISECONDS);
  const late = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () => reject(new Unavailable(`${url} took longer than ${TIMEOUT_MILLISECONDS / 1000} seconds.`))),
  );
  return Promise.race([read(new URL(url), places, signal), late]);
}

async function read(url: URL, places: IssuerPlaces | undefined, signal: AbortSignal): Promise<unknown> {
  const addresses = places && (await addressesIn(url, places));
  const answer = await answerTo(url, { addresses, headers: { accept: 'application/json' }, signal });
  const { statusCode = 0 } = answer;
  if (statusCode < 200 || statusCode > 299) {
    answer.destroy();
    throw new Unavailable(`${url.href} answered ${statusCode}.`);
  }
  const bytes = await wholeAnswer(answer, LARGEST);
  if (bytes === undefined) throw new Unavailable(`${url.href} answered with more than ${LARGEST} bytes, or compressed.`);
  return JSON.parse(bytes.toString('utf8'));
}

/** Returns the addresses of the URL's host. Throws if one of them is none that this process may call. */
async function addressesIn({ hostname, href }: URL, { privateHosts, addressesOf }: IssuerPlaces): Promise<LookupAddress[]> {
  const isListed = privateHosts.includes(hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase());
  const found = await callableAddresses(hostname, { isListed, addressesOf });
  if ('problem' in found) throw new Unavailable(`${href} ${found.problem}.`);
  if (found.length === 0) throw new Unavailable(`${href} has no address.`);
  return found;
}
