import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DECLARED =
  /^export (?:declare |abstract |async )*(?:type|interface|class|enum|const|let|function\*?) ([$\w]+)/gm;
/** `export { a as b }` declares `b`. A name that is only passed on keeps its meaning. */
const RENAMED = /^export (?:type )?\{[^}]*\bas ([$\w]+)[^}]*\}/gm;

export type SharedName = { name: string; files: string[] };

/**
 * Returns the names that more than one file of the tree under `root` exports, whether as value or type: a reader takes
 * them for the same thing. The lint sees one file at a time and can't compare them.
 */
export function listSharedNames(root: string): SharedName[] {
  const files = new Map<string, Set<string>>();
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, name = ''] of [...text.matchAll(DECLARED), ...text.matchAll(RENAMED)])
      files.set(name, (files.get(name) ?? new Set()).add(file));
  }
  return [...files]
    .filter(([, from]) => from.size > 1)
    .map(([name, from]) => ({ name, files: [...from].sort() }));
}
