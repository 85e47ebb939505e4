import { createHash } from 'node:crypto';
import { createReadStream, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Returns the lines of `sha256sum` about every file below a folder, sorted by name. */
export async function computeChecksums(folder: string): Promise<string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const lines: string[] = [];
  for (const path of files
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .toSorted())
    lines.push(`${await hashFile(join(folder, path))}  ${path}\n`);
  return lines.join('');
}

/** Returns the SHA-256 of a file, as hexadecimal digits. */
export async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
