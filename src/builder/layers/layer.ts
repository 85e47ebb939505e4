import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { asError, StageFailed } from '../../errors.ts';
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

/** Returns a layer's file as a registry describes it. Throws StageFailed if it is no compressed archive. */
export async function layerOf(file: string): Promise<Layer> {
  const [plain, packed] = [createHash('sha256'), createHash('sha256')];
  let size = 0;
  const ends = new Writable({ write: (_piece, _encoding, done) => done() });
  const hear = heard(packed, (bytes) => (size += bytes));
  try {
    await pipeline(createReadStream(file), hear, createGunzip(), heard(plain), ends);
  } catch (thrown) {
    throw new StageFailed('PushFailed', `${path.basename(file)} is not the file that the builder wrote: ${asError(thrown).message}.`);
  }
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
