import type { StoredIntegrations } from '../stored/integrations.ts';
import type { CountedKube } from '../../kube/kube.ts';
import type { ControlPlaneConfig } from '../../config/platform/control-plane.ts';
import { randomBytes } from 'node:crypto';
import { Conflict, NotFound, Rejected } from '../../errors.ts';
import { readGitCredential, fetchGitToken, type GitToken } from '../../git/credential.ts';
import { listGitRepositories } from '../../git/repositories.ts';
import { kinds } from '../../kube/kinds.ts';
import type { ListedRepository } from '../../schema/platform/source/git-integration.ts';
import { GIT_INTEGRATION, PART_OF, TENANT } from '../../schema/platform/objects/labels.ts';
import type { CallContext, Caller } from '../caller.ts';
import type { ControlPlane } from '../control-plane.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedBy } from '../requested-by.ts';
import type { KnownIntegration } from '../stored/integrations.ts';
import {
  buildCredentialData,
  toIntegrationResource,
  type GitIntegrationRequest,
  resolveHost,
} from './resource.ts';
import type { GitPlaces } from '../../git/places.ts';
import { resolveCallableAddresses } from '../../http/outgoing/checked-request.ts';
import { parseRepoAddress, type RepoAddress } from '../../schema/platform/source/repo-url.ts';

type SecretPlane = { config: ControlPlaneConfig; kube: CountedKube };

/** Returns the connections to git hosts that belong to a tenant. */
export const listOwnIntegrations = (
  { integrations }: ControlPlane,
  tenantId: string,
): KnownIntegration[] => integrations.listAll().filter((known) => known.tenantId === tenantId);

/** Returns a tenant's connection with this id. Another tenant's is not found. */
export async function findOwnIntegration(
  { integrations }: { integrations: StoredIntegrations },
  id: string,
  { caller, signal }: CallContext,
): Promise<KnownIntegration | undefined> {
  const known = await integrations.find(id, signal);
  return known?.tenantId === caller.tenantId ? known : undefined;
}

/** Returns a tenant's connection with this id. Throws `NotFound`. */
export async function findIntegration(
  plane: { integrations: StoredIntegrations },
  id: string,
  call: CallContext,
): Promise<KnownIntegration> {
  const known = await findOwnIntegration(plane, id, call);
  if (known === undefined) throw new NotFound(`Integration ID ${id} not found.`);
  return known;
}

/** Returns the repositories that a connection may build, from its host or from its own list. */
export async function listRepositories(
  plane: ControlPlane,
  integration: KnownIntegration,
  signal: AbortSignal,
): Promise<ListedRepository[]> {
  const { gitPlaces: places } = plane;
  const { kind, host, apiUrl, listed } = integration;
  if (listed !== undefined || host === undefined)
    return listGitRepositories({ integration, token: undefined, places, signal });
  const token = await fetchToken(plane, integration, { kind, host, apiUrl, places }, signal);
  return listGitRepositories({ integration, token, places, signal });
}

async function fetchToken(
  { kube, config }: SecretPlane,
  { credentialSecret }: KnownIntegration,
  host: Parameters<typeof fetchGitToken>[1],
  signal: AbortSignal,
): Promise<GitToken | undefined> {
  if (credentialSecret === undefined || config.gitNamespace === undefined) return undefined;
  const secret = await kube.find(
    kinds.secret,
    { namespace: config.gitNamespace, name: credentialSecret },
    signal,
  );
  if (secret === undefined)
    throw new Rejected(
      `The integration's Secret ${credentialSecret} is not in ${config.gitNamespace}.`,
    );
  return fetchGitToken(readGitCredential(secret.data ?? {}), host, signal);
}

/**
 * Makes a connection. Its credential and the secret of its push events become Secrets, which no answer shows. They are
 * written first: without the resource nothing uses them.
 */
export async function createIntegration(
  plane: Omit<ControlPlane, 'stored'>,
  body: GitIntegrationRequest,
  { caller, signal }: CallContext,
): Promise<KnownIntegration> {
  const { config, kube, integrations } = plane;
  const host = await requireAllowedHost(body, config.gitHosts, plane.gitPlaces);
  const credential =
    body.credential === null || body.credential === undefined
      ? undefined
      : buildCredentialData(body.credential);
  if (credential !== undefined && 'problem' in credential) throw new Rejected(credential.problem);
  const name = `git-${randomBytes(5).toString('hex')}`;
  const shared = { integration: name, caller, signal };
  const secrets = {
    ...(credential && {
      credentialSecret: await keep(plane, `${name}-credential`, {
        data: credential.data,
        ...shared,
      }),
    }),
    ...(body.webhook_secret && {
      webhookSecret: await keep(plane, `${name}-webhook`, {
        data: { secret: body.webhook_secret },
        ...shared,
      }),
    }),
  };
  const given = {
    name,
    namespace: config.namespace,
    tenantId: caller.tenantId,
    host,
    annotations: buildRequestedBy(caller),
  };
  const resource = toIntegrationResource(body, given, secrets);
  const stored = await callKube(() =>
    kube.create(kinds.gitIntegration, resource, {}, signal),
  ).catch(async (error: unknown) => {
    await removeSecrets(plane, resource.spec);
    throw error;
  });
  integrations.note(stored);
  return findIntegration(plane, stored.metadata.uid ?? '', { caller, signal });
}

async function keep(
  { kube, config }: SecretPlane,
  name: string,
  {
    integration,
    data,
    caller,
    signal,
  }: { integration: string; data: Record<string, string>; caller: Caller; signal: AbortSignal },
): Promise<string> {
  const { gitNamespace: namespace } = config;
  if (namespace === undefined)
    throw new Rejected(
      'credential: this installation has no namespace where credentials of git hosts are kept (docs/how-to/build-from-git.md)',
    );
  const labels = {
    [GIT_INTEGRATION]: integration,
    [PART_OF]: 'gx-platform',
    [TENANT]: caller.tenantId,
  };
  const metadata = { name, namespace, labels, annotations: buildRequestedBy(caller) };
  await callKube(() =>
    kube.create(
      kinds.secret,
      { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', stringData: data },
      {},
      signal,
    ),
  );
  return name;
}

async function removeSecrets(
  { kube, config }: SecretPlane,
  {
    credentialSecret,
    webhookSecret,
  }: { credentialSecret?: string | undefined; webhookSecret?: string | undefined },
): Promise<void> {
  const { gitNamespace: namespace } = config;
  for (const name of [credentialSecret, webhookSecret])
    if (namespace !== undefined && name !== undefined)
      await kube.delete(kinds.secret, { namespace, name }).catch(() => false);
}

/** Removes a connection that no deployment names, and the Secrets that were made with it. */
export async function removeIntegration(
  plane: Omit<ControlPlane, 'gitPlaces'>,
  id: string,
  call: CallContext,
): Promise<void> {
  const integration = await findIntegration(plane, id, call);
  const { resource } = integration;
  if (resource === undefined)
    throw new Conflict(
      'The integration is one of the settings of the installation: remove it there.',
    );
  await plane.stored.readDeployments(call.signal);
  const user = plane.stored
    .listDeployments()
    .find(({ spec }) => spec.sourceConfig?.integrationId?.toLowerCase() === integration.id);
  if (user !== undefined)
    throw new Conflict(`The deployment ${user.metadata.name} is built with this integration.`);
  const { namespace, name, uid = '' } = resource.metadata;
  await plane.kube.delete(kinds.gitIntegration, { namespace, name }, { uid });
  plane.integrations.remove(resource);
  // Secrets that an administrator made have other names, and stay.
  const pickMadeSecret = (secret: string | undefined): string | undefined =>
    secret?.startsWith(`${name}-`) === true ? secret : undefined;
  await removeSecrets(plane, {
    credentialSecret: pickMadeSecret(resource.spec.credentialSecret),
    webhookSecret: pickMadeSecret(resource.spec.webhookSecret),
  });
}

/** Where GitHub answers for itself. */
const USUAL_API: Readonly<Record<string, string>> = {
  'https://github.com': 'https://api.github.com',
};

/**
 * Returns the address of a connection's host, without a slash at its end. Throws unless that, the address of its API
 * and each repository that it lists are where REST users may have the platform send requests and credentials: at the
 * hosts that the installation lists, or, where it lists none, at public addresses by https or ssh. Each request looks
 * again, because names get other addresses.
 */
export async function requireAllowedHost(
  body: GitIntegrationRequest,
  allowed: readonly string[],
  lookups: Lookups,
): Promise<string> {
  const host = resolveHost(body);
  if (host === undefined) throw new Rejected(`host: required for kind ${body.kind}`);
  if (allowed.length > 0 && !allowed.includes(host))
    throw new Rejected(`host: this installation allows ${allowed.join(', ')}`);
  const usual = [...allowed, ...allowed.flatMap((each) => USUAL_API[each] ?? [])].flatMap(
    (each) => parseRepoAddress(`${each}/x`) ?? [],
  );
  const asked: [field: string, url: string][] = [
    ['host', `${host}/x`],
    ...(body.api_url ? [['api_url', `${body.api_url}/x`] as [string, string]] : []),
    ...(body.repos ?? []).map(({ url }, index): [string, string] => [`repos.${index}.url`, url]),
  ];
  for (const [field, url] of asked) {
    const address = parseRepoAddress(url);
    if (address === undefined)
      throw new Rejected(`${field}: must be the address of a git host or repository`);
    if (allowed.length > 0) requireListed(address, field, usual, allowed);
    else await requirePublic(address, field, lookups);
  }
  return host;
}

function requireListed(
  address: RepoAddress,
  field: string,
  listed: readonly RepoAddress[],
  allowed: readonly string[],
): void {
  const isOf = ({ protocol, host, hostname }: RepoAddress): boolean =>
    address.protocol === 'ssh'
      ? hostname === address.hostname
      : protocol === address.protocol && host === address.host;
  if (!listed.some(isOf))
    throw new Rejected(`${field}: this installation allows ${allowed.join(', ')}`);
}

type Lookups = Pick<GitPlaces, 'resolveAddresses'>;

/** A name that nobody resolves has no address that could be private. */
async function requirePublic(
  { protocol, hostname, host }: RepoAddress,
  field: string,
  lookups: Lookups,
): Promise<void> {
  if (protocol === 'http')
    throw new Rejected(
      `${field}: must use https, because credentials are sent to it; the installation may name others (GX_GIT_HOSTS)`,
    );
  const name = protocol === 'ssh' ? host.replace(/:\d+$/, '') : hostname;
  const resolveAddresses = (asked: string) => lookups.resolveAddresses(asked).catch(() => []);
  if (
    'problem' in
    (await resolveCallableAddresses(name, { isListed: false, addressesOf: resolveAddresses }))
  )
    throw new Rejected(
      `${field}: ${name} has no public address; the installation may list hosts that have none (GX_GIT_HOSTS)`,
    );
}
