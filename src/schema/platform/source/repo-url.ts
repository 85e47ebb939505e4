import type { GitKind } from './git-integration.ts';
import type { GitIntegration } from './git-connection.ts';

/** A repository's address. `path` has no slash at its ends and no `.git`. */
export type RepoAddress = {
  protocol: 'http' | 'https' | 'ssh';
  host: string;
  hostname: string;
  path: string;
};

const SCP = /^[A-Za-z0-9_][A-Za-z0-9_.-]*@([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)(.+)$/;

const trimPath = (path: string): string => path.replace(/^\/+|\/+$/g, '').replace(/\.git$/i, '');

/** Reads the address of a repository. Undefined for one of another form, or whose path leaves its place. */
export function parseRepoAddress(url: string): RepoAddress | undefined {
  const [, scpHost, scpPath] = SCP.exec(url) ?? [];
  if (scpHost === undefined || scpPath === undefined) return parseWebAddress(url);
  const host = scpHost.toLowerCase();
  return toCanonicalAddress({ protocol: 'ssh', host, hostname: host, path: trimPath(scpPath) });
}

/** Parts that URLs may have and addresses of repositories may not: a query, a fragment, a way up. */
const ODD = /[?#\\]|\/\.{1,2}(\/|$)/;
const PROTOCOLS = { 'https:': 'https', 'http:': 'http', 'ssh:': 'ssh' } as const;

function parseWebAddress(url: string): RepoAddress | undefined {
  if (ODD.test(url) || !URL.canParse(url)) return undefined;
  const { protocol, host, hostname, pathname, password, username } = new URL(url);
  const word = PROTOCOLS[protocol as keyof typeof PROTOCOLS] as RepoAddress['protocol'] | undefined;
  if (word === undefined || password !== '' || (username !== '' && word !== 'ssh'))
    return undefined;
  return toCanonicalAddress({
    protocol: word,
    host: host.toLowerCase(),
    hostname: hostname.toLowerCase(),
    path: trimPath(pathname),
  });
}

/**
 * Returns the address with each step of its path spelled in one way, so that addresses can be compared. Undefined if a
 * step is empty, leads up, or holds an encoded character that a host could take for a separator.
 */
function toCanonicalAddress(address: RepoAddress): RepoAddress | undefined {
  const steps = address.path.split('/').map(toCanonicalStep);
  return steps.includes(undefined) ? undefined : { ...address, path: steps.join('/') };
}

function toCanonicalStep(step: string): string | undefined {
  let plain: string;
  try {
    plain = decodeURIComponent(step);
  } catch {
    return undefined;
  }
  // oxlint-disable-next-line no-control-regex -- none of them is a part of a name
  return ['', '.', '..'].includes(plain) || /[/\\%\u0000-\u001f\u007f]/.test(plain)
    ? undefined
    : encodeURIComponent(plain);
}

/** Returns the steps of the path below the integration's host. Undefined if the address is not there. */
function resolveBelowHost(address: RepoAddress, host: string): string | undefined {
  const base = new URL(host);
  if (address.protocol === 'ssh')
    return address.hostname === base.hostname.toLowerCase() ? address.path : undefined;
  if (`${address.protocol}:` !== base.protocol || address.host !== base.host.toLowerCase())
    return undefined;
  const prefix = trimPath(base.pathname);
  if (prefix === '') return address.path;
  return address.path.startsWith(`${prefix}/`) ? address.path.slice(prefix.length + 1) : undefined;
}

/** Compares step by step from the left: `reached` holds how many steps the pattern so far may have taken. */
function isPatternMatch(steps: string[], pattern: string[]): boolean {
  let reached = new Set([0]);
  for (const part of pattern) {
    const first = Math.min(...reached);
    const taken =
      part === '**'
        ? steps.map((_, index) => index + 1).filter((count) => count > first)
        : [...reached]
            .filter((at) => at < steps.length && (part === '*' || part === steps[at]))
            .map((at) => at + 1);
    reached = new Set(taken);
  }
  return reached.has(steps.length);
}

/** Hosts that take names of repositories in any case. */
const ANY_CASE = ['github', 'gitlab', 'gitea'];

/** Returns true if one of an integration's patterns means this path below its host. */
export function isAmong(
  { kind, repositories }: { kind: GitKind; repositories?: string[] | undefined },
  path: string,
): boolean {
  const splitSteps = (text: string): string[] =>
    (ANY_CASE.includes(kind) ? text.toLowerCase() : text).split('/');
  return (
    repositories === undefined ||
    repositories.some((pattern) => isPatternMatch(splitSteps(path), splitSteps(pattern)))
  );
}

type Bounds = Pick<GitIntegration, 'kind' | 'host' | 'repositories' | 'listed' | 'name'>;

/** Returns the path of a repository below its integration's host, or undefined if the integration is not for it. */
export function findRepositoryPath(integration: Bounds, url: string): string | undefined {
  const address = parseRepoAddress(url);
  if (address === undefined) return undefined;
  const isListed = integration.listed?.some((known) => isSameRepository(known.url, url)) === true;
  if (isListed || integration.host === undefined) return isListed ? address.path : undefined;
  const path = resolveBelowHost(address, integration.host);
  return path !== undefined && isAmong(integration, path) ? path : undefined;
}

function isSameRepository(one: string, other: string): boolean {
  const [a, b] = [parseRepoAddress(one), parseRepoAddress(other)];
  return (
    a !== undefined &&
    b !== undefined &&
    a.protocol === b.protocol &&
    a.host === b.host &&
    a.path === b.path
  );
}

/** Returns why an integration is not for this address. The sentence begins with a verb. */
export function checkRepoUrl(integration: Bounds, url: string): string | undefined {
  if (findRepositoryPath(integration, url) !== undefined) return undefined;
  const form = URL.canParse(url) ? new URL(url) : undefined;
  if (form !== undefined && parseRepoAddress(url) === undefined && form.pathname.includes('%'))
    return 'has an encoded separator in its path (such as %2F or %2E%2E), which hosts read in different ways';
  const { host, repositories, name } = integration;
  const among =
    repositories === undefined
      ? ''
      : ` among ${repositories.slice(0, 5).join(', ')}${repositories.length > 5 ? ', ...' : ''}`;
  return `is not a repository of the integration ${name}, which is for ${host ?? 'its listed repositories'}${among}`;
}
