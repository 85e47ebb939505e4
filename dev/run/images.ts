import type { Cluster } from '../cluster/cluster.ts';
import { buildImages, engineNamed, type BuiltImage } from '../images/build.ts';
import { Unhealthy } from '../errors.ts';
import { beside, type Report } from '../steps.ts';

const PRODUCT = ['gx-postgres', 'gx-valkey', 'gx-platform', 'gx-example-echo'] as const;

/** References of the images that a platform with one example needs. */
export type Images = { postgres: string; valkey: string; platform: string; example: string };

/**
 * Starts building while the cluster is still being made, because building waits for downloads more than for the
 * processor.
 */
export const startImages = (): Promise<BuiltImage[]> =>
  beside('images', async (report) => {
    return buildImages({ engine: await engineNamed(), only: PRODUCT, report });
  });

/** Loads the images onto the node. An image that is already there costs next to nothing. */
export async function loadImages(cluster: Cluster, built: BuiltImage[], report: Report): Promise<Images> {
  const reference = (name: (typeof PRODUCT)[number]): string => {
    const image = built.find((each) => each.name === name);
    if (image === undefined) throw new Unhealthy(`The image ${name} was not built.`);
    return image.reference;
  };
  for (const image of built) {
    await cluster.loadImage(image.archive);
    report(image.reference);
  }
  return {
    postgres: reference('gx-postgres'),
    valkey: reference('gx-valkey'),
    platform: reference('gx-platform'),
    example: reference('gx-example-echo'),
  };
}
