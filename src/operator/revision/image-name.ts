/** Returns an image's name without tag and digest. */
export function parseImageRepository(image: string): string {
  const [named = ''] = image.split('@');
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  return colon < 0 ? named : named.slice(0, colon);
}

/** Spells a name out as container runtimes do: `redis` is `docker.io/library/redis`. */
function expandRepository(repository: string): string {
  const [first = '', ...rest] = repository.split('/');
  if (rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')) return repository;
  return rest.length > 0 ? `docker.io/${repository}` : `docker.io/library/${repository}`;
}

/**
 * Returns the digest by which a registry knows the image that a container runs, from its `imageID`. Undefined if the
 * image came to the node in another way, because nobody could pull it by that digest.
 */
export function findImageDigest(imageId: string, image: string): string | undefined {
  const [repository = '', digest] = imageId.split('@');
  const isSame =
    expandRepository(parseImageRepository(repository)) ===
    expandRepository(parseImageRepository(image));
  return isSame && digest !== undefined && /^sha256:[0-9a-f]{64}$/.test(digest)
    ? digest
    : undefined;
}
