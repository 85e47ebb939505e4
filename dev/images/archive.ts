import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { runProcess } from '../commands.ts';

const buildMediaType = (kind: string): string => `application/vnd.oci.image.${kind}`;

/** Makes an OCI archive of a folder as `buildah push dir:` writes it: a manifest, and its blobs under their digests. */
export async function createOciArchive(
  folder: string,
  reference: string,
  archive: string,
): Promise<void> {
  const manifest = await readFile(join(folder, 'manifest.json'));
  const digest = hashBytes(manifest);
  const blobs = join(folder, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  for (const name of (await readdir(folder)).filter((file) => /^[0-9a-f]{64}$/.test(file)))
    await rename(join(folder, name), join(blobs, name));
  await rename(join(folder, 'manifest.json'), join(blobs, digest));
  const names = {
    'org.opencontainers.image.ref.name': reference,
    'io.containerd.image.name': reference,
  };
  const entry = {
    mediaType: buildMediaType('manifest.v1+json'),
    digest: `sha256:${digest}`,
    size: manifest.length,
    annotations: names,
  };
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(
    join(folder, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [entry] }),
  );
  await runProcess('tar', ['-cf', archive, '-C', folder, 'oci-layout', 'index.json', 'blobs']);
  await rm(folder, { recursive: true });
}

/** Makes an OCI archive of an image that holds one static program and nothing else. */
export async function createProgramArchive(
  program: string,
  reference: string,
  archive: string,
): Promise<void> {
  const folder = await mkdtemp(`${archive}-`);
  // The same program gives the same bytes, so a node notices that it already has the image.
  const fixed = [
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mtime=@0',
    '--mode=0755',
    '--dereference',
  ];
  const layerFile = join(folder, 'layer.tar');
  await runProcess('tar', [...fixed, '-cf', layerFile, '-C', dirname(program), basename(program)]);
  const layer = await readFile(layerFile);
  await rm(layerFile);
  const config = {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Entrypoint: [`/${basename(program)}`] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${hashBytes(layer)}`] },
  };
  const writeBlob = async (kind: string, bytes: Buffer): Promise<object> => {
    await writeFile(join(folder, hashBytes(bytes)), bytes);
    return {
      mediaType: buildMediaType(kind),
      digest: `sha256:${hashBytes(bytes)}`,
      size: bytes.length,
    };
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: buildMediaType('manifest.v1+json'),
    config: await writeBlob('config.v1+json', Buffer.from(JSON.stringify(config))),
    layers: [await writeBlob('layer.v1.tar', layer)],
  };
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest));
  await createOciArchive(folder, reference, archive);
}

const hashBytes = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
