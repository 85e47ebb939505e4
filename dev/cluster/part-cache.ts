import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Part } from './part-list.ts';

export const partsFolder = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'gx-platform', 'parts');

export const folderOf = (part: Part): string => join(partsFolder(), keyOf(part));

export const isCached = (part: Part): boolean => existsSync(folderOf(part));

export function keyOf(part: Part): string {
  const hash = createHash('sha256').update(JSON.stringify([part.flags, part.programs]));
  for (const file of part.sources.flatMap((source) => filesOf(join(part.module, source)))) {
    hash.update(readFileSync(file));
  }
  return `${part.name}-${part.version}-${hash.digest('hex').slice(0, 12)}`;
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const goFiles = readdirSync(path).filter((name) => name.endsWith('.go'));
  return goFiles.sort().map((name) => join(path, name));
}
