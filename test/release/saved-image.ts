import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProcess } from '../../dev/commands.ts';
import { createOciArchive } from '../../dev/images/archive.ts';

const OCI = 'application/vnd.oci.image';
const digestOf = (bytes: string | Buffer): string =>
  createHash('sha256').update(bytes).digest('hex');

/** Writes the archive of an image with these layers. The one named "shared" has a bill of materials. */
export async function savedImage(archive: string, layers: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-saved-image-'));
  const blob = (kind: string, bytes: string | Buffer) => {
    const digest = digestOf(bytes);
    writeFileSync(join(folder, digest), bytes);
    return {
      mediaType: `${OCI}.${kind}`,
      digest: `sha256:${digest}`,
      size: Buffer.byteLength(bytes),
    };
  };
  const made = [];
  for (const name of layers) made.push(blob('layer.v1.tar', await layerWith(name)));
  const config = {
    architecture: 'amd64',
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: made.map(({ digest }) => digest) },
  };
  const manifest = {
    schemaVersion: 2,
    mediaType: `${OCI}.manifest.v1+json`,
    config: blob('config.v1+json', JSON.stringify(config)),
    layers: made,
  };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  await createOciArchive(folder, 'registry.invalid/gx/saved:1', archive);
  return archive;
}

async function layerWith(name: string): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-saved-layer-'));
  const bills = join(folder, 'files', 'usr', 'share', 'gx', 'sbom');
  mkdirSync(bills, { recursive: true });
  const bill = JSON.stringify({
    bomFormat: 'CycloneDX',
    components: [{ name, purl: `pkg:npm/${name}@1` }],
  });
  writeFileSync(
    name === 'shared' ? join(bills, 'npm.cdx.json') : join(folder, 'files', name),
    bill,
  );
  await runProcess('tar', [
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '-cf',
    join(folder, 'layer.tar'),
    '-C',
    join(folder, 'files'),
    'usr',
    ...(name === 'shared' ? [] : [name]),
  ]);
  const layer = readFileSync(join(folder, 'layer.tar'));
  rmSync(folder, { recursive: true });
  return layer;
}
