import type { GitPlaces } from '../../git/places.ts';
import type { Kube } from '../../kube/kube.ts';
import type { Builder } from '../../config/platform/builder.ts';
import { Rejected } from '../../errors.ts';
import {
  buildGitAuthorization,
  readGitCredential,
  fetchGitToken,
  type GitCredential,
} from '../../git/credential.ts';
import type { RemoteRepository } from '../../git/ls-refs.ts';
import { kinds } from '../../kube/kinds.ts';
import type { GitIntegration } from '../../schema/platform/source/git-connection.ts';
import { parseRepoAddress } from '../../schema/platform/source/repo-url.ts';

type RemoteLook = {
  integration: GitIntegration;
  url: string;
  builder: Builder;
  signal: AbortSignal;
};

/** The data of a Secret, in base64. */
type SecretData = Record<string, string>;

/**
 * A repository as git asks for it; over ssh, nobody tells its refs, and the stage that clones resolves them. `shown` is
 * the credential that this stage shows to the host: of a GitHub App a token for an hour, so that no build gets the
 * App's own key.
 */
type Remote = RemoteRepository & { isWeb: boolean; shown?: SecretData | undefined };

/** Returns the hosts that are asked about a repository, as one text. An API may be slow where the host is not. */
export const joinRepositoryHosts = (url: string, { host, apiUrl }: GitIntegration): string =>
  [parseRepoAddress(url)?.host, host, apiUrl].filter((one) => one !== undefined).join(' ');

/** Reads the credential for a repository's host; a GitHub App gets a token there. */
export async function resolveRemote(
  deps: { kube: Kube; gitPlaces: GitPlaces },
  { integration, url, builder, signal }: RemoteLook,
): Promise<Remote> {
  const { credential, data } = await readCredential(deps, integration, { builder, signal });
  const { kind, apiUrl } = integration;
  const host = integration.host ?? `https://${parseRepoAddress(url)?.host ?? ''}`;
  const places = deps.gitPlaces;
  const token = await fetchGitToken(credential, { kind, host, apiUrl, places }, signal);
  const isWeb = parseRepoAddress(url)?.protocol !== 'ssh';
  return {
    host,
    places,
    url,
    isWeb,
    authorization: token && buildGitAuthorization(kind, token),
    shown:
      token?.isApp === true
        ? { token: encodeBase64(token.token), username: encodeBase64(token.username ?? '') }
        : data,
  };
}

const encodeBase64 = (text: string): string => Buffer.from(text).toString('base64');

/** Reads the credential of a git integration, a Secret in the namespace of git credentials. */
async function readCredential(
  { kube }: { kube: Kube },
  { credentialSecret: name }: GitIntegration,
  { builder: { gitNamespace: namespace }, signal }: Pick<RemoteLook, 'builder' | 'signal'>,
): Promise<{ credential?: GitCredential; data?: SecretData }> {
  if (name === undefined) return {};
  const secret = await kube.find(kinds.secret, { namespace, name }, signal);
  if (secret === undefined)
    throw new Rejected(`The integration's Secret ${name} is not in the namespace ${namespace}.`);
  const { data = {} } = secret;
  const credential = readGitCredential(data);
  if (credential === undefined)
    throw new Rejected(
      `The integration's Secret ${name} holds no credential: no token, GitHub App or ssh key.`,
    );
  return { credential, data };
}
