import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const IMPORTED = /(?:\bfrom|\bimport\()\s*'(\.{1,2}\/[^']+)'/g;

/** Returns the longest chain of imports below src, types included. The lint allows no circle of files. */
export function findLongestChain(root: string): string[] {
  const imports = new Map(
    globSync('src/**/*.{ts,tsx}', { cwd: root }).map((file): [string, string[]] => {
      const paths = [...readFileSync(join(root, file), 'utf8').matchAll(IMPORTED)].map(
        ([, path = '']) => join(dirname(file), path),
      );
      return [file, paths];
    }),
  );
  const chains = new Map<string, string[]>();
  const follow = (file: string): string[] => {
    const known = chains.get(file);
    if (known !== undefined) return known;
    chains.set(file, [file]);
    const longest = (imports.get(file) ?? [])
      .map(follow)
      .reduce<string[]>((best, chain) => (chain.length > best.length ? chain : best), []);
    const chain = [file, ...longest];
    chains.set(file, chain);
    return chain;
  };
  return [...imports.keys()]
    .map(follow)
    .reduce<string[]>((best, chain) => (chain.length > best.length ? chain : best), []);
}
