import type { DeploymentSummary } from '../../../schema/platform/deployment/deployment-summary.ts';

/** Returns where a deployment comes from: the repository and branch, or the image, without the registry's host. */
export function formatSource({
  source,
  image_uri,
  repo_url,
  repo_ref,
}: Pick<DeploymentSummary, 'source' | 'image_uri' | 'repo_url' | 'repo_ref'>): string {
  if (source !== 'git') return formatImage(image_uri);
  const repository = formatRepository(repo_url ?? '');
  return repo_ref === null
    ? repository
    : `${repository} · ${repo_ref.replace(/^refs\/tags\//, '')}`;
}

/**
 * Returns the path of a repository on its host: behind `scheme://user@host:port/`, or behind `user@host:` as scp writes
 * it.
 */
const formatRepository = (url: string): string =>
  url
    .replace(/^(?:[a-z][a-z0-9+.-]*:\/\/[^/]*|(?:[^/@:]+@)?[^/:]+(?::|(?=\/)))\/*/i, '')
    .replace(/\/*$/, '')
    .replace(/\.git$/, '');

/** Returns an image without its registry, with a short digest. */
export function formatImage(image: string | null | undefined): string {
  if (image === null || image === undefined) return '';
  const [first, ...rest] = image.split('/');
  const isHost = rest.length > 0 && /[.:]|^localhost$/.test(first ?? '');
  return (isHost ? rest.join('/') : image).replace(/@sha256:(\w{12})\w+$/, '@$1');
}

/** Returns the first letters of a commit, as git shows them. */
export const formatCommit = (commit: string | null | undefined): string =>
  commit?.slice(0, 8) ?? '';
