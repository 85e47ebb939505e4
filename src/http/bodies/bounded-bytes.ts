/** Returns all bytes that come, or undefined once there are more than `most`; the rest is not read then. */
export async function readBoundedBytes(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most: number,
): Promise<Buffer | undefined> {
  const taken: Uint8Array[] = [];
  let size = 0;
  for await (const piece of pieces) {
    size += piece.length;
    if (size > most) return undefined;
    taken.push(piece);
  }
  return Buffer.concat(taken);
}
