import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { DevError } from '../errors.ts';
import { REASONS } from '../reference/meanings.ts';

const PAGE = 'src/console/page';
const ASSETS = 'assets';
const kB = 1000;

/** Bytes after gzip that the page may have: its scripts before the first paint, all of them, and its styles. */
const BUDGET = { entry: 45 * kB, all: 300 * kB, styles: 12 * kB };
export type Sizes = typeof BUDGET;

export type Built = {
  /** The content of each file by its path in the folder of the page. */
  files: Map<string, Uint8Array>;
  sizes: Sizes;
};

/** The pages: that of the console, and the studio of `dev`, whose files lie below its address. */
const PAGES = {
  console: { entry: `${PAGE}/entry.tsx`, html: `${PAGE}/index.html`, below: '' },
  studio: { entry: `${PAGE}/dev-entry.tsx`, html: `${PAGE}/dev-page.html`, below: 'studio/' },
};

/** Builds a page, without writing it. The name of each asset has the hash of its content. */
export async function bundlePage(page: keyof typeof PAGES = 'console'): Promise<Built> {
  const { entry: source, html: template, below } = PAGES[page];
  const { outputFiles, metafile } = await build({
    entryPoints: { [page]: source, style: `${PAGE}/style/console.css` },
    outdir: ASSETS,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    write: false,
    metafile: true,
    define: { REASON_MEANINGS: JSON.stringify(REASONS) },
    legalComments: 'none',
    logLevel: 'silent',
  });
  const files = new Map<string, Uint8Array>(
    outputFiles.map(({ path, contents }) => [`${ASSETS}/${basename(path)}`, contents]),
  );
  const entry = listEntryScripts(metafile, source);
  const style = requireFile(files, /\/style-\w+\.css$/);
  const html = readFileSync(template, 'utf8').replace(
    '<!-- assets -->',
    buildTags(entry, style, below).join('\n    '),
  );
  files.set('index.html', Buffer.from(html));
  files.set('licenses.txt', Buffer.from(collectLicenses(metafile)));
  return { files, sizes: measureSizes(files, entry) };
}

/** Returns the scripts before the first paint, the entry itself first. */
function listEntryScripts({ outputs }: Metafile, source: string): string[] {
  const found: string[] = [];
  const add = (path: string): void => {
    if (found.includes(path)) return;
    found.push(path);
    for (const { path: next, kind } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement') add(next);
  };
  for (const [path, { entryPoint }] of Object.entries(outputs))
    if (entryPoint === source) add(path);
  return found;
}

/** Returns the licenses of the packages whose code is in the page. They ask to go with each copy. */
function collectLicenses({ inputs }: Metafile): string {
  const folders = Object.keys(inputs).flatMap(
    (path) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [],
  );
  return [...new Set(folders)]
    .sort()
    .map(
      (folder) =>
        `${folder.slice('node_modules/'.length)}\n\n${readFileSync(join(folder, 'LICENSE'), 'utf8').trim()}\n`,
    )
    .join('\n\n');
}

function requireFile(files: Map<string, unknown>, pattern: RegExp): string {
  const found = [...files.keys()].find((path) => pattern.test(path));
  if (found === undefined)
    throw new DevError(`The build of the console page has no file like ${String(pattern)}.`);
  return found;
}

function buildTags([entry = '', ...chunks]: string[], style: string, below: string): string[] {
  return [
    `<link rel="stylesheet" href="${below}${style}" />`,
    ...chunks.map((chunk) => `<link rel="modulepreload" href="${below}${chunk}" />`),
    `<script type="module" src="${below}${entry}"></script>`,
  ];
}

function measureSizes(files: Map<string, Uint8Array>, entry: string[]): Sizes {
  const sum = (paths: string[]): number =>
    paths.reduce(
      (size, path) => size + compressGzip(files.get(path) ?? new Uint8Array()).length,
      0,
    );
  const listByEnding = (text: string): string[] =>
    [...files.keys()].filter((path) => path.endsWith(text));
  return { entry: sum(entry), all: sum(listByEnding('.js')), styles: sum(listByEnding('.css')) };
}

const compressGzip = (content: Uint8Array): Uint8Array => gzipSync(content, { level: 9 });
const compressBrotli = (content: Uint8Array): Uint8Array =>
  brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });

/** Bytes that the studio may add to the package for developers, where its files lie as they are. */
const IN_PACKAGE = 350 * kB;

/** Returns the bytes of a page's files, and a sentence if the package for developers would grow too much by them. */
export function measurePackageGrowth({ files }: Pick<Built, 'files'>): {
  bytes: number;
  most: number;
  faults: string[];
} {
  const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  const fault = `The studio adds ${bytes} bytes to the package for developers; at most ${IN_PACKAGE}.`;
  return { bytes, most: IN_PACKAGE, faults: bytes > IN_PACKAGE ? [fault] : [] };
}

/** Bytes of all scripts of the studio after gzip, its parts that come later among them. */
const STUDIO = 90 * kB;

/** Returns a sentence if the studio is above its budget. */
export const checkStudio = ({ all }: Sizes): string[] =>
  all > STUDIO ? [`The studio has ${all} bytes after gzip; at most ${STUDIO}.`] : [];

/** Returns a sentence for each size that is above its budget. */
export function checkBudget(sizes: Sizes): string[] {
  const names = {
    entry: 'The scripts before the first paint have',
    all: 'All scripts have',
    styles: 'The styles have',
  };
  return (Object.keys(BUDGET) as (keyof Sizes)[])
    .filter((name) => sizes[name] > BUDGET[name])
    .map((name) => `${names[name]} ${sizes[name]} bytes after gzip; at most ${BUDGET[name]}.`);
}

/** Writes a page into a folder: each asset plain, and for networks also by gzip and by Brotli. */
export function writePage(
  { files }: Pick<Built, 'files'>,
  folder: string,
  { compressed = true } = {},
): void {
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  mkdirSync(join(folder, ASSETS), { recursive: true });
  for (const [path, content] of files) {
    writeFileSync(join(folder, path), content);
    if (!compressed || !path.startsWith(ASSETS)) continue;
    writeFileSync(join(folder, `${path}.gz`), compressGzip(content));
    writeFileSync(join(folder, `${path}.br`), compressBrotli(content));
  }
}
