import { JAVASCRIPT, PYTHON } from '../../src/agent/dev/new-project/files.ts';
import { DevError } from '../errors.ts';

type Versions = Record<string, string>;

/** The fields of the checkout's package.json that the package for developers takes over. */
export type CheckoutManifest = {
  name: string;
  version: string;
  description: string;
  license: string;
  dependencies: Versions;
};

type Contents = {
  checkout: CheckoutManifest;
  /** Specifiers that the compiled files import: files, modules of Node, packages. */
  imports: string[];
  /** The packages with Postgres for each platform, of which npm installs the one that fits. */
  postgres: Versions;
};

/** The fields of the package's own package.json that others read. */
export type PackageManifest = {
  version: string;
  description: string;
  files: string[];
  dependencies: Versions;
} & Record<string, unknown>;

/** The lowest Node on which the package runs: its packages need it, and src/gx.ts says so on an older one. */
const NODE = '>=22.15.0';

/**
 * Returns the package.json of the package for developers: the command `gx`, and only the packages that it imports.
 * Throws when one of those is no dependency of the checkout.
 */
export function buildPackageManifest({ checkout, imports, postgres }: Contents): PackageManifest {
  const { name, version, license, dependencies } = checkout;
  const packages = [...new Set(imports.filter(isOfPackage).map(toPackageName))].toSorted();
  const unknown = packages.filter((wanted) => dependencies[wanted] === undefined);
  if (unknown.length > 0)
    throw new DevError(
      `The compiled files import ${unknown.join(', ')}, which package.json does not list.`,
    );
  return {
    name,
    version,
    private: true,
    description: 'Write LangGraph agents and run them on your machine: the command gx.',
    license,
    type: 'module',
    // npx asks the registry for a package by the name of the command, and that of `gx` is a stranger's.
    bin: { gx: 'lib/gx.js', 'gx-platform': 'lib/gx.js' },
    exports: { './package.json': './package.json', './gx.schema.json': './schemas/gx.schema.json' },
    files: ['lib', 'dist/studio', 'schemas', ...PYTHON_FILES, ...PROJECT_FILES],
    engines: { node: NODE },
    dependencies: Object.fromEntries(
      packages.map((wanted) => [wanted, dependencies[wanted] ?? '']),
    ),
    optionalDependencies: postgres,
  };
}

/** Our modules of Python, which graphs in Python are run by. */
const PYTHON_FILES = ['python/gx_runner/**/*.py', 'python/gx_runner/py.typed'];

/** Files that `gx new` copies; a checkout in which the examples were tried has more beside them. */
const PROJECT_FILES = [JAVASCRIPT, PYTHON].flatMap(({ example, copied, manifest }) =>
  [...copied, manifest].map((file) => `examples/${example}/${file}`),
);

/** Returns the specifiers of the imports of a compiled file. Its own text may speak of others, further to the right. */
export const listImports = (compiled: string): string[] =>
  [
    ...compiled.matchAll(/^(?:import|export) (?:[^;'"]*? from )?'([^']+)'|\bimport\('([^']+)'\)/gm),
  ].map(([, fixed, dynamic]) => fixed ?? dynamic ?? '');

const isOfPackage = (specifier: string): boolean =>
  !specifier.startsWith('.') && !specifier.startsWith('node:');

const toPackageName = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
