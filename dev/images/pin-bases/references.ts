/** A base of the Dockerfile, without the digest that it may have. */
export type Base = { argument: string; tagged: string };

const ARGUMENT = /^ARG (\w+)=([^\s@]+)(@sha256:[0-9a-f]{64})?$/gm;

/** Returns the bases that a Dockerfile names in its build arguments. */
export const parseBases = (dockerfile: string): Base[] =>
  [...dockerfile.matchAll(ARGUMENT)].map(([, argument = '', tagged = '']) => ({
    argument,
    tagged,
  }));

/** Returns the Dockerfile with a digest behind each base that has one here. */
export const addDigests = (dockerfile: string, digests: ReadonlyMap<string, string>): string =>
  dockerfile.replaceAll(ARGUMENT, (line, argument: string, tagged: string) => {
    const digest = digests.get(tagged);
    return digest === undefined ? line : `ARG ${argument}=${tagged}@${digest}`;
  });

export type Place = { registry: string; repository: string; tag: string };

/** Returns where an image is. Docker Hub's API has another name than its images. */
export function parseRegistryPlace(tagged: string): Place {
  const [, host = '', repository = '', tag = 'latest'] =
    /^([^/]+)\/(.+?)(?::([^/:]+))?$/.exec(tagged) ?? [];
  return { registry: host === 'docker.io' ? 'registry-1.docker.io' : host, repository, tag };
}
