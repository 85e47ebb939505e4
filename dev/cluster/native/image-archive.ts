import { createHash } from 'node:crypto';
import { tar, type Entry } from './tar.ts';

export type Image = {
  name: string;
  entrypoint: readonly string[];
  files: readonly Entry[];
};

type Blob = { mediaType: string; digest: string; size: number; bytes: Buffer };

const oci = (kind: string) => `application/vnd.oci.image.${kind}`;

/** An OCI archive with one image of one layer. */
export function imageArchive(image: Image): Buffer {
  const layer = blob(oci('layer.v1.tar'), tar(image.files));
  const config = jsonBlob(oci('config.v1+json'), {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: { Entrypoint: image.entrypoint, Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [layer.digest] },
  });
  const manifest = jsonBlob(oci('manifest.v1+json'), {
    schemaVersion: 2,
    mediaType: oci('manifest.v1+json'),
    config: describe(config),
    layers: [describe(layer)],
  });
  const annotations = { 'org.opencontainers.image.ref.name': image.name };
  const index = { schemaVersion: 2, manifests: [{ ...describe(manifest), annotations }] };
  return tar([
    { name: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
    { name: 'index.json', content: Buffer.from(JSON.stringify(index)) },
    ...[layer, config, manifest].map(({ digest, bytes }) => ({
      name: `blobs/${digest.replace(':', '/')}`,
      content: bytes,
    })),
  ]);
}

function blob(mediaType: string, bytes: Buffer): Blob {
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return { mediaType, digest, size: bytes.length, bytes };
}

const jsonBlob = (mediaType: string, value: unknown): Blob => blob(mediaType, Buffer.from(JSON.stringify(value)));

const describe = ({ mediaType, digest, size }: Blob) => ({ mediaType, digest, size });
