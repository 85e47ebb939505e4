/*
 * Looks at the bytes of a JSON text before it is parsed. Parsing costs time and memory by the number of values, and
 * most by the number of different names, so a small text can be expensive. This look costs 3 ms a megabyte.
 */

/**
 * Levels of nesting. JSON.stringify and `jsonb` fail at a few thousand, and a widely used parser refuses the 1,024th.
 */
export const DEEPEST = 1000;

export type JsonLimits = {
  /** Fields, items of lists, objects and lists. */
  values: number;
  /** Different names of fields. */
  names: number;
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export type Excess = { of: 'depth' | 'values' | 'names'; msg: string };

/** Bytes after which a look lets others go first: some milliseconds. */
const PIECE = 512 * 1024;

/**
 * Returns the first part of the text beyond a limit, or undefined. It does not notice whether the text is valid JSON.
 */
export function findExcess(text: Uint8Array, limits: JsonLimits, seed: number): Excess | undefined {
  const look = lookAt(text, limits, seed);
  for (;;) {
    const { done, value } = look.next();
    if (done === true) return value;
  }
}

/** Does the same piece by piece. */
export function* lookAt(
  text: Uint8Array,
  limits: JsonLimits,
  seed: number,
): Generator<undefined, Excess | undefined> {
  let piece = PIECE;
  const names = new NameCount(seed);
  let values = 0;
  let depth = 0;
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (at >= piece) {
      piece = at + PIECE;
      yield;
    }
    switch (text[at]) {
      case QUOTE:
        start = at + 1;
        at = findStringEnd(text, start);
        end = at;
        break;
      case COMMA:
        values += 1;
        break;
      case COLON:
        if (names.add(text, start, end) > limits.names)
          return { of: 'names', msg: `more than ${limits.names} different names of fields` };
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        values += 1;
        depth += 1;
        if (depth > DEEPEST) return { of: 'depth', msg: `nested deeper than ${DEEPEST} levels` };
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      default:
    }
    if (values > limits.values)
      return {
        of: 'values',
        msg: `more than ${limits.values} fields and items in a body of this size`,
      };
  }
  return undefined;
}

/**
 * Returns the place of the quote that ends a string. Most of a large text is strings, so this takes the native
 * search.
 */
function findStringEnd(text: Uint8Array, from: number): number {
  for (let end = text.indexOf(QUOTE, from); end >= 0; end = text.indexOf(QUOTE, end + 1)) {
    let before = end;
    while (before > from && text[before - 1] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return text.length;
}

/** Bits of the table in which names are counted. */
const TABLE_BITS = 20;
const FNV_PRIME = 0x01_00_01_93;

/**
 * Counts different names by their hashes. Two names may share a place, which counts them as one; the seed is secret, so
 * that nobody can choose names that do.
 */
class NameCount {
  readonly #seed: number;
  #seen: Uint8Array | undefined;
  #count = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  add(text: Uint8Array, start: number, end: number): number {
    let hash = this.#seed;
    for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ text[at]!, FNV_PRIME);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d);
    const place = (hash ^ (hash >>> 12)) >>> (32 - TABLE_BITS);
    const seen = (this.#seen ??= new Uint8Array(2 ** (TABLE_BITS - 3)));
    const mask = 1 << (place & 7);
    const byte = seen[place >>> 3]!;
    if ((byte & mask) === 0) {
      seen[place >>> 3] = byte | mask;
      this.#count += 1;
    }
    return this.#count;
  }
}
