import { OCI_MANIFEST } from './reference.ts';

/** The configuration of an image, as far as it is changed here. Docker's and OCI's are the same. */
export type ImageConfig = {
  created?: string;
  config?: { Env?: string[]; WorkingDir?: string; Labels?: Record<string, string> | null };
  rootfs: { type: 'layers'; diff_ids: string[] };
  history?: { created?: string; created_by?: string; empty_layer?: boolean }[];
};

type ImageAddition = {
  /** Layers on top of the base's, from the bottom up: their archives' digests, and their contents. */
  layers: readonly { diffId: string; holds: string }[];
  env: Record<string, string>;
  workdir: string;
  labels: Record<string, string>;
  /** In ISO 8601: the commit's time, so that the same commit makes the same image. */
  created: string;
};

/** Returns the base's configuration with the additions. */
export function buildImageConfig(
  base: ImageConfig,
  { layers, env, workdir, labels, created }: ImageAddition,
): ImageConfig {
  const { config = {}, rootfs, history = [], ...others } = base;
  const kept = (config.Env ?? []).filter(
    (line) => !Object.keys(env).includes(line.slice(0, line.indexOf('='))),
  );
  return {
    ...others,
    created,
    config: {
      ...config,
      Env: [...kept, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
      WorkingDir: workdir,
      Labels: { ...config.Labels, ...labels },
    },
    rootfs: { ...rootfs, diff_ids: [...rootfs.diff_ids, ...layers.map(({ diffId }) => diffId)] },
    history: [
      ...history,
      ...layers.map(({ holds }) => ({ created, created_by: `gx-builder: ${holds}` })),
    ],
  };
}

/** Returns the type of a compressed layer that goes with a manifest: registries refuse a mixture. */
export const toLayerType = (manifestType: string): string =>
  manifestType === OCI_MANIFEST
    ? 'application/vnd.oci.image.layer.v1.tar+gzip'
    : 'application/vnd.docker.image.rootfs.diff.tar.gzip';
