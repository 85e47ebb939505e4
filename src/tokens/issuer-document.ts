import type { LookupAddress } from 'node:dns';
import { request as overHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as overHttps } from 'node:https';
import { Unavailable } from '../errors.ts';
import { addressBytes, kindOfAddress } from '../http/addresses.ts';

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
  const pinned = places && (await addressesIn(url, places));
  const answer = await answerOf(url, pinned, signal);
  const { statusCode = 0, headers } = answer;
  if (statusCode < 200 || statusCode > 299) throw leave(answer, `${url.href} answered ${statusCode}.`);
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding !== 'identity') throw leave(answer, `${url.href} answered packed, though nobody asked for that.`);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST) throw leave(answer, `${url.href} answered with more than ${LARGEST} bytes.`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function leave(answer: IncomingMessage, message: string): Unavailable {
  answer.destroy();
  return new Unavailable(message);
}

/** Returns the addresses of the URL's host. Throws if one of them is none that this process may call. */
async function addressesIn({ hostname, href }: URL, { privateHosts, addressesOf }: IssuerPlaces): Promise<LookupAddress[]> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const bytes = addressBytes(host);
  const found = bytes === undefined ? await addressesOf(host) : [{ address: host, family: bytes.length === 4 ? 4 : 6 }];
  if (found.length === 0) throw new Unavailable(`${href} has no address.`);
  const isListed = privateHosts.includes(host.toLowerCase());
  for (const { address } of found) {
    const kind = kindOfAddress(address);
    if (kind === 'never' || (kind !== 'public' && !isListed))
      throw new Unavailable(`${href} leads to a ${kind === 'never' ? 'reserved' : kind} address, which its host is not listed for.`);
  }
  return found;
}

/** Resolves with the head of the answer. The connection goes to the addresses that were checked; TLS keeps the name. */
function answerOf(url: URL, pinned: LookupAddress[] | undefined, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const options: RequestOptions = { headers: { accept: 'application/json', 'accept-encoding': 'identity' }, signal };
  if (pinned !== undefined) {
    options.agent = false;
    options.lookup = (_host, { all }, answer) => {
      if (all === true) answer(null, pinned);
      else answer(null, pinned[0]!.address, pinned[0]!.family);
    };
  }
  const request = (url.protocol === 'https:' ? overHttps : overHttp)(url, options);
  request.once('response', resolve);
  request.on('error', reject);
  request.end();
  return promise;
}
