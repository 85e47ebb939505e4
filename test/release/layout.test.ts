import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { runProcess } from '../../dev/commands.ts';
import { Layout } from '../../dev/release/images.ts';
import { savedImage } from './saved-image.ts';

const work = mkdtempSync(join(tmpdir(), 'gx-layout-'));
afterAll(() => rmSync(work, { recursive: true }));

const facts = {
  version: '1.2.3',
  license: 'Apache-2.0',
  commit: { hash: 'abc', seconds: 1_700_000_000 },
};
const named = (name: string) => ({
  value: name,
  name,
  reference: `registry.invalid/gx/${name}:1.2.3`,
});
const sha = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

type Descriptor = { digest: string; mediaType: string; size: number; platform?: object };
type Index = { manifests: Descriptor[] };
type Manifest = { config: Descriptor; layers: Descriptor[] };

async function laidOut(folder: string): Promise<string[]> {
  mkdirSync(folder);
  const layout = new Layout(folder, facts);
  const first = await layout.add(
    named('gx-first'),
    await savedImage(join(work, 'first.tar'), ['a', 'shared']),
  );
  const second = await layout.add(
    named('gx-second'),
    await savedImage(join(work, 'second.tar'), ['b', 'shared']),
  );
  await layout.finish();
  expect(first).toMatchObject({
    platforms: ['linux/amd64'],
    bills: [{ components: [{ name: 'shared' }] }],
  });
  return [first.digest, second.digest];
}

test('images become indexes by digest, whose layers are packed, and are there once', async () => {
  const folder = join(work, 'layout');
  const digests = await laidOut(folder);
  const blob = (digest: string): Buffer =>
    readFileSync(join(folder, 'blobs', digest.replace(':', '/')));
  const json = <T>(digest: string): T => JSON.parse(blob(digest).toString()) as T;
  const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as Index;
  expect(index.manifests.map(({ digest }) => digest)).toEqual(digests);
  const manifests = digests.map((digest) => {
    const [only] = json<Index>(digest).manifests;
    expect(only?.platform).toEqual({ os: 'linux', architecture: 'amd64' });
    return json<Manifest>(only!.digest);
  });
  for (const { config, layers } of manifests) {
    for (const { digest, size } of [config, ...layers])
      expect([sha(blob(digest)), blob(digest).length]).toEqual([digest, size]);
    const { rootfs } = json<{ rootfs: { diff_ids: string[] } }>(config.digest);
    expect(layers.map(({ digest }) => sha(gunzipSync(blob(digest))))).toEqual(rootfs.diff_ids);
  }
  expect(manifests[0]?.layers[1]).toEqual(manifests[1]?.layers[1]);
  expect(
    (await runProcess('find', [join(folder, 'blobs'), '-type', 'f'])).trim().split('\n'),
  ).toHaveLength(2 * 3 + 3);
});

test('the same archives give the same bytes', async () => {
  const [first, second] = [join(work, 'one'), join(work, 'two')];
  expect(await laidOut(first)).toEqual(await laidOut(second));
  await runProcess('diff', ['-r', first, second]);
});

test('an image that does not say what it is made of is refused', async () => {
  const folder = join(work, 'refused');
  mkdirSync(folder);
  const archive = await savedImage(join(work, 'silent.tar'), ['a']);
  await expect(new Layout(folder, facts).add(named('gx-silent'), archive)).rejects.toThrow(
    'does not say what it is made of',
  );
});
