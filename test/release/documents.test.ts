import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { addAnnotations } from '../../dev/release/annotations.ts';
import { buildChartBill, buildImageBill, buildPackageBill } from '../../dev/release/bills.ts';
import { formatDigestValues, nameArchitecture } from '../../dev/release/chart.ts';
import { listChartImages } from '../../dev/release/chart-images.ts';
import { computeChecksums } from '../../dev/release/checksums.ts';
import {
  computeTextDigest,
  buildImageIndex,
  formatLayoutIndex,
  buildPackedManifest,
} from '../../dev/release/layout.ts';

const DIGEST = `sha256:${'0a'.repeat(32)}`;
const image = {
  value: 'platform',
  name: 'gx-platform',
  reference: 'registry.invalid/gx/gx-platform:1.2.3',
  digest: DIGEST,
  platforms: ['linux/amd64'],
};
const made = { seconds: 1_700_000_000, version: '1.2.3', license: 'Apache-2.0' };

test('the images of a chart are those of its values, at its version', () => {
  const values =
    'images:\n  registry: ""\n  platform: { registry: "", repository: gx/gx-platform, tag: "" }\n  pullSecrets: []\n';
  const { digest: _digest, platforms: _platforms, ...named } = image;
  expect(listChartImages(values, '1.2.3')).toEqual([named]);
  expect(parse(formatDigestValues([image]))).toEqual({ images: { platform: { digest: DIGEST } } });
});

test('the chart of a release names the one kind of processors that its images are for', () => {
  const values = readFileSync('charts/gx-platform/values.yaml', 'utf8');
  const named = (...platforms: string[]): unknown => {
    const text = nameArchitecture(
      values,
      platforms.map((platform) => ({ platforms: [platform] })),
    );
    return (parse(text) as { images: { architecture: string } }).images.architecture;
  };
  expect(named('linux/arm64', 'linux/arm64')).toBe('arm64');
  expect([named(), named('linux/amd64', 'linux/arm64')]).toEqual(['', '']);
  expect(nameArchitecture('images: {}\n', [{ platforms: ['linux/amd64'] }])).toBe('images: {}\n');
});

describe("the chart's page at Artifact Hub", () => {
  const definition =
    'metadata: { name: listeners.gx.dev }\nspec: { names: { kind: Listener }, versions: [{ name: v1, storage: true }] }\n';
  const page = (version: string, definitions = [definition]): Record<string, string> => {
    const changes = [{ kind: 'added', description: 'A thing.' }];
    const yaml = addAnnotations('# Kept.\nname: gx-platform\n', {
      version,
      license: 'Apache-2.0',
      changes,
      images: [image],
      definitions,
    });
    expect(yaml).toMatch(/^# Kept\.\nname: gx-platform\n/);
    return (parse(yaml) as { annotations: Record<string, string> }).annotations;
  };
  const list = (name: string): unknown => parse(page('1.2.3')[`artifacthub.io/${name}`] ?? '');

  test('names licence, images with digests and platforms, changes and kinds', () => {
    expect(page('1.2.3')).toMatchObject({
      'artifacthub.io/license': 'Apache-2.0',
      'artifacthub.io/prerelease': 'false',
    });
    expect(page('1.2.3-rc.1')['artifacthub.io/prerelease']).toBe('true');
    expect(list('images')).toEqual([
      { name: 'gx-platform', image: `${image.reference}@${DIGEST}`, platforms: ['linux/amd64'] },
    ]);
    expect(list('changes')).toEqual([{ kind: 'added', description: 'A thing.' }]);
    expect(list('crds')).toMatchObject([
      { kind: 'Listener', version: 'v1', name: 'listeners.gx.dev', displayName: 'Listener' },
    ]);
  });

  test('has words for every kind', () => {
    expect(() => page('1.2.3', [definition.replace('Listener', 'Planted')])).toThrow(
      'no words for the kind Planted',
    );
  });
});

type Bom = {
  metadata: { timestamp: string; component: { purl: string } };
  components: { purl: string }[];
};
const purls = (bill: string): string[] =>
  (JSON.parse(bill) as Bom).components.map(({ purl }) => purl);

describe('a bill of materials', () => {
  test('of an image has all that its own bills list, once, in one order, at the time of the commit', () => {
    const component = (name: string) => ({ name, purl: `pkg:npm/${name}@1` });
    const bill = buildImageBill(
      image,
      [{ components: [component('b'), component('a')] }, { components: [component('a')] }],
      made,
    );
    expect(purls(bill)).toEqual(['pkg:npm/a@1', 'pkg:npm/b@1']);
    const { metadata } = JSON.parse(bill) as Bom;
    expect(metadata.timestamp).toBe('2023-11-14T22:13:20.000Z');
    expect(metadata.component.purl).toBe(
      `pkg:oci/gx-platform@${encodeURIComponent(DIGEST)}?repository_url=registry.invalid%2Fgx%2Fgx-platform`,
    );
    expect(bill).toBe(
      buildImageBill(image, [{ components: [component('a'), component('b')] }], made),
    );
  });

  test('of the chart has its images', () => {
    expect(purls(buildChartBill([image], made))).toHaveLength(1);
  });

  test('of the package has the packages that it leads to, each as Node finds it, and no other of the lock file', () => {
    const packages = {
      '': {},
      'node_modules/a': {
        version: '1.0.0',
        dependencies: { b: '^1' },
        peerDependencies: { peer: '1', absent: '1' },
      },
      'node_modules/a/node_modules/b': { version: '1.1.0', dependencies: { c: '1' } },
      'node_modules/b': { version: '2.0.0' },
      'node_modules/c': { version: '3.0.0', dev: true },
      'node_modules/peer': {
        version: '4.0.0',
        peerDependencies: { d: '1' },
        peerDependenciesMeta: { d: { optional: true } },
      },
      'node_modules/d': { version: '5.0.0' },
    };
    const bill = buildPackageBill(
      { name: 'gx-platform', dependencies: { a: '1.0.0' } },
      { packages },
      made,
    );
    expect(purls(bill)).toEqual([
      'pkg:npm/a@1.0.0',
      'pkg:npm/b@1.1.0',
      'pkg:npm/c@3.0.0',
      'pkg:npm/peer@4.0.0',
    ]);
  });
});

describe('a layout of images', () => {
  const config = { mediaType: 'application/vnd.oci.image.config.v1+json', digest: DIGEST, size: 1 };
  const { descriptor: manifest } = buildPackedManifest({ config, layers: [config] }, []);
  const facts = {
    name: 'gx-platform',
    version: '1.2.3',
    license: 'Apache-2.0',
    commit: { hash: 'abc', seconds: made.seconds },
  };
  const { descriptor, text } = buildImageIndex(
    [{ manifest, platform: { os: 'linux', architecture: 'amd64' } }],
    facts,
  );

  test("an image's index names its platforms, and the commit that it was made from", () => {
    expect(JSON.parse(text)).toMatchObject({
      mediaType: 'application/vnd.oci.image.index.v1+json',
      manifests: [{ digest: manifest.digest, platform: { os: 'linux', architecture: 'amd64' } }],
      annotations: {
        'org.opencontainers.image.revision': 'abc',
        'org.opencontainers.image.created': '2023-11-14T22:13:20.000Z',
      },
    });
    expect(descriptor).toMatchObject({ digest: computeTextDigest(text), size: text.length });
  });

  test("the layout's index names each image by its reference", () => {
    const index = JSON.parse(
      formatLayoutIndex([{ reference: image.reference, index: descriptor }]),
    ) as { manifests: object[] };
    expect(index.manifests).toEqual([
      {
        ...descriptor,
        annotations: {
          'io.containerd.image.name': image.reference,
          'org.opencontainers.image.ref.name': image.reference,
        },
      },
    ]);
  });
});

test('checksums are lines of sha256sum about every file, by name', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gx-checksums-'));
  writeFileSync(join(folder, 'b'), 'b');
  writeFileSync(join(folder, 'a'), 'a');
  const sum = (text: string): string => createHash('sha256').update(text).digest('hex');
  expect(await computeChecksums(folder)).toBe(`${sum('a')}  a\n${sum('b')}  b\n`);
  rmSync(folder, { recursive: true });
});
