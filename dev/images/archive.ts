import { link, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { command } from '../cluster/commands.ts';

type Descriptor = { mediaType: string; digest: string; size: number; annotations?: Record<string, string> };
type Manifest = { config: Descriptor; layers: Descriptor[] };

const NAME = 'org.opencontainers.image.ref.name';
export const blobPath = (digest: string): string => join('blobs', digest.replace(':', '/'));

const readJson = async <T>(path: string): Promise<T> => JSON.parse(await readFile(path, 'utf8')) as T;

export const indexOf = (layout: string): Promise<{ manifests: Descriptor[] }> => readJson(join(layout, 'index.json'));
export const nameOf = ({ annotations = {} }: Descriptor): string => annotations[NAME] ?? '';

/** Digests of all that one image of a layout is made of. */
export async function blobsOf(layout: string, manifest: Descriptor): Promise<string[]> {
  const { config, layers } = await readJson<Manifest>(join(layout, blobPath(manifest.digest)));
  return [manifest.digest, config.digest, ...layers.map(({ digest }) => digest)];
}

/** One image of an OCI layout as an OCI archive; it appears by a rename, so that half an archive is never taken for one. */
export async function writeArchive(layout: string, reference: string, archive: string): Promise<void> {
  const manifest = (await indexOf(layout)).manifests.find((each) => nameOf(each) === reference);
  if (manifest === undefined) throw new Error(`${layout} has no image ${reference}.`);
  const folder = await mkdtemp(join(dirname(archive), '.archive-'));
  try {
    await mkdir(join(folder, 'blobs', 'sha256'), { recursive: true });
    for (const digest of new Set(await blobsOf(layout, manifest)))
      await link(join(layout, blobPath(digest)), join(folder, blobPath(digest)));
    const named = { ...manifest, annotations: { [NAME]: reference, 'io.containerd.image.name': reference } };
    await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [named] }));
    await command('tar', ['-cf', `${archive}.new`, '-C', folder, 'oci-layout', 'index.json', 'blobs']);
    await rename(`${archive}.new`, archive);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
