import { globSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob } from 'node:path';

const IMPORTED = /(?:\bfrom|\bimport\(|\bimport)\s*'(\.{1,2}\/[^']+)'/g;

/** Lines up to which a file is small, and those that a file may have (`max-lines`). */
const SMALL = 40;
const MOST = 300;

/** A small file, and the only one that imports it. */
export type SmallFile = { file: string; importer: string };

type Pure = { files: string[]; thin: string[] };

/**
 * Returns the small files of src that are to be a part of the only file that imports them: a reader goes to two places
 * where one would do. The importer stands in the same folder, and has room. Apart stay files that decide below one that
 * acts (`house/pure`), those of a program's entry, and those that tests load without the component which draws them.
 */
export function smallFiles(root: string): SmallFile[] {
  const texts = new Map(globSync('src/**/*.{ts,tsx}', { cwd: root }).map((file) => [file, readFileSync(join(root, file), 'utf8')]));
  const lines = (file: string): number => (texts.get(file) ?? '').trimEnd().split('\n').length;
  const decides = pureFiles(root);
  const isApart = ({ file, importer }: SmallFile): boolean =>
    dirname(file) !== dirname(importer) ||
    importer.endsWith('/main.ts') ||
    (importer.endsWith('.tsx') && file.endsWith('.ts')) ||
    lines(file) + lines(importer) > MOST ||
    (decides(file) && !decides(importer));
  return [...importersOf(texts)]
    .flatMap(([file, [importer = '', ...others]]) => (lines(file) > SMALL || others.length > 0 ? [] : [{ file, importer }]))
    .filter((small) => !isApart(small));
}

/** Returns each file with those that import it. */
function importersOf(texts: ReadonlyMap<string, string>): Map<string, string[]> {
  const importers = new Map<string, Set<string>>();
  for (const [file, text] of texts)
    for (const [, path = ''] of text.matchAll(IMPORTED)) {
      const target = join(dirname(file), path);
      if (texts.has(target)) importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  return new Map([...importers].map(([file, by]) => [file, [...by]]));
}

/** Returns whether a file is one of the pure ones, as the configuration of the lint lists them. */
function pureFiles(root: string): (file: string) => boolean {
  const config = readFileSync(join(root, '.oxlintrc.json'), 'utf8').replaceAll(/^\s*\/\/.*$/gm, '');
  const { overrides } = JSON.parse(config) as { overrides: { rules: Record<string, unknown> }[] };
  const { files, thin } = overrides.flatMap(({ rules }) => (rules['house/pure'] as [string, Pure] | undefined)?.[1] ?? [])[0]!;
  const isIn = (globs: string[], file: string): boolean => globs.some((glob) => matchesGlob(file, glob));
  return (file) => isIn(files, file) && !isIn(thin, file);
}
