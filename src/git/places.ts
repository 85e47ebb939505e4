import type { Proxies } from '../http/outgoing/proxies.ts';
import type { Lookups } from '../http/outgoing/lookups.ts';
import type { ConfiguredIntegration } from '../schema/platform/source/git-connection.ts';

/** Where git hosts may be asked: at public addresses, and at others where the installation lists the host. */
export type GitPlaces = { isListed: (url: URL) => boolean } & Pick<Lookups, 'resolveAddresses'> &
  Partial<{ proxies: Proxies | undefined }>;

/** Returns the places of an installation: it lists hosts itself, and by the connections of its own settings. */
export function buildGitPlaces(
  {
    gitHosts,
    gitIntegrations,
  }: {
    /** Addresses of hosts, such as `https://git.example.com`. */
    gitHosts: readonly string[];
    gitIntegrations: readonly ConfiguredIntegration[];
  },
  lookups: Lookups,
): GitPlaces {
  const named = gitIntegrations.flatMap(({ host, api_url: api, repos = [] }) => [
    host,
    api,
    ...repos.map(({ url }) => url),
  ]);
  const addresses = [...gitHosts, ...named].filter(
    (url) => url !== undefined && /^https?:/i.test(url) && URL.canParse(url),
  );
  const origins = new Set(addresses.map((url) => new URL(url!).origin));
  return {
    isListed: ({ origin }) => origins.has(origin),
    resolveAddresses: (host) => lookups.resolveAddresses(host),
    proxies: lookups.proxies,
  };
}
