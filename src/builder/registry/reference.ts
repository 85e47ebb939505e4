/** Where an image is: `host` is a name with an optional port, `repository` the path there. */
export type ImageReference = { host: string; repository: string; tag?: string; digest?: string };

const FORM =
  /^([a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/;
const DOCKER_HUB = 'docker.io';

/** Returns the parts of an image's name; undefined if it is none. A name without a host is one of Docker Hub. */
export function parseImageReference(name: string): ImageReference | undefined {
  const { host, rest } = splitHost(name);
  const [, path, tag, digest] = FORM.exec(rest) ?? [];
  if (path === undefined || !/^[A-Za-z0-9.-]+(:[0-9]{1,5})?$/.test(host)) return undefined;
  const repository = host === DOCKER_HUB && !path.includes('/') ? `library/${path}` : path;
  return { host, repository, ...(tag && { tag }), ...(digest && { digest }) };
}

function splitHost(name: string): { host: string; rest: string } {
  const [first = '', ...others] = name.split('/');
  const isHost = others.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return isHost ? { host: first, rest: others.join('/') } : { host: DOCKER_HUB, rest: name };
}

/** Returns the version to ask a repository for: a digest rather than a tag. */
export const getImageVersion = ({ tag, digest }: ImageReference): string =>
  digest ?? tag ?? 'latest';

/** Returns the host that answers for a registry. */
export const getApiHost = (host: string): string =>
  host === DOCKER_HUB ? 'registry-1.docker.io' : host;

export const OCI_MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
