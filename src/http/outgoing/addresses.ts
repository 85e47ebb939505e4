/*
 * The kinds of IP addresses, for a server that calls addresses which others chose. Ranges are those of the IANA's
 * registries of special-purpose addresses, and those where clouds answer with the credentials of a machine.
 */

/** `never`: nothing that a webhook could be for; link-local and metadata addresses are among them. */
export type AddressKind = 'public' | 'private' | 'loopback' | 'never';

/** The first that holds an address decides. */
const RANGES: [address: string, bits: number, kind: AddressKind][] = [
  ['127.0.0.0', 8, 'loopback'],
  // Linux takes the unspecified address for the machine itself.
  ['0.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'never'],
  // Metadata of Alibaba, Oracle and Azure.
  ['100.100.100.200', 32, 'never'],
  ['192.0.0.192', 32, 'never'],
  ['168.63.129.16', 32, 'never'],
  ['224.0.0.0', 4, 'never'],
  ['240.0.0.0', 4, 'never'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'private'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'private'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'private'],
  ['::1', 128, 'loopback'],
  ['::', 128, 'loopback'],
  ['fe80::', 10, 'never'],
  // Metadata of AWS and Google.
  ['fd00:ec2::', 32, 'never'],
  ['fd20:ce::254', 128, 'never'],
  // Tunnels and translations of a network's own, behind which an IPv4 address stands in ways that nobody can recognise.
  ['2001::', 32, 'never'],
  ['64:ff9b:1::', 48, 'never'],
  ['ff00::', 8, 'never'],
  ['fc00::', 7, 'private'],
  ['fec0::', 10, 'private'],
];

/** Prefixes behind which an IPv6 address has an IPv4 address, and the byte at which that begins. */
const EMBEDDING: [prefix: string, bits: number, at: number][] = [
  ['::ffff:0:0', 96, 12],
  ['::ffff:0:0:0', 96, 12],
  ['64:ff9b::', 96, 12],
  ['2002::', 16, 2],
  ['::', 96, 12],
];

/** Returns the bytes of an address, 4 or 16; undefined when the text is no address. */
export function parseAddress(text: string): number[] | undefined {
  const [address = ''] = text.split('%');
  return address.includes(':') ? parseIpv6(address) : parseIpv4(address);
}

function parseIpv4(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.map(Number);
}

function parseIpv6(text: string): number[] | undefined {
  const [head = '', tail, ...more] = text.split('::');
  if (more.length > 0) return undefined;
  const [before, after] = [parseGroups(head), tail === undefined ? [] : parseGroups(tail)];
  if (before === undefined || after === undefined) return undefined;
  const missing = 16 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 0) return undefined;
  return [...before, ...Array.from({ length: missing }, () => 0), ...after];
}

/** Returns the bytes of some groups of an IPv6 address, the last of which may be an IPv4 address. */
function parseGroups(text: string): number[] | undefined {
  if (text === '') return [];
  const found = text.split(':').map((part) => {
    if (part.includes('.')) return parseIpv4(part);
    return /^[\da-f]{1,4}$/i.test(part)
      ? [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]
      : undefined;
  });
  return found.some((part) => part === undefined) ? undefined : found.flatMap((part) => part!);
}

/** Bytes of an IPv6 address that are those of its network: one customer has at least so much. */
const NETWORK_BYTES = 8;

/**
 * Returns the name by which attempts of an address are counted: an IPv4 address itself, of an IPv6 address its network
 * of 64 bits, because a client has all addresses there. A text that is no address is its own name.
 */
export function deriveNetwork(address: string): string {
  const bytes = address.includes(':') ? parseAddress(address) : undefined;
  if (bytes === undefined) return address;
  if (hasPrefix(bytes, '::ffff:0:0', 96)) return bytes.slice(12).join('.');
  const words = Array.from({ length: NETWORK_BYTES / 2 }, (_, at) =>
    ((bytes[2 * at]! << 8) | bytes[2 * at + 1]!).toString(16),
  );
  return `${words.join(':')}::/64`;
}

function hasPrefix(bytes: number[], prefix: string, bits: number): boolean {
  const wanted = parseAddress(prefix)!;
  if (wanted.length !== bytes.length) return false;
  return wanted.every((byte, at) => {
    const mask = (0xff_00 >> Math.min(8, Math.max(0, bits - at * 8))) & 0xff;
    return (byte & mask) === ((bytes[at] ?? 0) & mask);
  });
}

/** Returns the kind of the address. An IPv6 address that stands for an IPv4 address has the kind of that one. */
export function getAddressKind(text: string): AddressKind {
  const bytes = parseAddress(text);
  if (bytes === undefined) return 'never';
  const findKind = (some: number[]): AddressKind =>
    RANGES.find(([prefix, bits]) => hasPrefix(some, prefix, bits))?.[2] ?? 'public';
  const own = findKind(bytes);
  if (own !== 'public') return own;
  const embedding = EMBEDDING.find(([prefix, bits]) => hasPrefix(bytes, prefix, bits));
  return embedding === undefined ? own : findKind(bytes.slice(embedding[2], embedding[2] + 4));
}
