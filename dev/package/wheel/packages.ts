import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DevError } from '../../errors.ts';

export type NpmManifest = {
  name: string;
  version: string;
  license?: string;
  author?: string | { name: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
};

export type Installed = {
  /** Its folder, relative to the checkout. */ folder: string;
  manifest: NpmManifest;
};

/** Returns these packages of the checkout and all that they need, each once, sorted by folder. */
export function listInstalledPackages(names: string[]): Installed[] {
  const found = new Map<string, Installed>();
  const add = (name: string, from: string, isNeeded: boolean): void => {
    const folder = findPackageFolder(name, from);
    if (folder === undefined) {
      // A package for another platform is not installed.
      if (isNeeded)
        throw new DevError(
          `${name}, which ${from || 'the package'} needs, is not in node_modules: run "make install".`,
        );
      return;
    }
    if (found.has(folder)) return;
    const manifest = JSON.parse(
      readFileSync(path.join(folder, 'package.json'), 'utf8'),
    ) as NpmManifest;
    found.set(folder, { folder, manifest });
    for (const { wanted, needed } of listDependencies(manifest)) add(wanted, folder, needed);
  };
  for (const name of names) add(name, '', true);
  return [...found.values()].toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
}

function listDependencies(manifest: NpmManifest): { wanted: string; needed: boolean }[] {
  const {
    dependencies = {},
    optionalDependencies = {},
    peerDependencies = {},
    peerDependenciesMeta: about = {},
  } = manifest;
  const peers = Object.keys(peerDependencies).filter((name) => about[name]?.optional !== true);
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers].map(
    (wanted) => ({
      wanted,
      needed: !Object.hasOwn(optionalDependencies, wanted),
    }),
  );
}

/** Returns the folder in which Node finds a package that is imported from another one. */
function findPackageFolder(name: string, from: string): string | undefined {
  for (let at = from; ; at = path.dirname(at)) {
    const place = path.join(at, 'node_modules', name);
    if (existsSync(path.join(place, 'package.json'))) return place;
    if (at === '' || at === '.') return undefined;
  }
}
