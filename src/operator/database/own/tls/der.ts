/* Encodes the parts of certificates (DER, ITU-T X.690). Node's own X509Certificate reads them. */

/** Encodes one value: its tag, its length, its content. */
export function encodeValue(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...encodeLength(body.length)]), body]);
}

function encodeLength(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes = toBase256(length);
  return [0x80 | bytes.length, ...bytes];
}

const toBase256 = (number: number): number[] =>
  number < 0x100 ? [number] : [...toBase256(Math.floor(number / 0x100)), number % 0x100];

export const encodeSequence = (...items: Uint8Array[]): Buffer => encodeValue(0x30, ...items);
export const encodeSet = (...items: Uint8Array[]): Buffer => encodeValue(0x31, ...items);
export const encodeOctets = (...content: Uint8Array[]): Buffer => encodeValue(0x04, ...content);
export const encodeUtf8String = (words: string): Buffer => encodeValue(0x0c, Buffer.from(words));
export const encodeTrue = (): Buffer => encodeValue(0x01, Buffer.from([0xff]));
/** Encodes a number of at least 0, its highest byte first. Its first bit must not be set, because that is the sign. */
export const encodeInteger = (...bytes: number[]): Buffer => encodeValue(0x02, Buffer.from(bytes));
export const encodeBits = (content: Uint8Array, unused = 0): Buffer =>
  encodeValue(0x03, Buffer.from([unused]), content);
/** Encodes a field that is known by its number, in place of (`whole` false) or around its own tag. */
export const encodeField = (number: number, content: Uint8Array, whole = true): Buffer =>
  encodeValue((whole ? 0xa0 : 0x80) | number, content);

/**
 * Encodes `1.2.840...`: the first two numbers share a byte, each of the others takes seven bits of as many bytes as it
 * needs.
 */
export function encodeIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const splitSeptets = (number: number, last = 0): number[] => [
    ...(number < 0x80 ? [] : splitSeptets(Math.floor(number / 0x80), 0x80)),
    (number % 0x80) | last,
  ];
  return encodeValue(
    0x06,
    Buffer.from([first * 40 + second, ...rest.flatMap((number) => splitSeptets(number))]),
  );
}

/** Encodes a time to the second. The year has two digits until 2049 (RFC 5280). */
export function encodeTime(date: Date): Buffer {
  const digits = `${date.toISOString().replaceAll(/[-:T]|\.\d+Z/g, '')}Z`;
  return date.getUTCFullYear() < 2050
    ? encodeValue(0x17, Buffer.from(digits.slice(2)))
    : encodeValue(0x18, Buffer.from(digits));
}
