import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from '../commands.ts';
import { imageArchive, type Image } from './image-archive.ts';
import { fileOf, type Layout } from './layout.ts';
import { commandPath } from './packages.ts';

export const pauseImage = 'gx-platform.local/pause:1';
/** A shell and small tools, for tests and for looking into the cluster. */
export const shellImage = 'gx-platform.local/busybox:1';

type Node = { layout: Layout; tools: Record<string, string> };

/** Loads the images that the node itself brings: no registry has them. */
export async function loadOwnImages(node: Node): Promise<void> {
  const folder = fileOf(node.layout).images;
  await mkdir(folder, { recursive: true });
  const own = [await pause(node.tools['pause'] ?? ''), await shell(node.tools['ask'] ?? '')];
  for (const [at, image] of own.entries()) {
    const archive = join(folder, `${at}.tar`);
    await writeFile(archive, imageArchive(image));
    await loadImage(node, archive);
  }
}

async function pause(program: string): Promise<Image> {
  const files = [{ name: 'pause', content: await readFile(program) }];
  return { name: pauseImage, entrypoint: ['/pause'], files };
}

async function shell(ask: string): Promise<Image> {
  const busybox = commandPath('busybox');
  const applets = (await command(busybox, ['--list'])).split('\n').filter((name) => name !== '');
  const links = applets.filter((name) => name !== 'busybox');
  return {
    name: shellImage,
    entrypoint: ['/bin/sh'],
    files: [
      { name: 'bin/' },
      { name: 'bin/busybox', content: await readFile(busybox) },
      { name: 'bin/ask', content: await readFile(ask) },
      ...links.map((name) => ({ name: `bin/${name}`, link: 'busybox' })),
      { name: 'etc/' },
      { name: 'etc/passwd', mode: 0o644, content: Buffer.from('root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n') },
      { name: 'tmp/', mode: 0o1777 },
    ],
  };
}

/** Imports an archive, unless the node has each of its images already. */
export async function loadImage(node: Node, archive: string): Promise<void> {
  const wanted = await imagesIn(archive);
  const present = await presentImages(node);
  if (wanted.length > 0 && wanted.every(({ name, digest }) => present.get(name) === digest)) return;
  await ctr(node, ['images', 'import', '--local', archive]);
}

type Named = { name: string; digest: string };

// Older Docker archives have no index; their digests are unknown before the import.
async function imagesIn(archive: string): Promise<Named[]> {
  const text = await command('tar', ['--occurrence=1', '-xOf', archive, 'index.json']).catch(() => '{}');
  const { manifests = [] } = JSON.parse(text) as {
    manifests?: { digest: string; annotations?: Record<string, string> }[];
  };
  return manifests.map(({ digest, annotations = {} }) => ({
    digest,
    name: annotations['io.containerd.image.name'] ?? annotations['org.opencontainers.image.ref.name'] ?? '',
  }));
}

async function presentImages(node: Node): Promise<Map<string, string>> {
  const lines = (await ctr(node, ['images', 'list'])).split('\n').slice(1);
  return new Map(lines.map((line) => line.split(/\s+/)).map(([name = '', , digest = '']) => [name, digest]));
}

function ctr({ layout, tools }: Node, args: string[]): Promise<string> {
  const address = ['--address', fileOf(layout).containerdSocket, '--namespace', 'k8s.io'];
  return command(tools['ctr'] ?? 'ctr', [...address, ...args]);
}
