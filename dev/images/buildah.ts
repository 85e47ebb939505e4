import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureTools } from '../cluster/parts.ts';
import { runProcess, canRun } from '../commands.ts';
import { MissingRequirement } from '../errors.ts';
import { createOciArchive } from './archive.ts';
import type { Build, Engine } from './engine.ts';
import { folders } from './folders.ts';
import { root } from './list.ts';
import { bases, ensureBases } from './native/bases.ts';
import { runWithPackageSettings } from './native/package-settings.ts';
import { runSteps } from './run-steps.ts';

/** Builds with Debian's buildah. The base images are made from Debian and npm packages, without an image registry. */
export const buildah: Engine = {
  base: bases.key,

  async prepare(report, further) {
    requireRoot();
    await ensureTools(['buildah', 'debootstrap'], report);
    return ensureBases({ has, build: buildFolder, report }, further);
  },

  has,

  async build({ image, reference, buildArguments, stages, report }: Build) {
    const target = image.target === undefined ? [] : ['--target', image.target];
    const ignore = join(root, `${image.dockerfile}.dockerignore`);
    await runWithPackageSettings({ withCache: true }, async (settings) => {
      const args = [
        `--layers=${image.isWhole !== true}`,
        ...settings,
        ...target,
        ...toBuildArguments(buildArguments),
        ...Object.entries(stages).flatMap(([stage, made]) => [
          '--build-context',
          `${stage}=container-image://${made}`,
        ]),
        ...(existsSync(ignore) ? ['--ignorefile', ignore] : []),
        '--file',
        image.dockerfile,
        '--tag',
        reference,
        image.context,
      ];
      await runBuild(args, root, report);
    });
  },

  async save(reference, archive) {
    // Layers stay uncompressed, because compressing them takes longer than copying them to a node on the same machine.
    const folder = `${archive}.layers`;
    await rm(folder, { recursive: true, force: true });
    await runProcess('buildah', [
      ...(await getStoreOptions()),
      'push',
      '--quiet',
      '--disable-compression',
      reference,
      `dir:${folder}`,
    ]);
    await createOciArchive(folder, reference, archive);
  },

  async remove(reference) {
    await canRun('buildah', [...(await getStoreOptions()), 'rmi', reference]);
  },
};

async function has(reference: string): Promise<boolean> {
  return canRun('buildah', [...(await getStoreOptions()), 'inspect', '--type', 'image', reference]);
}

async function buildFolder({
  reference,
  dockerfile,
  folder,
  buildArguments,
  report,
}: FolderBuild): Promise<void> {
  await runBuild(
    [
      '--layers=false',
      ...toBuildArguments(buildArguments),
      '--file',
      dockerfile,
      '--tag',
      reference,
      folder,
    ],
    folder,
    report,
  );
}

type FolderBuild = Omit<Build, 'image' | 'stages'> & { dockerfile: string; folder: string };

async function runBuild(
  args: readonly string[],
  cwd: string,
  report: Build['report'],
): Promise<void> {
  const build = [
    'buildah',
    ...(await getStoreOptions()),
    'build',
    '--isolation',
    'chroot',
    '--pull=false',
    '--format',
    'oci',
    ...args,
  ];
  try {
    await runSteps(build, { step: /^(\[\d+\/\d+\] )?STEP /, report, cwd });
  } finally {
    // This version leaves containers of stages without a step behind, with their mounts. An earlier build may have been
    // killed.
    await runProcess('buildah', [...(await getStoreOptions()), 'rm', '--all']);
  }
}

const toBuildArguments = (values: Record<string, string>): string[] =>
  Object.entries(values).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);

/**
 * Returns options of the image store. Overlay shares the files that layers have in common. The vfs driver copies
 * everything, but works on every file system.
 */
export async function getStoreOptions(): Promise<string[]> {
  const buildDriverOptions = (driver: string) => {
    const at = join(folders.storage(), driver);
    return ['--root', at, '--runroot', join(at, 'run'), '--storage-driver', driver];
  };
  if (existsSync(join(folders.storage(), 'vfs'))) return buildDriverOptions('vfs');
  if (existsSync(join(folders.storage(), 'overlay'))) return buildDriverOptions('overlay');
  return buildDriverOptions(
    (await canRun('buildah', [...buildDriverOptions('overlay'), 'images'])) ? 'overlay' : 'vfs',
  );
}

function requireRoot(): void {
  if (process.platform === 'linux' && process.getuid?.() === 0) return;
  throw new MissingRequirement(
    'Images are built with Docker, which does not answer here, or else by root on Linux with Debian packages.',
  );
}
