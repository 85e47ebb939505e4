import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP, SocketAddress } from 'node:net';

/** The place to which the client has sent its request, as trusted proxies tell it. */
export type Forwarded = { protocol?: 'http' | 'https'; host?: string; prefix?: string };

/** Who has sent a request. `source`: an address. `forwarded` is empty if no trusted proxy has passed the request on. */
export type Client = { source: string; forwarded: Forwarded };

/** The parts of a request by which the page of a browser is known. */
export type FromPage = { headers: IncomingHttpHeaders; forwarded: Forwarded };

/** Returns a client that nobody has passed on. */
export const buildDirectClient = (source: string): Client => ({ source, forwarded: {} });

/** The parts of a request that tell how it came here. */
export type AskedOver = Pick<IncomingMessage, 'headers'> &
  Partial<{ method?: string | undefined; url?: string | undefined }>;

/**
 * Returns whether the address is that of a proxy whose word counts. The nearest one may prove it by the request itself.
 */
export type Trusts = (address: string, asked?: AskedOver) => boolean;

/** Trusts no proxy. */
export const isNeverTrusted: Trusts = () => false;

/** Returns the trust in the proxies of these addresses and blocks (`10.0.0.0/8`), which are valid. */
export function buildTrusts(blocks: readonly string[]): Trusts {
  if (blocks.length === 0) return isNeverTrusted;
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', length] = block.split('/');
    if (length === undefined) list.addAddress(address, getFamily(address));
    else list.addSubnet(address, Number(length), getFamily(address));
  }
  return (address) =>
    isIP(address) !== 0 && list.check(address.replace(ZONE, ''), getFamily(address));
}

const getFamily = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** An IPv4 address as a server of both families sees it (RFC 4291, 2.5.5.2). */
const MAPPED = /^::ffff:(?=\d+\.)/i;
/** The interface of a link-local address. */
const ZONE = /%.*$/;

/**
 * Returns the client of a request by its headers and the address of its connection. `X-Forwarded-*` count only from
 * trusted proxies: anybody can write them.
 */
export function resolveClient(
  asked: AskedOver,
  socketAddress: string | undefined,
  trusts: Trusts,
): Client {
  const near = socketAddress?.replace(MAPPED, '') ?? 'unknown';
  if (!trusts(near, asked)) return buildDirectClient(near);
  const { headers } = asked;
  return {
    source: findFarthest(near, parseHeaderList(headers, 'x-forwarded-for'), trusts),
    forwarded: readForwardedHeaders(headers),
  };
}

/**
 * Returns the last address on the way to a trusted proxy that is none itself: each proxy adds the address that it sees
 * at the right, so the client may have written everything to the left of its own.
 */
function findFarthest(near: string, hops: string[], trusts: Trusts): string {
  let known = near;
  for (const hop of hops.toReversed()) {
    const address = parseHop(hop);
    if (address === undefined) break;
    known = address;
    if (!trusts(known)) break;
  }
  return known;
}

/** Returns the address of a hop, which some proxies write with a port; undefined for other words. */
function parseHop(hop: string): string | undefined {
  const bare = hop
    .replace(/^"(.*)"$/, '$1')
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1');
  if (isIP(bare) === 0 || ZONE.test(bare)) return undefined;
  // The same address has one form, so that it is counted once.
  return new SocketAddress({ address: bare, family: getFamily(bare) }).address.replace(MAPPED, '');
}

/** A host with or without a port, and a path whose characters need no escape in HTML. */
const HOST = /^(?:[a-z\d][\w.-]{0,252}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;
const PREFIX = /^(?:\/[\w.~%-]+)+$/;

function readForwardedHeaders(headers: IncomingHttpHeaders): Forwarded {
  // Of several words, the nearest proxy has written the last one. The client may have written the first.
  const getLast = (name: string): string => parseHeaderList(headers, name).at(-1) ?? '';
  const [protocol, host, prefix] = [
    getLast('x-forwarded-proto').toLowerCase(),
    getLast('x-forwarded-host'),
    getLast('x-forwarded-prefix'),
  ];
  const path = prefix.replace(/\/$/, '');
  return {
    ...((protocol === 'http' || protocol === 'https') && { protocol }),
    ...(HOST.test(host) && { host }),
    ...(PREFIX.test(path) && { prefix: path }),
  };
}

const parseHeaderList = (headers: IncomingHttpHeaders, name: string): string[] =>
  [headers[name] ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((word) => word.trim());

/** Returns the headers with which a proxy passes a request on: its own knowledge, and nothing that strangers wrote. */
export function buildForwardedHeaders(
  { source, forwarded }: Client,
  { host }: IncomingHttpHeaders,
): Record<string, string> {
  const { protocol = 'http', host: asked = host, prefix } = forwarded;
  return {
    ...(source !== 'unknown' && { 'x-forwarded-for': source }),
    'x-forwarded-proto': protocol,
    ...(asked !== undefined && { 'x-forwarded-host': asked }),
    ...(prefix !== undefined && { 'x-forwarded-prefix': prefix }),
  };
}

/** Headers that a proxy writes itself, with its signature. */
export const isOfProxies = (name: string): boolean =>
  /^x-(forwarded-(for|proto|host|prefix)|gx-forwarded-signature)$/i.test(name);
