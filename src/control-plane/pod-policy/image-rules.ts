import type { ResourceSpec } from '../../schema/platform/spec/resource-spec.ts';

/*
 * Which images a REST user may run. Nodes pull images that the platform built with a credential of the registry, which
 * may be for all of it. The name of an image names its owner, whose namespace stands first below the registry's path.
 */

/** Where builds push, and the Secret with which agents' nodes pull from there. */
export type BuiltImages = { repository: string | undefined; pullSecret: string | undefined };

const AT = 'source_config.resource_spec';

/** Returns images of builds that are another tenant's, and the Secret that would let a node pull them. */
export function checkImages(
  { repository, pullSecret }: BuiltImages,
  {
    spec,
    image,
    namespaces,
  }: {
    spec: ResourceSpec | null | undefined;
    image?: string | null | undefined;
    /** Namespaces of the caller's tenant. */
    namespaces: readonly string[];
  },
): string[] {
  const containers = (['init_containers', 'sidecars'] as const).flatMap((field) =>
    (spec?.[field] ?? []).map(
      (container, index) => [`${AT}.${field}.${index}.image`, container.image] as const,
    ),
  );
  const images = [['source_revision_config.image_uri', image] as const, ...containers];
  const foreign = images.filter(([, name]) => {
    const owner = repository === undefined ? undefined : findBuildNamespace(name ?? '', repository);
    return owner !== undefined && !namespaces.includes(owner);
  });
  const pulls = (spec?.image_pull_secrets ?? []).flatMap(({ name }, index) =>
    name === pullSecret
      ? [`${AT}.image_pull_secrets.${index}: ${name} is for images that the platform built`]
      : [],
  );
  return [
    ...foreign.map(([at]) => `${at}: images of builds are for deployments of their own tenant`),
    ...pulls,
  ];
}

/** Returns the namespace for whose deployment an image was built; undefined for an image of another origin. */
function findBuildNamespace(image: string, repository: string): string | undefined {
  // With a slash behind it, a registry without a path is no name of Docker Hub.
  const [name, home] = [expandImage(image), expandImage(`${repository}/`)];
  return name.startsWith(home) ? (name.slice(home.length).split(/[/:@.]/)[0] ?? '') : undefined;
}

const DOCKER_HUB = ['index.docker.io', 'registry-1.docker.io'];

/** Spells out where an image is, because a registry has several names: in any case, and with the usual port. */
function expandImage(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first.toLowerCase() === 'localhost');
  const host = isHost ? first.toLowerCase().replace(/:0*(443|80)$/, '') : 'docker.io';
  return [
    DOCKER_HUB.includes(host) ? 'docker.io' : host,
    ...(isHost ? rest : [first, ...rest]),
  ].join('/');
}
