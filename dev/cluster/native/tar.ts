/** One entry of a tar archive; `link` makes it a symbolic link, a name that ends with `/` a folder. */
export type Entry = { name: string; mode?: number; content?: Buffer; link?: string };

const block = 512;

/** A ustar archive without owners or times: the same entries always give the same bytes. */
export function tar(entries: readonly Entry[]): Buffer {
  return Buffer.concat([...entries.flatMap(encode), Buffer.alloc(2 * block)]);
}

function encode(entry: Entry): Buffer[] {
  const content = entry.content ?? Buffer.alloc(0);
  const padding = Buffer.alloc((block - (content.length % block)) % block);
  return [header(entry, content.length), content, padding];
}

function header(entry: Entry, size: number): Buffer {
  const bytes = Buffer.alloc(block);
  const octal = (value: number, at: number, length: number) => bytes.write(value.toString(8).padStart(length - 1, '0'), at);
  bytes.write(entry.name, 0, 100);
  octal(entry.mode ?? 0o755, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(size, 124, 12);
  octal(0, 136, 12);
  bytes.write(typeOf(entry), 156);
  bytes.write(entry.link ?? '', 157, 100);
  bytes.write('ustar\u000000', 257);
  // The checksum counts its own field as blanks.
  bytes.fill(' ', 148, 156);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}

function typeOf(entry: Entry): string {
  if (entry.link !== undefined) return '2';
  return entry.name.endsWith('/') ? '5' : '0';
}
