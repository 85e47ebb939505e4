import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const LENGTH = 12;
/** Folders of a checkout that are no sources. */
const LOCAL = ['node_modules', '.gx', '__pycache__'];

/** Returns a hash of some texts, and of the files below some paths with their names and whether they are executable. */
export function hashContent(
  root: string,
  paths: readonly string[],
  texts: readonly string[],
): string {
  const hash = createHash('sha256').update(JSON.stringify(texts));
  for (const path of paths.flatMap((each) => listFiles(root, each)).toSorted()) {
    const isProgram = (lstatSync(join(root, path)).mode & 0o111) !== 0;
    const content = readFileSync(join(root, path));
    hash.update(JSON.stringify([path, isProgram, content.length])).update(content);
  }
  return hash.digest('hex').slice(0, LENGTH);
}

function listFiles(root: string, path: string): string[] {
  if (!lstatSync(join(root, path)).isDirectory()) return [path];
  const names = readdirSync(join(root, path)).filter((name) => !LOCAL.includes(name));
  return names.flatMap((name) => listFiles(root, join(path, name)));
}
