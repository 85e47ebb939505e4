import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createProgramArchive } from '../../images/archive.ts';
import { runProcess } from '../../commands.ts';
import { getStatePaths } from './layout.ts';
import { pauseImage } from './parts/containerd.ts';
import { requireTool, type NodeRecord } from './record.ts';

/** Makes the pause image, because no registry has it, and loads it. */
export async function loadPauseImage(record: NodeRecord): Promise<void> {
  const { images } = getStatePaths(record.layout);
  await mkdir(images, { recursive: true });
  const archive = join(images, 'pause.tar');
  await createProgramArchive(requireTool(record, 'pause'), pauseImage, archive);
  await loadImage(record, archive);
}

/** Imports an archive, unless the node already has each of its images. */
export async function loadImage(record: NodeRecord, archive: string): Promise<void> {
  const wanted = await readArchiveImages(archive);
  const present = await listPresentImages(record);
  if (wanted.length > 0 && wanted.every(({ name, digest }) => present.get(name) === digest)) return;
  await runCtr(record, ['images', 'import', '--local', archive]);
}

type NamedImage = { name: string; digest: string };

// Older Docker archives have no index; their digests are unknown before the import.
async function readArchiveImages(archive: string): Promise<NamedImage[]> {
  const text = await runProcess('tar', ['--occurrence=1', '-xOf', archive, 'index.json']).catch(
    () => '{}',
  );
  const { manifests = [] } = JSON.parse(text) as {
    manifests?: { digest: string; annotations?: Record<string, string> }[];
  };
  return manifests.map(({ digest, annotations = {} }) => ({
    digest,
    name:
      annotations['io.containerd.image.name'] ??
      annotations['org.opencontainers.image.ref.name'] ??
      '',
  }));
}

async function listPresentImages(record: NodeRecord): Promise<Map<string, string>> {
  const lines = (await runCtr(record, ['images', 'list'])).split('\n').slice(1);
  return new Map(
    lines.map((line) => line.split(/\s+/)).map(([name = '', , digest = '']) => [name, digest]),
  );
}

function runCtr(record: NodeRecord, args: string[]): Promise<string> {
  const address = [
    '--address',
    getStatePaths(record.layout).containerdSocket,
    '--namespace',
    'k8s.io',
  ];
  return runProcess(requireTool(record, 'ctr'), [...address, ...args]);
}
