import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ImageBuildConfig } from '../../config/image-build.ts';
import { StageFailed, StartError } from '../../errors.ts';
import { builtLayers, settingsOfImage } from '../built-layers.ts';
import { runProgram } from '../command.ts';
import { labelsOf } from '../push.ts';
import { asker, baseOf } from '../registries.ts';
import { configOf, layerType, type ImageConfig } from '../registry/image-config.ts';
import { digestOfBytes, fetchBlob, readBlob, type Descriptor } from '../registry/images.ts';
import { OCI_MANIFEST } from '../registry/reference.ts';
import type { Restored } from '../restore.ts';
import { say } from '../progress.ts';
import { placesIn, type Cloned } from '../work.ts';

export type MadeImage = { config: ImageBuildConfig; restored: Restored; cloned: Cloned; tag: string };
export type Engine = 'docker' | 'buildah';

/** Returns the engine of this machine that answers. */
export async function engineHere(env: Record<string, string>): Promise<Engine> {
  const answers = async (run: readonly [string, ...string[]]): Promise<boolean> => (await runProgram({ run, folder: '/', env })).code === 0;
  if (await answers(['docker', 'version'])) return 'docker';
  if (await answers(['buildah', 'version'])) return 'buildah';
  throw new StartError('build-agent: neither Docker nor buildah answers here. Start one, or use --output or --push.');
}

/** Puts the layers onto the engine's own copy of the base image. */
export async function loadInto(engine: Engine, { config, restored, cloned, tag }: MadeImage, own: Record<string, string>): Promise<void> {
  const { image } = placesIn(config.work);
  const { workdir, env } = settingsOfImage(restored.plan);
  const labels = Object.entries(labelsOf(config, cloned.commit)).map(([name, value]) => `LABEL ${name}=${JSON.stringify(value)}`);
  const lines = [
    `FROM ${config.baseImage}`,
    ...(await builtLayers(config, restored)).map(({ file }) => `ADD ${path.basename(file)} /`),
    ...Object.entries(env).map(([name, value]) => `ENV ${name}=${JSON.stringify(value)}`),
    `WORKDIR ${JSON.stringify(workdir)}`,
    ...labels,
  ];
  writeFileSync(path.join(image, 'Dockerfile'), `${lines.join('\n')}\n`);
  const more = engine === 'buildah' ? ['--isolation', 'chroot'] : [];
  const run = [engine, 'build', ...more, '--tag', tag, '--file', path.join(image, 'Dockerfile'), image] as const;
  const { code, last } = await runProgram({ run, folder: image, env: own, prefix: engine });
  if (code !== 0) throw new StageFailed('BuildFailed', `${engine} could not put the layers onto ${config.baseImage}: ${last}`);
  say(`${tag} is an image of ${engine}`);
}

/** Writes an OCI image layout (image-spec, image-layout.md). */
export async function writeLayout(folder: string, { config, restored, cloned, tag }: MadeImage, signal: AbortSignal): Promise<void> {
  const ask = asker(config, signal);
  const base = await baseOf(ask, config);
  const blobs = path.join(folder, 'blobs', 'sha256');
  mkdirSync(blobs, { recursive: true });
  const fileOf = (digest: string): string => path.join(blobs, digest.replace('sha256:', ''));
  const write = (mediaType: string, value: object): Descriptor => {
    const bytes = Buffer.from(JSON.stringify(value));
    writeFileSync(fileOf(digestOfBytes(bytes)), bytes);
    return { mediaType, digest: digestOfBytes(bytes), size: bytes.length };
  };
  for (const { digest } of base.manifest.layers)
    if (!existsSync(fileOf(digest)) && !(await fetchBlob(ask, base.place, digest, fileOf(digest))))
      throw new StageFailed('PushFailed', `The registry of ${config.baseImage} sent another layer than ${digest}: try again.`);
  const own = await builtLayers(config, restored);
  for (const { layer, file } of own) copyFileSync(file, fileOf(layer.digest));
  const baseConfig = (await (await readBlob(ask, base.place, base.manifest.config.digest)).json()) as ImageConfig;
  const added = own.map(({ layer, holds }) => ({ diffId: layer.diffId, holds }));
  const labels = labelsOf(config, cloned.commit);
  const image = configOf(baseConfig, { layers: added, ...settingsOfImage(restored.plan), labels, created: cloned.at });
  const layers = [
    ...base.manifest.layers.map(({ digest, size, mediaType }) => ({ digest, size, mediaType: ociType(mediaType) })),
    ...own.map(({ layer: { digest, size } }) => ({ mediaType: layerType(OCI_MANIFEST), digest, size })),
  ];
  const ofConfig = write('application/vnd.oci.image.config.v1+json', image);
  const manifest = write(OCI_MANIFEST, { schemaVersion: 2, mediaType: OCI_MANIFEST, config: ofConfig, layers });
  const named = { ...manifest, annotations: { 'org.opencontainers.image.ref.name': tag, 'io.containerd.image.name': tag } };
  writeFileSync(path.join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(path.join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [named] }));
  say(`${tag} is an OCI image layout in ${folder}, as ${manifest.digest}`);
}

/** Docker's type of a layer under OCI's name. */
const ociType = (type: string): string => (type === 'application/vnd.docker.image.rootfs.diff.tar.gzip' ? layerType(OCI_MANIFEST) : type);
