import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Returns the folder of a package as code in a folder finds it; also of a package that exports nothing. */
export function findPackageFolder(folder: string, name: string): string | undefined {
  const places = createRequire(path.join(folder, 'package.json')).resolve.paths(name) ?? [];
  const found = places
    .map((place) => path.join(place, name))
    .find((each) => existsSync(path.join(each, 'package.json')));
  return found && realpathSync(found);
}
