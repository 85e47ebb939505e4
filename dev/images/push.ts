import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { runProcess } from '../commands.ts';
import { CommandFailed } from '../errors.ts';
import { readUnpackedImage } from './opened.ts';

/** Where an image goes: the registry's address over HTTP, who may push there, and the name and tag below it. */
export type Destination = { url: string; account?: Account; name: string; tag: string };
type Account = { username: string; password: string };

/**
 * Pushes the image of an archive, as buildah or any Docker saves it, and returns the digest of its manifest. Blobs that
 * the registry has are left out. Throws `CommandFailed` if the archive holds no image or the registry refuses.
 */
export async function pushArchive(archive: string, to: Destination): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gx-push-'));
  try {
    await runProcess('tar', ['-xf', archive, '-C', folder]);
    const { mediaType, digest, manifest, blobs } = await readUnpackedImage(folder);
    for (const blob of blobs) await pushBlob(blob.file, blob.digest, to);
    await send(to, `${to.url}/v2/${to.name}/manifests/${to.tag}`, {
      method: 'PUT',
      headers: { 'content-type': mediaType },
      body: new Uint8Array(manifest),
    });
    return digest;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Returns whether the registry has an image of that name. */
export async function isPushed({ url, name, tag }: Destination): Promise<boolean> {
  const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' };
  return (await fetch(`${url}/v2/${name}/manifests/${tag}`, { method: 'HEAD', headers })).ok;
}

async function pushBlob(file: string, digest: string, to: Destination): Promise<void> {
  const { url, name } = to;
  const blobs = `${url}/v2/${name}/blobs`;
  if ((await fetch(`${blobs}/${digest}`, { method: 'HEAD' })).ok) return;
  const started = await send(to, `${blobs}/uploads/`, { method: 'POST' });
  const upload = new URL(started.headers.get('location') ?? '', url);
  upload.searchParams.set('digest', digest);
  await send(to, upload.href, {
    method: 'PUT',
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String((await stat(file)).size),
    },
    body: Readable.toWeb(createReadStream(file)) as ReadableStream,
    duplex: 'half',
  });
}

async function send(
  { account }: Destination,
  url: string,
  request: RequestInit & { duplex?: 'half' },
): Promise<Response> {
  const headers = new Headers(request.headers);
  if (account !== undefined)
    headers.set('authorization', `Basic ${btoa(`${account.username}:${account.password}`)}`);
  const response = await fetch(url, { ...request, headers });
  if (!response.ok)
    throw new CommandFailed(
      `${request.method} ${url} answered ${response.status}: ${await response.text()}`,
    );
  return response;
}
