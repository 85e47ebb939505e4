import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailed } from '../errors.ts';

type Platform = { os?: string; architecture?: string };
type Descriptor = { mediaType: string; digest: string; size: number; platform?: Platform };
type Manifest = { config: Descriptor; layers: Descriptor[] };
type Index = { manifests: Descriptor[] };

/** An image as a registry takes it: the bytes of its manifest, and the file of each blob that the manifest names. */
export type OpenedImage = {
  mediaType: string;
  digest: string;
  manifest: Uint8Array;
  blobs: { digest: string; file: string }[];
};

const OCI = 'application/vnd.oci.image';
const isIndex = (mediaType: string): boolean => /image\.index|manifest\.list/.test(mediaType);

/**
 * Returns the image of an unpacked archive. Three forms are known: an OCI manifest, which buildah and Docker from 25 on
 * write; an OCI index of the image and its attestations, from Docker's containerd store; and the form of Docker before
 * 25, which has no OCI manifest. Throws `CommandFailed` if there is no image.
 */
export async function readUnpackedImage(folder: string): Promise<OpenedImage> {
  if (existsSync(join(folder, 'index.json'))) return readOciImage(folder);
  if (existsSync(join(folder, 'manifest.json'))) return readDockerImage(folder);
  throw new CommandFailed(
    'The archive holds no image: it has neither an index.json nor a manifest.json.',
  );
}

async function readOciImage(folder: string): Promise<OpenedImage> {
  const getBlobPath = (digest: string): string => join(folder, 'blobs', digest.replace(':', '/'));
  let entry = chooseEntry(await read<Index>(join(folder, 'index.json')));
  while (isIndex(entry.mediaType))
    entry = chooseEntry(await read<Index>(getBlobPath(entry.digest)));
  const manifest = await readFile(getBlobPath(entry.digest));
  const { config, layers } = JSON.parse(manifest.toString()) as Manifest;
  const blobs = [config, ...layers].map(({ digest }) => ({ digest, file: getBlobPath(digest) }));
  return { mediaType: entry.mediaType, digest: entry.digest, manifest, blobs };
}

/** Returns the entry of an index that can run. An attestation of another entry has a platform that is unknown. */
function chooseEntry({ manifests }: Index): Descriptor {
  const images = manifests.filter(
    ({ platform }) => platform?.os !== 'unknown' && platform?.architecture !== 'unknown',
  );
  const [image] = images;
  if (image === undefined)
    throw new CommandFailed('The archive holds no image: its index names none.');
  return image;
}

type Saved = { Config: string; Layers: string[] }[];

async function readDockerImage(folder: string): Promise<OpenedImage> {
  const [saved] = await read<Saved>(join(folder, 'manifest.json'));
  if (saved === undefined)
    throw new CommandFailed('The archive holds no image: its manifest.json is empty.');
  const readBlob = async (kind: string, path: string): Promise<Descriptor & { file: string }> => {
    const file = join(folder, path);
    return {
      mediaType: `${OCI}.${kind}`,
      digest: await hashFile(file),
      size: (await stat(file)).size,
      file,
    };
  };
  const config = await readBlob('config.v1+json', saved.Config);
  const layers = await Promise.all(saved.Layers.map((path) => readBlob('layer.v1.tar', path)));
  const pickDescriptor = ({ mediaType, digest, size }: Descriptor): Descriptor => ({
    mediaType,
    digest,
    size,
  });
  const mediaType = `${OCI}.manifest.v1+json`;
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType,
      config: pickDescriptor(config),
      layers: layers.map(pickDescriptor),
    }),
  );
  const digest = `sha256:${createHash('sha256').update(manifest).digest('hex')}`;
  return { mediaType, digest, manifest, blobs: [config, ...layers] };
}

const read = async <T>(file: string): Promise<T> => JSON.parse(await readFile(file, 'utf8')) as T;

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest('hex')}`;
}
