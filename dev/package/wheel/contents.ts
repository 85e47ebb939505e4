import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DevError } from '../../errors.ts';
import type { Installed, NpmManifest } from './packages.ts';
import type { Entry } from './zip.ts';

/** The folder of the Python package in the wheel; the compiled package for developers lies in `app` below. */
export const MODULE = 'gx_platform';
const APP = `${MODULE}/app`;

const LICENSE = /^(licen[cs]e|notice|copying|copyright)/i;
/** Files that nobody reads at run time. */
const NOT_RUN = /(\.(d\.[cm]?ts|map|md|markdown|tsbuildinfo|flow)|\.[cm]?ts|\.h|\.a|\.la|\.pc)$/i;
/** Folders at the top of packages, and of Postgres, that nobody reads at run time. */
const LEFT_OUT = new Set([
  'node_modules',
  'test',
  'tests',
  '__tests__',
  'docs',
  'include',
  'pkgconfig',
  'man',
  'doc',
  '.github',
]);

/** An installation puts the binary of the platform's own package there a second time. */
const TWICE = 'node_modules/esbuild/bin/esbuild';

const isRun = (file: string): boolean =>
  LICENSE.test(path.basename(file)) || (!NOT_RUN.test(file) && file !== TWICE);

/** Returns the files below a folder, in order. A wheel holds no links; Postgres makes its own at its first start. */
function listFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : listFiles(file);
      return entry.isFile() && isRun(file) ? [file] : [];
    });
}

export function readWheelEntry(file: string, name: string): Entry {
  return { name, content: readFileSync(file), executable: (lstatSync(file).mode & 0o100) !== 0 };
}

/** Fields of a package's manifest that matter only to those who develop or publish it. */
const NOT_OURS = [
  'scripts',
  'devDependencies',
  'publishConfig',
  'repository',
  'bugs',
  'homepage',
  'funding',
  'keywords',
];

/** Returns the files of npm packages. */
export const readPackageEntries = (packages: Installed[]): Entry[] =>
  packages.flatMap(({ folder }) =>
    listFiles(folder).map((file) => {
      const entry = readWheelEntry(file, `${APP}/${file}`);
      return file === path.join(folder, 'package.json')
        ? { ...entry, content: stripManifest(entry.content) }
        : entry;
    }),
  );

function stripManifest(content: Buffer): Buffer {
  const fields = Object.entries(JSON.parse(content.toString()) as object).filter(
    ([name]) => !NOT_OURS.includes(name),
  );
  return Buffer.from(`${JSON.stringify(Object.fromEntries(fields))}\n`);
}

/** Returns our own files: those that the package for developers names, and its manifest. */
export const readProjectEntries = (files: string[], manifest: object): Entry[] => [
  ...files.map((file) => readWheelEntry(file, `${APP}/${file}`)),
  {
    name: `${APP}/package.json`,
    content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`),
    executable: false,
  },
];

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Returns the license of a package that brings no file with one. */
function buildLicense({ name, license, author }: NpmManifest): string {
  if (license !== 'MIT')
    throw new DevError(
      `${name} brings no license, and names ${license ?? 'none'}: the wheel can't hold it.`,
    );
  const by = typeof author === 'object' ? author.name : author;
  return `Copyright (c) ${by?.replace(/ *[<(].*/, '') ?? `the authors of ${name}`}\n\n${MIT}`;
}

/** Returns the licenses of all packages, as one text; the files that packages bring stand beside them, too. */
export function collectNotices(packages: Installed[]): string {
  const rows = packages.map(({ folder, manifest }) => {
    const files = readdirSync(folder).filter((name) => LICENSE.test(name));
    const texts = files.map((name) => readFileSync(path.join(folder, name), 'utf8').trim());
    const heading = `${manifest.name} ${manifest.version} (${manifest.license ?? 'its license'})`;
    return [heading, ...(texts.length > 0 ? texts : [buildLicense(manifest)])].join('\n\n');
  });
  return `${['This wheel holds these packages of npm.', ...rows].join(`\n\n${'-'.repeat(72)}\n\n`)}\n`;
}

/** Postgres' own libraries, which have its license. */
const OF_POSTGRES = /^lib(pq|ecpg|ecpg_compat|pgtypes)\./;

/**
 * Returns the licenses of the libraries that Postgres brings. Throws for a library that they do not name, because a new
 * Postgres may bring others.
 */
export function collectLibraryNotices(entries: Pick<Entry, 'name'>[], notices: string): string {
  const libraries = entries
    .map(({ name }) => /\/native\/lib\/([^/]+\.so[^/]*)$/.exec(name)?.[1])
    .filter((name) => name !== undefined);
  const unknown = libraries.filter(
    (name) => !OF_POSTGRES.test(name) && !notices.includes(name.slice(0, name.indexOf('.'))),
  );
  if (unknown.length > 0)
    throw new DevError(`The wheel has no license of these libraries: ${unknown.join(', ')}.`);
  return notices;
}

/** Returns the highest version of the C library that programs and libraries ask for, as `[major, minor]`. */
export function findNeededGlibc(entries: Entry[]): [major: number, minor: number] {
  const binaries = entries.filter(({ content }) =>
    content.subarray(0, 4).equals(Buffer.from('\u007fELF')),
  );
  const minors = binaries.flatMap(({ content }) =>
    [...content.toString('latin1').matchAll(/\0GLIBC_2\.(\d+)(?=\0)/g)].map(([, minor]) =>
      Number(minor),
    ),
  );
  return [2, Math.max(17, ...minors)];
}
