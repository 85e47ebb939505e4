import { Rejected } from '../../errors.ts';
import type { GitPlaces } from '../../git/places.ts';
import { callableAddresses } from '../../http/checked-request.ts';
import { repoAddress, type RepoAddress } from '../../schema/platform/repo-url.ts';
import { hostOf, type GitIntegrationRequest } from './resource.ts';

/** Where GitHub answers for itself. */
const USUAL_API: Readonly<Record<string, string>> = { 'https://github.com': 'https://api.github.com' };

/**
 * Returns the address of a connection's host, without a slash at its end. Throws unless that, the address of its API
 * and each repository that it lists are where REST users may have the platform send requests and credentials: at the
 * hosts that the installation lists, or, where it lists none, at public addresses by https or ssh. Each request looks
 * again, because names get other addresses.
 */
export async function checkedHost(body: GitIntegrationRequest, allowed: readonly string[], lookups: Lookups): Promise<string> {
  const host = hostOf(body);
  if (host === undefined) throw new Rejected(`host: required for kind ${body.kind}`);
  if (allowed.length > 0 && !allowed.includes(host)) throw new Rejected(`host: this installation allows ${allowed.join(', ')}`);
  const usual = [...allowed, ...allowed.flatMap((each) => USUAL_API[each] ?? [])].flatMap((each) => repoAddress(`${each}/x`) ?? []);
  const asked: [field: string, url: string][] = [
    ['host', `${host}/x`],
    ...(body.api_url ? [['api_url', `${body.api_url}/x`] as [string, string]] : []),
    ...(body.repos ?? []).map(({ url }, index): [string, string] => [`repos.${index}.url`, url]),
  ];
  for (const [field, url] of asked) {
    const address = repoAddress(url);
    if (address === undefined) throw new Rejected(`${field}: must be the address of a git host or repository`);
    if (allowed.length > 0) requireListed(address, { field, listed: usual, allowed });
    else await requirePublic(address, field, lookups);
  }
  return host;
}

type Listing = { field: string; listed: readonly RepoAddress[]; allowed: readonly string[] };

function requireListed(address: RepoAddress, { field, listed, allowed }: Listing): void {
  const isOf = ({ protocol, host, hostname }: RepoAddress): boolean =>
    address.protocol === 'ssh' ? hostname === address.hostname : protocol === address.protocol && host === address.host;
  if (!listed.some(isOf)) throw new Rejected(`${field}: this installation allows ${allowed.join(', ')}`);
}

type Lookups = Pick<GitPlaces, 'addressesOf'>;

/** A name that nobody resolves has no address that could be private. */
async function requirePublic({ protocol, hostname, host }: RepoAddress, field: string, lookups: Lookups): Promise<void> {
  if (protocol === 'http')
    throw new Rejected(`${field}: must use https, because credentials are sent to it; the installation may name others (GX_GIT_HOSTS)`);
  const name = protocol === 'ssh' ? host.replace(/:\d+$/, '') : hostname;
  const addressesOf = (asked: string) => lookups.addressesOf(asked).catch(() => []);
  if ('problem' in (await callableAddresses(name, { isListed: false, addressesOf })))
    throw new Rejected(`${field}: ${name} has no public address; the installation may list hosts that have none (GX_GIT_HOSTS)`);
}
