import type { LookupAddress } from 'node:dns';
import { Unavailable } from '../errors.ts';
import {
  sendRequest,
  findWay,
  readWholeAnswer,
  type Way,
} from '../http/outgoing/checked-request.ts';
import { describeConnectionFault } from '../http/outgoing/connection-cause.ts';
import { chooseProxy, type Proxies } from '../http/outgoing/proxies.ts';

/** Where the documents of issuers that others chose may be: at public addresses, and at hosts that are named here. */
export type IssuerPlaces = {
  /** Hosts that may have private addresses, or be this machine. */
  privateHosts: readonly string[];
  addressesOf: (host: string) => Promise<LookupAddress[]>;
};

/** Where documents may be, and the proxies through which they are asked for. */
export type IssuerWays = { places?: IssuerPlaces | undefined; proxies?: Proxies | undefined };

/** Bytes of a document at most. Fifty keys with their certificates take half of that. */
const LARGEST = 256 * 1024;
const TIMEOUT_MILLISECONDS = 5000;

/**
 * Reads a JSON document of an issuer within five seconds. It follows no redirect, unpacks nothing, and leaves an answer
 * that is too long. Without `places`, it may be anywhere. Throws `Unavailable` if there is none.
 */
export async function fetchIssuerDocument(url: string, ways: IssuerWays): Promise<unknown> {
  const signal = AbortSignal.timeout(TIMEOUT_MILLISECONDS);
  const late = new Promise<never>((_, reject) =>
    signal.addEventListener('abort', () =>
      reject(new Unavailable(`${url} took longer than ${TIMEOUT_MILLISECONDS / 1000} seconds.`)),
    ),
  );
  return Promise.race([read(new URL(url), ways, signal), late]);
}

async function read(url: URL, ways: IssuerWays, signal: AbortSignal): Promise<unknown> {
  const way = await resolveWay(url, ways);
  const answer = await sendRequest(url, {
    way,
    headers: { accept: 'application/json' },
    signal,
  }).catch((error: unknown) => {
    throw new Unavailable(`${url.href} ${describeConnectionFault(error)}.`, { cause: error });
  });
  const { statusCode = 0 } = answer;
  if (statusCode < 200 || statusCode > 299) {
    answer.destroy();
    throw new Unavailable(`${url.href} answered ${statusCode}.`);
  }
  const bytes = await readWholeAnswer(answer, LARGEST);
  if (bytes === undefined)
    throw new Unavailable(`${url.href} answered with more than ${LARGEST} bytes, or compressed.`);
  return JSON.parse(bytes.toString('utf8'));
}

/** Returns how the URL is asked. Throws if this process may not call an address of its host. */
async function resolveWay(url: URL, { places, proxies }: IssuerWays): Promise<Way | undefined> {
  if (places === undefined) {
    const through = proxies && chooseProxy(url, proxies);
    return through === undefined ? undefined : { addresses: [], through };
  }
  const { privateHosts, addressesOf } = places;
  const isListed = privateHosts.includes(url.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase());
  const found = await findWay(url, { isListed, addressesOf, proxies });
  if ('problem' in found) throw new Unavailable(`${url.href} ${found.problem}.`);
  if (found.addresses.length === 0 && found.through === undefined)
    throw new Unavailable(`${url.href} has no address.`);
  return found;
}
