import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream, closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { toError, StageFailed } from '../../errors.ts';
import type { TreeEntry } from './tree.ts';

/** A layer as a registry knows it: of the compressed file, and of the archive in it. */
export type Layer = { digest: string; size: number; diffId: string };

/** Compresses at some 100 MB a second, and packages by 4. Higher levels take thrice as long for a tenth. */
const LEVEL = 3;

/** Writes entries below `/agent` as one layer. */
export async function writeLayer(
  file: string,
  root: string,
  entries: readonly TreeEntry[],
): Promise<Layer> {
  const [plain, packed] = [createHash('sha256'), createHash('sha256')];
  let size = 0;
  await pipeline(
    Readable.from(packTar(root, 'agent', entries)),
    createHashStream(plain),
    createGzip({ level: LEVEL }),
    createHashStream(packed, (bytes) => (size += bytes)),
    createWriteStream(file),
  );
  return {
    digest: `sha256:${packed.digest('hex')}`,
    size,
    diffId: `sha256:${plain.digest('hex')}`,
  };
}

/** Returns a layer's file as a registry describes it. Throws StageFailed if it is no compressed archive. */
export async function readLayer(file: string): Promise<Layer> {
  const [plain, packed] = [createHash('sha256'), createHash('sha256')];
  let size = 0;
  const ends = new Writable({ write: (_piece, _encoding, done) => done() });
  const hear = createHashStream(packed, (bytes) => (size += bytes));
  try {
    await pipeline(createReadStream(file), hear, createGunzip(), createHashStream(plain), ends);
  } catch (thrown) {
    throw new StageFailed(
      'PushFailed',
      `${path.basename(file)} is not the file that the builder wrote: ${toError(thrown).message}.`,
    );
  }
  return {
    digest: `sha256:${packed.digest('hex')}`,
    size,
    diffId: `sha256:${plain.digest('hex')}`,
  };
}

const createHashStream = (hash: Hash, count?: (bytes: number) => void): Transform =>
  new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece);
      count?.(piece.length);
      done(null, piece);
    },
  });

const BLOCK = 512;
const CHUNK = 1 << 20;
/** The user and group of agents in every image of ours. */
const OWNER = 10_001;
const TYPES = { file: '0', link: '2', folder: '5' } as const;
const LONG_NAME = 'L';
const LONG_TARGET = 'K';

/**
 * Returns a tar archive of entries below a prefix, piece by piece. It depends on names, contents and the executable bit
 * alone: all times are 0 and all belongs to the agents' user, so that the same files make the same bytes. Names longer
 * than 100 bytes are written as GNU tar does.
 */
function* packTar(root: string, prefix: string, entries: readonly TreeEntry[]): Generator<Buffer> {
  for (const entry of entries) {
    const name = Buffer.from(`${prefix}/${entry.name}${entry.kind === 'folder' ? '/' : ''}`);
    const target = Buffer.from(entry.target);
    if (name.length > 100) yield* packLongName(LONG_NAME, name);
    if (target.length > 100) yield* packLongName(LONG_TARGET, target);
    const mode =
      entry.kind === 'link' ? 0o777 : entry.kind === 'folder' || entry.executable ? 0o755 : 0o644;
    yield encodeHeader(name, target, mode, entry.size, TYPES[entry.kind]);
    if (entry.kind === 'file') yield* readContent(path.join(root, entry.name), entry.size);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function* packLongName(type: string, text: Buffer): Generator<Buffer> {
  const size = text.length + 1;
  yield encodeHeader(Buffer.from('././@LongLink'), Buffer.alloc(0), 0o644, size, type);
  yield Buffer.concat([text, Buffer.alloc(1), buildPadding(size)]);
}

function encodeHeader(
  name: Buffer,
  target: Buffer,
  mode: number,
  size: number,
  type: string,
): Buffer {
  const block = Buffer.alloc(BLOCK);
  const writeOctal = (value: number, at: number, length: number): void =>
    void block.write(value.toString(8).padStart(length - 1, '0'), at);
  name.copy(block, 0, 0, 100);
  writeOctal(mode, 100, 8);
  writeOctal(OWNER, 108, 8);
  writeOctal(OWNER, 116, 8);
  writeOctal(size, 124, 12);
  writeOctal(0, 136, 12);
  block.write(type, 156);
  target.copy(block, 157, 0, 100);
  block.write('ustar  \0', 257, 'latin1');
  // The sum counts its own field as spaces.
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}

const buildPadding = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

function* readContent(file: string, size: number): Generator<Buffer> {
  const opened = openSync(file, 'r');
  try {
    for (let left = size; left > 0;) {
      const piece = Buffer.allocUnsafe(Math.min(left, CHUNK));
      const read = readSync(opened, piece, 0, piece.length, null);
      if (read === 0)
        throw new StageFailed(
          'BuildFailed',
          `${file} changed while the image was written: no command may keep running in the background.`,
        );
      yield piece.subarray(0, read);
      left -= read;
    }
  } finally {
    closeSync(opened);
  }
  yield buildPadding(size);
}
