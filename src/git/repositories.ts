import type { GitIntegration } from '../schema/platform/source/git-connection.ts';
import type { ListedRepository } from '../schema/platform/source/git-integration.ts';
import { isAmong } from '../schema/platform/source/repo-url.ts';
import type { GitToken } from './credential.ts';
import { fetchJsonFromHost, buildApiUrl, type Host } from './host.ts';
import type { GitPlaces } from './places.ts';
import type { Json } from '../schema/json.ts';

/** Pages that are read at most: ten thousand repositories. */
const MOST_PAGES = 100;
const PER_PAGE = 100;

type Api = {
  path: (isApp: boolean) => string;
  authorization: (token: string) => string;
  items: (body: unknown) => Json[];
  /** The id, the path below the host and the default branch of one repository. */
  of: (item: Json) => { id: unknown; path: unknown; branch: unknown };
};

const toJsonList = (body: unknown): Json[] => (Array.isArray(body) ? (body as Json[]) : []);

const APIS: Record<Exclude<GitIntegration['kind'], 'generic'>, Api> = {
  github: {
    path: (isApp) => `${isApp ? '/installation/repositories' : '/user/repos'}?per_page=${PER_PAGE}`,
    authorization: (token) => `Bearer ${token}`,
    items: (body) =>
      Array.isArray(body) ? toJsonList(body) : toJsonList((body as Json | null)?.repositories),
    of: ({ id, full_name: path, default_branch: branch }) => ({ id, path, branch }),
  },
  gitlab: {
    path: () => `/projects?membership=true&simple=true&order_by=id&sort=asc&per_page=${PER_PAGE}`,
    authorization: (token) => `Bearer ${token}`,
    items: toJsonList,
    of: ({ id, path_with_namespace: path, default_branch: branch }) => ({ id, path, branch }),
  },
  gitea: {
    path: () => `/user/repos?limit=${PER_PAGE}`,
    authorization: (token) => `token ${token}`,
    items: toJsonList,
    of: ({ id, full_name: path, default_branch: branch }) => ({ id, path, branch }),
  },
};

type Listing = {
  integration: GitIntegration;
  token: GitToken | undefined;
  places: GitPlaces;
  signal: AbortSignal;
};

/**
 * Returns the repositories of an integration, in the host's order: those that it lists itself, else those that its
 * credential may see at the host and that its patterns mean. Throws if the host is away or refuses the credential.
 */
export async function listGitRepositories({
  integration,
  token,
  places,
  signal,
}: Listing): Promise<ListedRepository[]> {
  const { kind, host, listed } = integration;
  if (listed !== undefined || kind === 'generic' || host === undefined || token === undefined)
    return listed ?? [];
  const api = APIS[kind];
  const place: Host = { kind, host, apiUrl: integration.apiUrl, places };
  const base = buildApiUrl(place);
  const headers = {
    authorization: api.authorization(token.token),
    accept: 'application/json',
    'user-agent': 'gx-platform',
  };
  const found: ListedRepository[] = [];
  let url: string | undefined = `${base}${api.path(token.isApp)}`;
  for (let page = 0; url !== undefined && page < MOST_PAGES; page += 1) {
    const answer = await fetchJsonFromHost(place, { url, headers, signal });
    found.push(
      ...api.items(answer.body).flatMap((item) => toRepository(api.of(item), integration) ?? []),
    );
    url = readNextPage(answer.headers['link'], url);
  }
  return found;
}

function toRepository(
  { id, path, branch }: ReturnType<Api['of']>,
  integration: GitIntegration,
): ListedRepository | undefined {
  if (typeof path !== 'string' || !isAmong(integration, path)) return undefined;
  const slash = path.lastIndexOf('/');
  return {
    id: typeof id === 'number' ? id : 0,
    name: path.slice(slash + 1),
    owner: path.slice(0, Math.max(0, slash)),
    url: `${(integration.host ?? '').replace(/\/+$/, '')}/${path}`,
    // An empty repository has none yet.
    defaultBranch: typeof branch === 'string' && branch !== '' ? branch : 'main',
  };
}

/** Returns the next page that an answer names (RFC 8288), if it is of the same host. */
function readNextPage(link: string | string[] | undefined, from: string): string | undefined {
  const next = link
    ?.toString()
    .split(',')
    .find((part) => /;\s*rel="?next"?/.test(part));
  const target = /<([^>]+)>/.exec(next ?? '')?.[1];
  if (target === undefined) return undefined;
  const url = new URL(target, from);
  return url.origin === new URL(from).origin ? url.href : undefined;
}
