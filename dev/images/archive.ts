import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from '../cluster/commands.ts';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';

/** Makes an OCI archive of a folder as `buildah push dir:` writes it: a manifest, and its blobs under their digests. */
export async function archiveOf(folder: string, reference: string, archive: string): Promise<void> {
  const manifest = await readFile(join(folder, 'manifest.json'));
  const digest = createHash('sha256').update(manifest).digest('hex');
  const blobs = join(folder, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  for (const name of (await readdir(folder)).filter((file) => /^[0-9a-f]{64}$/.test(file)))
    await rename(join(folder, name), join(blobs, name));
  await rename(join(folder, 'manifest.json'), join(blobs, digest));
  const names = { 'org.opencontainers.image.ref.name': reference, 'io.containerd.image.name': reference };
  const entry = { mediaType: MANIFEST, digest: `sha256:${digest}`, size: manifest.length, annotations: names };
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [entry] }));
  await command('tar', ['-cf', archive, '-C', folder, 'oci-layout', 'index.json', 'blobs']);
  await rm(folder, { recursive: true });
}
