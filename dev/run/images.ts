import type { Cluster } from '../cluster/cluster.ts';
import { buildImages, engineNamed, referencesOf, type BuiltImage } from '../images/build.ts';
import { isPushed, pushArchive } from '../images/push.ts';
import { beside, type Report } from '../steps.ts';

const AGENT_SERVER = 'gx-agent-server';

/** The images that an agent needs to answer. */
export const FIRST_IMAGES = ['gx-postgres', 'gx-platform', 'gx-example-echo'];
/** The images that builds and key-value stores need. */
export const LATER_IMAGES = ['gx-valkey', 'gx-builder', AGENT_SERVER];

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

/** An image that not every platform has. */
export type FurtherImage = 'gx-buildkit';

/**
 * Starts building images beside other steps, because building waits for downloads more than for the processor.
 */
export const startImages = (names: readonly string[]): Promise<BuiltImage[]> =>
  beside('images', async (report) => buildImages({ engine: await engineNamed(), only: names, report }));

/** Returns the references of the images as their files are now, of those too that are still to be built. */
export async function imagesOf({ registry }: Cluster, further: readonly FurtherImage[] = []): Promise<Images> {
  const references = referencesOf(await engineNamed());
  const one = (name: string): string => references[name] ?? '';
  const { name, tag } = placeOf(one(AGENT_SERVER));
  return {
    postgres: one('gx-postgres'),
    valkey: one('gx-valkey'),
    platform: one('gx-platform'),
    builder: one('gx-builder'),
    ...(further.includes('gx-buildkit') && { buildkit: one('gx-buildkit') }),
    agentServer: `${registry.name}/${name}:${tag}`,
    example: one('gx-example-echo'),
  };
}

/** Loads images onto the node, and the agent server into the registry. One that is there costs next to nothing. */
export async function loadImages(cluster: Cluster, built: readonly BuiltImage[], report: Report): Promise<void> {
  for (const image of built) {
    if (image.name === AGENT_SERVER) await push(cluster, image);
    else await cluster.loadImage(image);
    report(image.reference);
  }
}

/** Puts an image into the cluster's registry, unless it is there. */
async function push({ registry }: Cluster, { reference, archive }: BuiltImage): Promise<void> {
  const to = { ...registry, ...placeOf(reference) };
  if (!(await isPushed(to))) await pushArchive(archive, to);
}

/** Returns the name and tag of an image in any registry. */
function placeOf(reference: string): { name: string; tag: string } {
  const [, name = '', tag = ''] = /^[^/]+\/(.+):([^:]+)$/.exec(reference) ?? [];
  return { name, tag };
}
