import { readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { InstalledPackages } from '../../src/agent/sbom/bill.ts';
import { UsageError } from '../errors.ts';
import { printLine, step } from '../steps.ts';
import type { ReleasedImage } from './annotations.ts';
import { buildChartBill, buildImageBill, buildPackageBill, formatBillPackages } from './bills.ts';
import { CHART, formatDigestValues, installYaml, packChart } from './chart.ts';
import { listChartImages } from './chart-images.ts';
import { parseVersionNotes, type VersionNotes } from './changelog.ts';
import { computeChecksums } from './checksums.ts';
import { buildFrom, Layout, type MadeImage } from './images.ts';
import { packNpm, readPackedManifest } from './npm-package.ts';
import { requireKey, sign } from './sign.ts';
import { requireCommit, exportCommit, requireClean, type Commit } from './source.ts';
import { requireVersion } from './versions.ts';

type Wanted = {
  root: string;
  version: string;
  folder: string;
  without: readonly string[];
  key?: string;
};
/** The files of the commit, and the facts that every part of a release carries. */
export type Source = {
  source: string;
  version: string;
  license: string;
  commit: Commit;
  notes: VersionNotes;
};

/** Makes the folder of a release. It appears whole: one that fails leaves the earlier one as it is. */
export async function release(wanted: Wanted): Promise<void> {
  const { root, version, folder, key } = wanted;
  await requireClean(root);
  if (key !== undefined) await requireKey(key);
  const notes = parseVersionNotes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const commit = await requireCommit(root, notes.commit);
  const work = await mkdtemp(join(tmpdir(), 'gx-release-'));
  await mkdir(dirname(folder), { recursive: true });
  const made = await mkdtemp(`${folder}.unfinished-`);
  try {
    const source = join(work, 'source');
    await step(`the files of commit ${commit.hash.slice(0, 12)}`, (report) =>
      exportCommit(root, commit, source, report),
    );
    const { license } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as {
      license: string;
    };
    const from = { source, version, license, commit, notes };
    requireVersionOf(from);
    await writeParts(from, wanted, made);
    await chmod(made, 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(made, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
    await rm(made, { recursive: true, force: true });
  }
  printLine(
    `${folder}${key === undefined ? ' is unsigned, because no key was given (--key)' : ' is signed'}`,
  );
}

function requireVersionOf({ source, version }: Source): void {
  const read = (file: string): string => readFileSync(join(source, file), 'utf8');
  requireVersion(version, {
    'package.json': read('package.json'),
    'package-lock.json': read('package-lock.json'),
    'Chart.yaml': read(`${CHART}/Chart.yaml`),
  });
}

/** Writes all files of a release into its folder, from the files of a commit. */
export async function writeParts(
  from: Source,
  { without, key }: Pick<Wanted, 'without' | 'key'>,
  into: string,
): Promise<void> {
  const made = await writeImages(from, without, join(into, 'images'));
  const images = made.map(({ bills: _bills, ...image }) => image);
  await writeFile(join(into, 'images.json'), `${JSON.stringify(images, null, 1)}\n`);
  await writeFile(
    join(into, 'images.txt'),
    images.map(({ reference }) => `${reference}\n`).join(''),
  );
  await copyFile(join(import.meta.dirname, 'mirror'), join(into, 'mirror'));
  await step('chart, install.yaml and the package for developers', () =>
    writePackages(from, images, into),
  );
  for (const { bills, ...image } of made)
    await writeFile(
      join(into, 'sbom', `${image.name}.cdx.json`),
      buildImageBill(image, bills, pickReleaseFacts(from)),
    );
  await writeFile(join(into, 'CHANGELOG.md'), from.notes.text);
  await writeFile(
    join(into, 'release.json'),
    formatReleaseFacts(from, images, { without, isSigned: key !== undefined }),
  );
  await step('checksums', async () =>
    writeFile(join(into, 'checksums.txt'), await computeChecksums(into)),
  );
  if (key !== undefined) await step('signatures', () => sign(into, key));
}

async function writeImages(
  from: Source,
  without: readonly string[],
  folder: string,
): Promise<MadeImage[]> {
  const { source, version, license, commit } = from;
  const all = listChartImages(readFileSync(join(source, CHART, 'values.yaml'), 'utf8'), version);
  const unknown = without.filter((name) => !all.some((image) => image.name === name));
  if (unknown.length > 0)
    throw new UsageError(
      `The chart has no image ${unknown.join(', ')}; it has: ${all.map(({ name }) => name).join(', ')}.`,
    );
  const wanted = all.filter(({ name }) => !without.includes(name));
  const archives = await step('images', (report) =>
    buildFrom(
      source,
      wanted.map(({ name }) => name),
      report,
    ),
  );
  const layout = new Layout(folder, { version, license, commit });
  const made: MadeImage[] = [];
  for (const image of wanted)
    await step(`${image.name} in the layout`, async () =>
      made.push(await layout.add(image, archives.get(image.name) ?? '')),
    );
  await layout.finish();
  return made;
}

/**
 * Writes the parts that follow from a commit and the digests of its images: the chart, its objects in one file, the
 * package for developers, and the bills of materials of both.
 */
export async function writePackages(
  from: Source,
  images: ReleasedImage[],
  into: string,
): Promise<void> {
  const { source, version, commit, notes } = from;
  const dates = pickReleaseFacts(from);
  for (const folder of ['chart', 'sbom']) await mkdir(join(into, folder), { recursive: true });
  const chart = await packChart(
    { source, version, seconds: commit.seconds, changes: notes.changes, images },
    join(into, 'chart'),
  );
  await writeFile(join(into, 'install.yaml'), await installYaml(chart));
  await writeFile(join(into, 'digests.yaml'), formatDigestValues(images));
  const npm = await packNpm(source, join(into, 'npm'));
  const lock = JSON.parse(
    readFileSync(join(source, 'package-lock.json'), 'utf8'),
  ) as InstalledPackages;
  await writeFile(join(into, 'sbom', 'chart.cdx.json'), buildChartBill(images, dates));
  const bill = buildPackageBill(await readPackedManifest(npm), lock, dates);
  await writeFile(join(into, 'sbom', 'npm.cdx.json'), bill);
  await writeFile(join(into, 'packages.txt'), formatBillPackages(bill));
}

const pickReleaseFacts = ({
  commit,
  version,
  license,
}: Source): { seconds: number; version: string; license: string } => ({
  seconds: commit.seconds,
  version,
  license,
});

type Made = { without: readonly string[]; isSigned: boolean };

/** Returns release.json: version, commit, platforms, images, and whether it is signed. */
function formatReleaseFacts(
  { version, commit }: Source,
  images: ReleasedImage[],
  { without, isSigned }: Made,
): string {
  const platforms = [...new Set(images.flatMap((image) => image.platforms))];
  const made = new Date(commit.seconds * 1000).toISOString();
  const facts = {
    version,
    commit: commit.hash,
    date: made,
    platforms,
    images: images.map(({ reference, digest }) => `${reference}@${digest}`),
    withoutImages: without,
  };
  return `${JSON.stringify({ ...facts, signature: isSigned ? 'checksums.txt.sigstore.json' : 'unsigned' }, null, 1)}\n`;
}
