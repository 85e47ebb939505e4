/*
 * Names of the images that builds push. A repository is of one deployment, and its name tells whose: deployments and
 * namespaces are DNS labels, so that neither a slash nor a dot can stand in them.
 */

const DOCKER_HUB = /^(docker\.io|index\.docker\.io|registry-1\.docker\.io)\//;

/** Docker Hub has organizations and repositories, and nothing below them. */
export const isOnDockerHub = (repository: string): boolean => DOCKER_HUB.test(repository);

/** Returns the repository for the images of a deployment below the one that the installation names. */
export const buildImageRepository = (
  home: string,
  { namespace, deployment }: { namespace: string; deployment: string },
): string =>
  isOnDockerHub(home) ? `${home}/${namespace}.${deployment}` : `${home}/${namespace}/${deployment}`;

/** Returns the repository that keeps the packages of a deployment's builds. */
export const buildCacheRepository = (built: string): string =>
  isOnDockerHub(built) ? `${built}.cache` : `${built}/cache`;
