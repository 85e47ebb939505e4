import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readDevConfig } from '../env.ts';
import type { GoBuild } from './part.ts';

export const cacheFolder = (): string => join(readDevConfig().cacheFolder, 'parts');

/** Returns where the programs of the build are once they are compiled. */
export const getGoFolder = (build: GoBuild): string => join(cacheFolder(), hashGoBuild(build));

export const isCached = (build: GoBuild): boolean => existsSync(getGoFolder(build));

/** Returns a key that changes with the version, the flags, the programs and the content of the sources. */
export function hashGoBuild({ name, version, module, sources, flags, programs }: GoBuild): string {
  const hash = createHash('sha256').update(JSON.stringify([flags, programs]));
  for (const file of sources.flatMap((source) => listFiles(join(module, source))))
    hash.update(readFileSync(file));
  return `${name}-${version}-${hash.digest('hex').slice(0, 12)}`;
}

function listFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const goFiles = readdirSync(path).filter((name) => name.endsWith('.go'));
  return goFiles.toSorted().map((name) => join(path, name));
}
