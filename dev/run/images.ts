import type { Cluster } from '../cluster/cluster.ts';
import {
  buildImages,
  chooseEngine,
  listImageReferences,
  type BuiltImage,
} from '../images/build.ts';
import { isPushed, pushArchive } from '../images/push.ts';
import { NO_REGISTRY } from '../images/registry.ts';
import { runBeside, type Report } from '../steps.ts';

/** The images that the builder reads from the registry. */
const AGENT_SERVER = 'gx-agent-server';
const PYTHON_AGENT_SERVER = 'gx-agent-server-python';

/** The images that an agent needs to answer. */
export const FIRST_IMAGES = ['gx-postgres', 'gx-platform', 'gx-example-echo'];
/** The images that builds and key-value stores need. */
export const LATER_IMAGES = ['gx-valkey', 'gx-builder', AGENT_SERVER, PYTHON_AGENT_SERVER];

/**
 * References of the images that a platform with one example needs. The agent servers are in the cluster's registry,
 * from which the builder reads them.
 */
export type Images = {
  postgres: string;
  valkey: string;
  platform: string;
  builder: string;
  /** Where lines of Dockerfiles are to be run. */
  buildkit?: string;
  agentServer: string;
  agentServerPython: string;
  example: string;
  pythonExample?: string;
};

/** An image that not every platform has. */
export type FurtherImage = 'gx-buildkit' | 'gx-example-python' | 'gx-postgres-18';

/**
 * Starts building images beside other steps, because building waits for downloads more than for the processor.
 */
export const startImages = (names: readonly string[]): Promise<BuiltImage[]> =>
  runBeside('images', async (report) =>
    buildImages({ engine: await chooseEngine(), only: names, report }),
  );

/** Returns the references of the images as their files are now, of those too that are still to be built. */
export const listCurrentImages = async (
  cluster: Cluster,
  further: readonly FurtherImage[] = [],
): Promise<Images> => resolveImages(listImageReferences(await chooseEngine()), cluster, further);

/** Returns these references, with the agent servers where the cluster's registry has them. */
export function resolveImages(
  references: Readonly<Record<string, string>>,
  { registry }: Cluster,
  further: readonly FurtherImage[] = [],
): Images {
  const getReference = (name: string): string => references[name] ?? '';
  const toRegistryReference = (image: string): string => {
    const { name, tag } = splitReference(getReference(image));
    return `${registry.name}/${name}:${tag}`;
  };
  return {
    postgres: getReference('gx-postgres'),
    valkey: getReference('gx-valkey'),
    platform: getReference('gx-platform'),
    builder: getReference('gx-builder'),
    ...(further.includes('gx-buildkit') && { buildkit: getReference('gx-buildkit') }),
    agentServer: toRegistryReference(AGENT_SERVER),
    agentServerPython: toRegistryReference(PYTHON_AGENT_SERVER),
    example: getReference('gx-example-echo'),
    ...(further.includes('gx-example-python') && {
      pythonExample: getReference('gx-example-python'),
    }),
  };
}

/**
 * Returns the images as the chart's values name them. One that was not built here is named, too, though no node has it:
 * the chart writes the names of all.
 */
export const buildImageValues = ({
  platform,
  postgres,
  valkey,
  builder,
  buildkit,
  agentServer,
  agentServerPython,
}: Images): Record<string, string | object> => ({
  registry: NO_REGISTRY,
  ...Object.fromEntries(
    Object.entries({
      platform,
      postgres,
      valkey,
      builder,
      buildkit,
      agentServer,
      agentServerPython,
    }).flatMap(([name, reference]) => {
      if (reference === undefined) return [];
      const { registry, name: repository, tag } = splitReference(reference);
      return [[name, { registry, repository, tag }]];
    }),
  ),
});

/** Loads images onto the node, and the agent servers into the registry. One that is there costs next to nothing. */
export async function loadImages(
  cluster: Cluster,
  built: readonly BuiltImage[],
  report: Report,
): Promise<void> {
  for (const image of built) {
    if (image.name === AGENT_SERVER || image.name === PYTHON_AGENT_SERVER)
      await push(cluster, image);
    else await cluster.loadImage(image);
    report(image.reference);
  }
}

/** Puts an image into the cluster's registry, unless it is there. */
async function push({ registry }: Cluster, { reference, archive }: BuiltImage): Promise<void> {
  const to = { ...registry, ...splitReference(reference) };
  if (!(await isPushed(to))) await pushArchive(archive, to);
}

function splitReference(reference: string): { registry: string; name: string; tag: string } {
  const [, registry = '', name = '', tag = ''] = /^([^/]+)\/(.+):([^:]+)$/.exec(reference) ?? [];
  return { registry, name, tag };
}
