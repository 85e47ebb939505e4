import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StageFailed } from '../../errors.ts';
import type { AskRegistry } from '../registry/client.ts';
import { type ImageReference, OCI_MANIFEST } from '../registry/reference.ts';
import {
  ensureBlob,
  fetchBlob,
  putManifest,
  readManifest,
  type Manifest,
} from '../registry/images.ts';

/*
 * Images in folders (OCI image-spec, image-layout.md), which is how BuildKit gets and gives them: it never asks a
 * registry with a credential of ours.
 */

const getBlobPath = (folder: string, digest: string): string =>
  path.join(folder, 'blobs', 'sha256', digest.replace('sha256:', ''));

/** Fetches an image into a folder, and returns its digest; undefined where the registry has none. */
export async function fetchImage(
  ask: AskRegistry,
  place: ImageReference,
  folder: string,
): Promise<string | undefined> {
  const found = await readManifest(ask, place);
  if (found === undefined) return undefined;
  const { manifest, digest, bytes } = found;
  mkdirSync(path.join(folder, 'blobs', 'sha256'), { recursive: true });
  for (const blob of [manifest.config, ...manifest.layers])
    if (
      !existsSync(getBlobPath(folder, blob.digest)) &&
      !(await fetchBlob(ask, place, blob.digest, getBlobPath(folder, blob.digest)))
    )
      throw new StageFailed(
        'PushFailed',
        `The registry ${place.host} sent another layer than ${blob.digest}: try again.`,
      );
  writeFileSync(getBlobPath(folder, digest), bytes);
  const annotations = { 'org.opencontainers.image.ref.name': 'latest' };
  const described = { mediaType: manifest.mediaType, digest, size: bytes.length, annotations };
  writeFileSync(path.join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(
    path.join(folder, 'index.json'),
    JSON.stringify({ schemaVersion: 2, manifests: [described] }),
  );
  return digest;
}

/**
 * Pushes the image of a folder, and returns its digest and how many bytes were sent. `trusted` returns a path, unless
 * the file is not the one that BuildKit wrote there.
 */
export async function pushFolder(
  ask: AskRegistry,
  folder: string,
  {
    to,
    near,
    trusted,
  }: { to: ImageReference; near: readonly ImageReference[]; trusted: (file: string) => string },
): Promise<{ digest: string; sent: number }> {
  const readJson = <T>(file: string): T => JSON.parse(readFileSync(trusted(file), 'utf8')) as T;
  const [described] = readJson<{ manifests: { digest: string; mediaType: string }[] }>(
    path.join(folder, 'index.json'),
  ).manifests;
  if (described === undefined || !/^sha256:[0-9a-f]{64}$/.test(described.digest))
    throw new StageFailed('PushFailed', 'The build left no image.');
  const manifest = readJson<Manifest>(getBlobPath(folder, described.digest));
  let sent = 0;
  for (const blob of [...manifest.layers, manifest.config]) {
    if (!/^sha256:[0-9a-f]{64}$/.test(blob.digest))
      throw new StageFailed(
        'PushFailed',
        `The image has a layer without a digest: ${blob.digest}.`,
      );
    sent += await ensureBlob(ask, to, blob, {
      file: trusted(getBlobPath(folder, blob.digest)),
      near,
    });
  }
  const digest = await putManifest(ask, to, to.tag ?? 'latest', {
    ...manifest,
    mediaType: manifest.mediaType ?? OCI_MANIFEST,
  });
  return { digest, sent };
}
