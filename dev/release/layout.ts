import { createHash } from 'node:crypto';
import type { Commit } from './source.ts';

/*
 * The documents of an OCI layout (https://github.com/opencontainers/image-spec): one index for each image, which says
 * for which platforms there is a manifest, and the index of the layout, which names the images.
 */

const OCI = 'application/vnd.oci.image';

export type Descriptor = { mediaType: string; digest: string; size: number };
export type Manifest = { config: Descriptor; layers: Descriptor[]; [field: string]: unknown };
export type Platform = { architecture: string; os: string };
/** A document, and how others name it. */
export type Blob = { descriptor: Descriptor; text: string };

const buildBlob = (kind: string, content: object): Blob => {
  const text = JSON.stringify(content);
  return {
    text,
    descriptor: {
      mediaType: `${OCI}.${kind}`,
      digest: computeTextDigest(text),
      size: Buffer.byteLength(text),
    },
  };
};

/** Returns the digest of a document. */
export const computeTextDigest = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

/** Returns the manifest with the layers as they are packed now. */
export const buildPackedManifest = (manifest: Manifest, layers: Descriptor[]): Blob =>
  buildBlob('manifest.v1+json', {
    ...manifest,
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    layers,
  });

export const buildLayerDescriptor = (digest: string, size: number): Descriptor => ({
  mediaType: `${OCI}.layer.v1.tar+gzip`,
  digest,
  size,
});

type ImageFacts = { name: string; version: string; license: string; commit: Commit };

/** Returns the index of an image, with one manifest for each platform. */
export function buildImageIndex(
  platforms: { manifest: Descriptor; platform: Platform }[],
  { name, version, license, commit }: ImageFacts,
): Blob {
  const annotations = Object.fromEntries(
    Object.entries({
      created: new Date(commit.seconds * 1000).toISOString(),
      licenses: license,
      revision: commit.hash,
      title: name,
      version,
    }).map(([key, value]) => [`org.opencontainers.image.${key}`, value]),
  );
  const manifests = platforms.map(({ manifest, platform }) => ({ ...manifest, platform }));
  return buildBlob('index.v1+json', {
    schemaVersion: 2,
    mediaType: `${OCI}.index.v1+json`,
    manifests,
    annotations,
  });
}

/** Returns the index.json of a layout: each image by its reference, as skopeo, ctr and ORAS look for it. */
export function formatLayoutIndex(images: { reference: string; index: Descriptor }[]): string {
  const manifests = images.map(({ reference, index }) => ({
    ...index,
    annotations: {
      'io.containerd.image.name': reference,
      'org.opencontainers.image.ref.name': reference,
    },
  }));
  return `${JSON.stringify({ schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests }, null, 1)}\n`;
}

export const formatPlatform = ({ architecture, os }: Platform): string => `${os}/${architecture}`;
