import { inflateRawSync } from 'node:zlib';

const END_OF_DIRECTORY = 0x06054b50;
const STORED = 0;

/**
 * Returns a function that reads one file of a zip archive (APPNOTE.TXT of PKWARE, 4.3), stored or deflated, without
 * encryption and smaller than 4 GB.
 */
export function readZip(archive: Buffer): (path: string) => Buffer {
  const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0 || archive.readUInt32LE(end) !== END_OF_DIRECTORY)
    throw new Error('it is no zip archive');
  const entries = new Map<string, { method: number; size: number; at: number }>();
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count -= 1) {
    const [name, extra, comment] = [28, 30, 32].map((field) =>
      archive.readUInt16LE(at + field),
    ) as [number, number, number];
    const entry = {
      method: archive.readUInt16LE(at + 10),
      size: archive.readUInt32LE(at + 20),
      at: archive.readUInt32LE(at + 42),
    };
    entries.set(archive.toString('utf8', at + 46, at + 46 + name), entry);
    at += 46 + name + extra + comment;
  }
  return (path) => {
    const entry = entries.get(path);
    if (entry === undefined) throw new Error(`it has no file ${path}`);
    // The lengths of a file's own head may differ from those of the directory.
    const start =
      entry.at + 30 + archive.readUInt16LE(entry.at + 26) + archive.readUInt16LE(entry.at + 28);
    const bytes = archive.subarray(start, start + entry.size);
    return entry.method === STORED ? bytes : inflateRawSync(bytes);
  };
}
