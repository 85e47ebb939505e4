import type { LookupAddress } from 'node:dns';
import { Agent, request as overHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as SecureAgent, request as overHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseAddress, getAddressKind } from './addresses.ts';
import { readBoundedBytes } from '../bodies/bounded-bytes.ts';
import { chooseProxy, type Proxies } from './proxies.ts';

/*
 * Requests to URLs that others chose. A name may mean another address at each look-up, so the sender looks it up once,
 * judges the address, and connects to that one.
 */

/** `isListed`: the administrator lists the host, so that it may have a private address, or be this machine. */
type Permission = { isListed: boolean; addressesOf: (host: string) => Promise<LookupAddress[]> };

/**
 * Returns the addresses of a URL's host, which `addressesOf` looks up, or why it may not be called, as the end of a
 * sentence. A name without an address has an empty list.
 */
export async function resolveCallableAddresses(
  hostname: string,
  { isListed, addressesOf }: Permission,
): Promise<LookupAddress[] | { problem: string }> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const bytes = parseAddress(host);
  const found =
    bytes === undefined
      ? await addressesOf(host)
      : [{ address: host, family: bytes.length === 4 ? 4 : 6 }];
  for (const { address } of found) {
    const kind = getAddressKind(address);
    if (kind === 'never' || (kind !== 'public' && !isListed))
      return {
        problem: `leads to a ${kind === 'never' ? 'reserved' : kind} address, which its host is not listed for`,
      };
  }
  return found;
}

/** Milliseconds for the look-up of a name that goes through a proxy. Networks with one may resolve no outer name. */
const LOOK_UP_MS = 2000;

/** How a URL is asked: at these addresses, or through this proxy, which finds the address itself. */
export type Way = { addresses: LookupAddress[]; through?: string | undefined };

/**
 * Returns how a URL that others chose may be asked, or why not, as the end of a sentence. A private address is refused
 * with a proxy, too. A name that only the proxy resolves is left to the rules of the proxy.
 */
export async function findWay(
  url: URL,
  { proxies, ...permission }: Permission & { proxies: Proxies | undefined },
): Promise<Way | { problem: string }> {
  const through = proxies && chooseProxy(url, proxies);
  if (through === undefined) {
    const found = await resolveCallableAddresses(url.hostname, permission);
    return 'problem' in found ? found : { addresses: found };
  }
  const resolveInTime = async (host: string): Promise<LookupAddress[]> => {
    const late = wait(LOOK_UP_MS, [], { ref: false });
    return Promise.race([permission.addressesOf(host).catch(() => []), late]);
  };
  const found = await resolveCallableAddresses(url.hostname, {
    ...permission,
    addressesOf: resolveInTime,
  });
  return 'problem' in found ? found : { addresses: found, through };
}

/** Returns the options by which a request goes its way, over a connection of its own. */
export function buildConnectionOptions(
  { protocol }: URL,
  { addresses, through }: Way,
): RequestOptions {
  if (through === undefined) return { agent: false, lookup: buildLookup(addresses) };
  return {
    agent:
      protocol === 'https:'
        ? new SecureAgent({ proxyEnv: { HTTPS_PROXY: through } })
        : new Agent({ proxyEnv: { HTTP_PROXY: through } }),
  };
}

/** Makes a connection go to the given addresses, whatever the name means by then; TLS and `Host` keep the name. */
const buildLookup =
  (addresses: LookupAddress[]): LookupFunction =>
  (_host, { all }, answer) => {
    if (all === true) answer(null, addresses);
    else answer(null, addresses[0]!.address, addresses[0]!.family);
  };

/** Without a way the request goes wherever the name leads. */
type Sending = {
  method?: string | undefined;
  signal?: AbortSignal | undefined;
  way: Way | undefined;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
};

/**
 * Sends a request that asks for an answer without compression. Resolves with the head of the answer, and follows no
 * redirect.
 */
export function sendRequest(
  url: URL,
  { way, headers, body, method = 'GET', signal }: Sending,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const request = (url.protocol === 'https:' ? overHttps : overHttp)(url, {
    method,
    headers: {
      ...headers,
      'accept-encoding': 'identity',
      ...(bytes !== undefined && { 'content-length': String(bytes.length) }),
    },
    ...(signal !== undefined && { signal }),
    ...(way !== undefined && buildConnectionOptions(url, way)),
  });
  request.once('response', resolve);
  request.on('error', reject);
  request.end(bytes);
  return promise;
}

/** Reads an answer whole. Undefined if it is compressed or larger than `most` bytes; its connection is closed then. */
export async function readWholeAnswer(
  answer: IncomingMessage,
  most: number,
): Promise<Buffer | undefined> {
  const isPlain = (answer.headers['content-encoding'] ?? 'identity') === 'identity';
  const bytes = isPlain ? await readBoundedBytes(answer as AsyncIterable<Buffer>, most) : undefined;
  if (bytes === undefined) answer.destroy();
  return bytes;
}
