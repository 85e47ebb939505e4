import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { tarOf } from './tar.ts';
import type { TreeEntry } from './tree.ts';

/** A layer as a registry knows it: of the compressed file, and of the archive in it. */
export type Layer = { digest: string; size: number; diffId: string };

/** Compresses at some 100 MB a second, and packages by 4. Higher levels take thrice as long for a tenth. */
const LEVEL = 3;

/** Writes entries below `/agent` as one layer. */
export async function writeLayer(file: string, root: string, entries: readonly TreeEntry[]): Promise<Layer> {
  const [plain, packed] = [createHash('sha256'), createHash('sha256')];
  let size = 0;
  await pipeline(
    Readable.from(tarOf(root, 'agent', entries)),
    heard(plain),
    createGzip({ level: LEVEL }),
    heard(packed, (bytes) => (size += bytes)),
    createWriteStream(file),
  );
  return { digest: `sha256:${packed.digest('hex')}`, size, diffId: `sha256:${plain.digest('hex')}` };
}

const heard = (hash: Hash, count?: (bytes: number) => void): Transform =>
  new Transform({
    transform(piece: Buffer, _encoding, done) {
      hash.update(piece);
      count?.(piece.length);
      done(null, piece);
    },
  });
