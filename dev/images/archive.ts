import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { command } from '../commands.ts';

const oci = (kind: string): string => `application/vnd.oci.image.${kind}`;

/** Makes an OCI archive of a folder as `buildah push dir:` writes it: a manifest, and its blobs under their digests. */
export async function archiveOf(folder: string, reference: string, archive: string): Promise<void> {
  const manifest = await readFile(join(folder, 'manifest.json'));
  const digest = digestOf(manifest);
  const blobs = join(folder, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  for (const name of (await readdir(folder)).filter((file) => /^[0-9a-f]{64}$/.test(file)))
    await rename(join(folder, name), join(blobs, name));
  await rename(join(folder, 'manifest.json'), join(blobs, digest));
  const names = { 'org.opencontainers.image.ref.name': reference, 'io.containerd.image.name': reference };
  const entry = { mediaType: oci('manifest.v1+json'), digest: `sha256:${digest}`, size: manifest.length, annotations: names };
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [entry] }));
  await command('tar', ['-cf', archive, '-C', folder, 'oci-layout', 'index.json', 'blobs']);
  await rm(folder, { recursive: true });
}

/** Makes an OCI archive of an image that holds one static program and nothing else. */
export async function programArchive(program: string, reference: string, archive: string): Promise<void> {
  const folder = await mkdtemp(`${archive}-`);
  // The same program gives the same bytes, so a node notices that it already has the image.
  const fixed = ['--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--mode=0755', '--dereference'];
  const layerFile = join(folder, 'layer.tar');
  await command('tar', [...fixed, '-cf', layerFile, '-C', dirname(program), basename(program)]);
  const layer = await readFile(layerFile);
  await rm(layerFile);
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Entrypoint: [`/${basename(program)}`] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digestOf(layer)}`] },
  };
  const blob = async (kind: string, bytes: Buffer): Promise<object> => {
    await writeFile(join(folder, digestOf(bytes)), bytes);
    return { mediaType: oci(kind), digest: `sha256:${digestOf(bytes)}`, size: bytes.length };
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: oci('manifest.v1+json'),
    config: await blob('config.v1+json', Buffer.from(JSON.stringify(config))),
    layers: [await blob('layer.v1.tar', layer)],
  };
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  await archiveOf(folder, reference, archive);
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
