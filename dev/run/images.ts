import type { Cluster } from '../cluster/cluster.ts';
import { buildImages, engineNamed, type BuiltImage } from '../images/build.ts';
import { isPushed, pushArchive } from '../images/push.ts';
import { Unhealthy } from '../errors.ts';
import { beside, type Report } from '../steps.ts';

const PRODUCT = ['gx-postgres', 'gx-valkey', 'gx-platform', 'gx-builder', 'gx-agent-server', 'gx-example-echo'] as const;

/**
 * References of the images that a platform with one example needs. The agent server is in the cluster's registry, from
 * which the builder reads it.
 */
export type Images = {
  postgres: string;
  valkey: string;
  platform: string;
  builder: string;
  /** Where lines of Dockerfiles are to be run. */
  buildkit?: string;
  agentServer: string;
  example: string;
};

/** What not every platform has. */
export type FurtherImage = 'gx-buildkit';

/**
 * Starts building while the cluster is still being made, because building waits for downloads more than for the
 * processor.
 */
export const startImages = (further: readonly FurtherImage[] = []): Promise<BuiltImage[]> =>
  beside('images', async (report) => {
    return buildImages({ engine: await engineNamed(), only: [...PRODUCT, ...further], report });
  });

/** Loads the images onto the node. An image that is already there costs next to nothing. */
export async function loadImages(cluster: Cluster, built: BuiltImage[], report: Report): Promise<Images> {
  const one = (name: (typeof PRODUCT)[number]): BuiltImage => {
    const image = built.find((each) => each.name === name);
    if (image === undefined) throw new Unhealthy(`The image ${name} was not built.`);
    return image;
  };
  for (const image of built.filter(({ name }) => name !== 'gx-agent-server')) {
    await cluster.loadImage(image);
    report(image.reference);
  }
  const buildkit = built.find(({ name }) => name === 'gx-buildkit');
  const agentServer = await pushed(cluster, one('gx-agent-server'));
  report(agentServer);
  return {
    postgres: one('gx-postgres').reference,
    valkey: one('gx-valkey').reference,
    platform: one('gx-platform').reference,
    builder: one('gx-builder').reference,
    ...(buildkit !== undefined && { buildkit: buildkit.reference }),
    agentServer,
    example: one('gx-example-echo').reference,
  };
}

/** Puts an image into the cluster's registry, unless it is there, and returns its name in it. */
async function pushed({ registry }: Cluster, { reference, archive }: BuiltImage): Promise<string> {
  const [, name = '', tag = ''] = /^[^/]+\/(.+):([^:]+)$/.exec(reference) ?? [];
  const to = { ...registry, name, tag };
  if (!(await isPushed(to))) await pushArchive(archive, to);
  return `${registry.name}/${name}:${tag}`;
}
