import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { runProcess } from '../../dev/commands.ts';
import { NO_REGISTRY } from '../../dev/images/registry.ts';
import { listChartImages } from '../../dev/release/chart-images.ts';
import { parseVersionNotes } from '../../dev/release/changelog.ts';
import { writePackages } from '../../dev/release/release.ts';
import { requireCommit, exportCommit, type Commit } from '../../dev/release/source.ts';

/* The parts of a release that need no image: made twice of one commit, and read as their users read them. */

const root = resolve('.');
const work = mkdtempSync(join(tmpdir(), 'gx-release-'));
const { version, license } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string;
  license: string;
};
const notes = parseVersionNotes(readFileSync('CHANGELOG.md', 'utf8'), version);
const images = listChartImages(readFileSync('charts/gx-platform/values.yaml', 'utf8'), version).map(
  (image, at) => ({
    ...image,
    digest: `sha256:${String(at).repeat(64)}`,
    platforms: ['linux/amd64'],
  }),
);

/** What an installation has to name. */
const SET = ['--set', `images.registry=${NO_REGISTRY}`];

let helm: (...args: string[]) => Promise<string>;
let seconds: number;
const inFirst = (file: string): string => join(work, 'first', file);
const chart = inFirst(`chart/gx-platform-${version}.tgz`);

async function made(name: string, commit: Commit): Promise<void> {
  const source = join(work, `${name}-source`);
  await exportCommit(root, commit, source, () => undefined);
  await writePackages({ source, version, license, commit, notes }, images, join(work, name));
}

beforeAll(async () => {
  const tools = await ensureTools(['helm']);
  helm = (...args) => runProcess(tools.helm, args);
  const commit = await requireCommit(root, 'HEAD');
  seconds = commit.seconds;
  await made('first', commit);
  await made('second', commit);
}, 1_200_000);
afterAll(() => rmSync(work, { recursive: true, force: true }), 120_000);

test('one commit gives the same bytes of chart, install.yaml, package and bills of materials', () => {
  const filesOf = (name: string): string[] =>
    readdirSync(join(work, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(work, name).length + 1))
      .toSorted();
  const files = filesOf('first');
  expect(files).toEqual([
    `chart/gx-platform-${version}.tgz`,
    'digests.yaml',
    'install.yaml',
    `npm/gx-platform-${version}.tgz`,
    'packages.txt',
    'sbom/chart.cdx.json',
    'sbom/npm.cdx.json',
  ]);
  expect(filesOf('second')).toEqual(files);
  const other = files.filter(
    (file) => !readFileSync(inFirst(file)).equals(readFileSync(join(work, 'second', file))),
  );
  expect(other).toEqual([]);
});

test('install.yaml has the objects of the chart with default values, behind their namespace', async () => {
  const text = readFileSync(inFirst('install.yaml'), 'utf8');
  const rendered = await helm(
    'template',
    'gx',
    inFirst('../first-source/charts/gx-platform'),
    '--namespace',
    'gx-system',
    '--skip-tests',
    ...SET,
    // The packed chart names the processors that all its images are for.
    '--set',
    'images.architecture=amd64',
  );
  expect(text.endsWith(rendered)).toBe(true);
  const [namespace, ...others] = parseAllDocuments(text).map(
    (document) => document.toJS() as { kind: string } | null,
  );
  expect(others.length).toBeGreaterThan(30);
  const [own] = parseAllDocuments(readFileSync('config/default/namespaces.yaml', 'utf8'));
  expect(namespace).toEqual(own?.toJS());
  expect(text).toContain(`image: registry.invalid/gx/gx-platform:${version}`);
});

test('Helm takes the packed chart, by tags and by digests, and shows its annotations', async () => {
  expect(await helm('lint', '--strict', chart, ...SET)).toContain('0 chart(s) failed');
  const shown = parse(await helm('show', 'chart', chart)) as {
    version: string;
    annotations: Record<string, string>;
  };
  expect(shown.version).toBe(version);
  expect(shown.annotations['artifacthub.io/license']).toBe(license);
  const named = parse(shown.annotations['artifacthub.io/images'] ?? '') as { image: string }[];
  expect(named.map(({ image }) => image)).toEqual(
    images.map(({ reference, digest }) => `${reference}@${digest}`),
  );
  expect(parse(shown.annotations['artifacthub.io/crds'] ?? '')).toHaveLength(
    readdirSync('crds').length,
  );
  const pinned = await helm('template', 'gx', chart, ...SET, '--values', inFirst('digests.yaml'));
  const used = new Set(
    [...pinned.matchAll(/registry\.invalid\/gx\/[\w-]+[:@]\S+/g)].map(([reference]) =>
      reference.replace(/"$/, ''),
    ),
  );
  expect([...used].filter((reference) => !reference.includes('@sha256:'))).toEqual([]);
  expect(used.size).toBeGreaterThan(1);
});

test('the package for developers is that of npm pack, and its bill has what it installs', async () => {
  const file = inFirst(`npm/gx-platform-${version}.tgz`);
  const manifest = JSON.parse(await runProcess('tar', ['-xOf', file, 'package/package.json'])) as {
    bin: { gx: string };
    dependencies: object;
  };
  expect((await runProcess('tar', ['-tf', file])).split('\n')).toContain(
    `package/${manifest.bin.gx}`,
  );
  const bill = JSON.parse(readFileSync(inFirst('sbom/npm.cdx.json'), 'utf8')) as {
    metadata: { timestamp: string };
    components: { name: string }[];
  };
  const names = bill.components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
  expect(names).not.toContain('vitest');
  expect(bill.metadata.timestamp).toBe(new Date(seconds * 1000).toISOString());
});
