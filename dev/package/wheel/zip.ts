import { crc32, deflateRawSync } from 'node:zlib';

/* Writes archives that are the same for the same entries. */

export type Entry = { name: string; content: Buffer; executable: boolean };

const LOCAL = 0x04_03_4b_50;
const CENTRAL = 0x02_01_4b_50;
const END = 0x06_05_4b_50;
/** The version that deflated files ask for. */
const VERSION = 20;
/** Made on Unix, whose modes the upper half of the attributes holds. */
const UNIX = 3 << 8;
const UTF_8 = 1 << 11;
const DEFLATED = 8;
/** 1980-01-01, the first day that the format knows. */
const FIRST_DAY = 0x21;
const FILE = 0o10_0644;
const PROGRAM = 0o10_0755;
const BEST = 9;

type Packed = { entry: Entry; packed: Buffer; checksum: number };

function encodeFields({ entry, packed, checksum }: Packed): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(VERSION, 0);
  fields.writeUInt16LE(UTF_8, 2);
  fields.writeUInt16LE(DEFLATED, 4);
  fields.writeUInt16LE(FIRST_DAY, 8);
  fields.writeUInt32LE(checksum, 10);
  fields.writeUInt32LE(packed.length, 14);
  fields.writeUInt32LE(entry.content.length, 18);
  fields.writeUInt16LE(Buffer.byteLength(entry.name), 22);
  return fields;
}

function encodeSignature(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(number);
  return bytes;
}

function encodeCentralHeader(file: Packed, at: number): Buffer {
  const version = Buffer.alloc(2);
  version.writeUInt16LE(UNIX | VERSION);
  const rest = Buffer.alloc(14);
  // Unsigned, because the mode fills the highest bits.
  rest.writeUInt32LE(((file.entry.executable ? PROGRAM : FILE) << 16) >>> 0, 6);
  rest.writeUInt32LE(at, 10);
  return Buffer.concat([
    encodeSignature(CENTRAL),
    version,
    encodeFields(file),
    rest,
    Buffer.from(file.entry.name),
  ]);
}

function end(count: number, size: number, at: number): Buffer {
  const record = Buffer.alloc(18);
  record.writeUInt16LE(count, 4);
  record.writeUInt16LE(count, 6);
  record.writeUInt32LE(size, 8);
  record.writeUInt32LE(at, 12);
  return Buffer.concat([encodeSignature(END), record]);
}

/** Returns the archive with these entries, in their order. */
export function packZip(entries: Entry[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const file = {
      entry,
      packed: deflateRawSync(entry.content, { level: BEST }),
      checksum: crc32(entry.content),
    };
    const piece = Buffer.concat([
      encodeSignature(LOCAL),
      encodeFields(file),
      Buffer.from(entry.name),
      file.packed,
    ]);
    directory.push(encodeCentralHeader(file, at));
    pieces.push(piece);
    at += piece.length;
  }
  const listed = Buffer.concat(directory);
  return Buffer.concat([...pieces, listed, end(entries.length, listed.length, at)]);
}
