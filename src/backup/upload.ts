import { createHash } from 'node:crypto';
import type { BackupStore } from './store.ts';

const MIB = 1_048_576;
/** S3 takes 10,000 parts. They grow with each thousand: a dump may have 860 GiB, and few bytes take little memory. */
const PARTS_OF_A_SIZE = 1000;
const computePartSize = (number: number): number =>
  16 * MIB * (1 + Math.floor((number - 1) / PARTS_OF_A_SIZE));

export type SentDump = { bytes: number; sha256: string };

/**
 * Sends a stream as one object, without a file. The object is completed only if `whole` says that the stream was whole.
 * Otherwise nothing of it is left.
 */
export async function upload(
  store: BackupStore,
  key: string,
  { source, whole }: { source: AsyncIterable<Buffer>; whole: () => Promise<void> },
): Promise<SentDump> {
  const id = await store.begin(key);
  try {
    const hash = createHash('sha256');
    const tags: string[] = [];
    let bytes = 0;
    for await (const body of splitIntoParts(source)) {
      hash.update(body);
      bytes += body.length;
      tags.push(await store.sendPart(key, { id, number: tags.length + 1, body }));
    }
    await whole();
    await store.complete(key, { id, tags });
    return { bytes, sha256: hash.digest('hex') };
  } catch (error) {
    // The reason of the failure says more than a failure to clean up, which the next backup does again.
    await store.abortUpload(key, id).catch(() => undefined);
    throw error;
  }
}

async function* splitIntoParts(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let [size, number] = [0, 1];
  for await (const piece of source) {
    pieces.push(piece);
    size += piece.length;
    if (size < computePartSize(number)) continue;
    yield Buffer.concat(pieces);
    [pieces, size, number] = [[], 0, number + 1];
  }
  if (size > 0 || number === 1) yield Buffer.concat(pieces);
}
