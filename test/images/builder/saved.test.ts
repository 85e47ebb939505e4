import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runProcess } from '../../../dev/commands.ts';
import { isPushed, pushArchive } from '../../../dev/images/push.ts';
import { REGISTRY_PASSWORD, startRegistry, type TestRegistry } from '../../kit/registry.ts';

let registry: TestRegistry;
const work = mkdtempSync(join(tmpdir(), 'gx-saved-'));
beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(async () => {
  await registry.stop();
  rmSync(work, { recursive: true });
});

const OCI = 'application/vnd.oci.image';
const sha = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const described = (kind: string, bytes: string | Buffer) => ({
  mediaType: `${OCI}.${kind}`,
  digest: `sha256:${sha(bytes)}`,
  size: Buffer.byteLength(bytes),
});

const LAYER = Buffer.alloc(10_240);
const CONFIG = JSON.stringify({
  created: '2026-01-01T00:00:00Z',
  architecture: 'amd64',
  os: 'linux',
  config: { Env: ['A=1'], WorkingDir: '/agent', Labels: {} },
  rootfs: { type: 'layers', diff_ids: [`sha256:${sha(LAYER)}`] },
});
const MANIFEST = JSON.stringify({
  schemaVersion: 2,
  mediaType: `${OCI}.manifest.v1+json`,
  config: described('config.v1+json', CONFIG),
  layers: [described('layer.v1.tar', LAYER)],
});

/** Packs these files and returns the archive. */
async function archive(
  name: string,
  files: Record<string, string | Buffer>,
  links: Record<string, string> = {},
): Promise<string> {
  const folder = join(work, name);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  for (const [path, target] of Object.entries(links)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(target, join(folder, path));
  }
  await runProcess('tar', ['-cf', `${folder}.tar`, '-C', folder, '.']);
  return `${folder}.tar`;
}

const blobs = (...all: (string | Buffer)[]): Record<string, string | Buffer> =>
  Object.fromEntries(all.map((bytes) => [`blobs/sha256/${sha(bytes)}`, bytes]));

const pushed = (file: string, name: string): Promise<string> =>
  pushArchive(file, {
    url: `http://${registry.host}`,
    account: { username: 'builder', password: REGISTRY_PASSWORD },
    name: `gx/${name}`,
    tag: '1',
  });

const index = (...manifests: object[]): string =>
  JSON.stringify({ schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests });

test('an archive that names its manifest, as buildah and Docker 25 to 28 save it, is pushed', async () => {
  const file = await archive('plain', {
    'index.json': index(described('manifest.v1+json', MANIFEST)),
    ...blobs(MANIFEST, CONFIG, LAYER),
  });
  expect(await pushed(file, 'plain')).toBe(`sha256:${sha(MANIFEST)}`);
  expect((await registry.config(`${registry.host}/gx/plain:1`)).config.WorkingDir).toBe('/agent');
});

test("an archive of Docker's containerd store, whose index has the image and what attests it, is pushed", async () => {
  const attestation = MANIFEST.replace('layer.v1.tar', 'layer.v1.tar+other');
  const both = index(
    {
      ...described('manifest.v1+json', attestation),
      platform: { os: 'unknown', architecture: 'unknown' },
    },
    {
      ...described('manifest.v1+json', MANIFEST),
      platform: { os: 'linux', architecture: 'amd64' },
    },
  );
  const files = {
    'index.json': index(described('index.v1+json', both)),
    ...blobs(both, attestation, MANIFEST, CONFIG, LAYER),
  };
  expect(await pushed(await archive('attested', files), 'attested')).toBe(
    `sha256:${sha(MANIFEST)}`,
  );
  expect((await registry.config(`${registry.host}/gx/attested:1`)).config.WorkingDir).toBe(
    '/agent',
  );
});

test('an archive of Docker before 25, which has no OCI manifest and links equal layers, is pushed', async () => {
  const saved = [
    { Config: `${sha(CONFIG)}.json`, RepoTags: ['gx/older:1'], Layers: ['b/layer.tar'] },
  ];
  const files = {
    'manifest.json': JSON.stringify(saved),
    [`${sha(CONFIG)}.json`]: CONFIG,
    'a/layer.tar': LAYER,
  };
  const file = await archive('older', files, { 'b/layer.tar': '../a/layer.tar' });
  const digest = await pushed(file, 'older');
  const found = await registry.manifest(`${registry.host}/gx/older:1`);
  expect(found?.digest).toBe(digest);
  expect(found?.manifest.layers.map((layer) => layer.digest)).toEqual([`sha256:${sha(LAYER)}`]);
  expect((await registry.config(`${registry.host}/gx/older:1`)).config.WorkingDir).toBe('/agent');
  expect(await isPushed({ url: `http://${registry.host}`, name: 'gx/older', tag: '1' })).toBe(true);
});

test('an archive without an image is refused by what it lacks', async () => {
  const file = await archive('empty', { 'something.txt': '' });
  await expect(pushed(file, 'empty')).rejects.toThrow(
    'The archive holds no image: it has neither an index.json nor a manifest.json.',
  );
});
