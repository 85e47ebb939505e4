import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import { runProcess } from '../../../dev/commands.ts';
import { Layout } from '../../../dev/release/images.ts';
import { startRegistry, type TestRegistry } from '../../kit/registry.ts';
import { savedImage } from '../saved-image.ts';

const work = mkdtempSync(join(tmpdir(), 'gx-mirror-'));
const reference = 'registry.invalid/gx/gx-platform:1.2.3';
let registry: TestRegistry;
let digest: string;
let mirror: (...args: string[]) => Promise<string>;

beforeAll(async () => {
  const { skopeo } = await ensureTools(['skopeo']);
  registry = await startRegistry({ isOpen: true });
  const layout = new Layout(join(work, 'images'), {
    version: '1.2.3',
    license: 'Apache-2.0',
    commit: { hash: 'abc', seconds: 0 },
  });
  mkdirSync(join(work, 'images'));
  ({ digest } = await layout.add(
    { value: 'platform', name: 'gx-platform', reference },
    await savedImage(join(work, 'image.tar'), ['shared']),
  ));
  await layout.finish();
  writeFileSync(join(work, 'images.txt'), `${reference}\n`);
  copyFileSync('dev/release/mirror', join(work, 'mirror'));
  const env = {
    PATH: [dirname(skopeo), process.env['PATH']].join(delimiter),
    HOME: work,
  };
  mirror = (...args) => runProcess('sh', [join(work, 'mirror'), ...args], { env });
}, 600_000);
afterAll(async () => {
  await registry.stop();
  rmSync(work, { recursive: true });
});

test('a mirror has each image below its path, with the digest of the release', async () => {
  const lines = await mirror(`${registry.host}/mirror`, '--dest-tls-verify=false');
  expect(lines).toBe(`${reference} -> ${registry.host}/mirror/gx/gx-platform:1.2.3\n`);
  const headers = { accept: 'application/vnd.oci.image.index.v1+json' };
  const found = await fetch(`http://${registry.host}/v2/mirror/gx/gx-platform/manifests/1.2.3`, {
    headers,
  });
  expect([found.status, found.headers.get('docker-content-digest')]).toEqual([200, digest]);
});

test.each([
  [
    'https://registry.example.com',
    'mirror: "https://registry.example.com" has a scheme; name the registry alone.',
  ],
  ['--all', 'mirror: the first argument is a registry, not "--all".'],
])('%s is refused with a sentence', async (argument, sentence) => {
  await expect(mirror(argument)).rejects.toThrow(sentence);
});
