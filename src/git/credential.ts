import { createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { Rejected } from '../errors.ts';
import type { GitKind } from '../schema/platform/source/git-integration.ts';
import { toCanonicalPem, trimCredential } from '../schema/platform/source/pasted-credential.ts';
import { fetchJsonFromHost, buildApiUrl, type Host } from './host.ts';

/** A credential for a git host. An ssh key opens no API and lists no refs. */
export type GitCredential =
  | { form: 'token'; token: string; username?: string }
  | { form: 'ssh' }
  | { form: 'app'; appId: string; installationId: string; privateKey: string };

/** The keys of a credential's Secret, in base64 as Kubernetes answers them. */
type SecretData = Record<string, string>;

/** Reads the Secret of an integration's credential. Undefined if it holds none of the known forms. */
export function readGitCredential(data: SecretData): GitCredential | undefined {
  const readText = (key: string): string | undefined => {
    const value =
      data[key] === undefined
        ? ''
        : trimCredential(Buffer.from(data[key], 'base64').toString('utf8'));
    return value === '' ? undefined : value;
  };
  const [appId, installationId, privateKey] = [
    readText('appId'),
    readText('installationId'),
    readText('privateKey'),
  ];
  if (appId !== undefined && installationId !== undefined && privateKey !== undefined)
    return { form: 'app', appId, installationId, privateKey };
  const [token, username] = [readText('token') ?? readText('password'), readText('username')];
  if (token !== undefined)
    return { form: 'token', token, ...(username !== undefined && { username }) };
  return readText('ssh-privatekey') === undefined ? undefined : { form: 'ssh' };
}

/** A token that opens a host's API and its repositories. */
export type GitToken = { token: string; username?: string; isApp: boolean };

/** Returns the token to ask a host with; undefined without one. A GitHub App gets one for an hour from its host. */
export async function fetchGitToken(
  credential: GitCredential | undefined,
  host: Host,
  signal: AbortSignal,
): Promise<GitToken | undefined> {
  if (credential === undefined || credential.form === 'ssh') return undefined;
  if (credential.form === 'token') {
    const { token, username } = credential;
    return { token, ...(username !== undefined && { username }), isApp: false };
  }
  const url = `${buildApiUrl(host)}/app/installations/${encodeURIComponent(credential.installationId)}/access_tokens`;
  const headers = {
    authorization: `Bearer ${signAppAssertion(credential, Date.now())}`,
    accept: 'application/vnd.github+json',
  };
  const { body } = await fetchJsonFromHost(host, { url, headers, method: 'POST', signal });
  const { token } = (body ?? {}) as { token?: unknown };
  if (typeof token !== 'string')
    throw new Rejected(`The git host ${host.host} gave the GitHub App no token.`);
  return { token, username: 'x-access-token', isApp: true };
}

/** Seconds for which an assertion counts; GitHub takes ten minutes at most, and clocks differ. */
const VALID = 540;
const SKEW = 60;

/** Returns the JSON Web Token by which a GitHub App shows who it is (RS256). */
function signAppAssertion(
  { appId, privateKey }: { appId: string; privateKey: string },
  now: number,
): string {
  const seconds = Math.floor(now / 1000);
  const encodePart = (value: object): string =>
    Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = `${encodePart({ alg: 'RS256', typ: 'JWT' })}.${encodePart({ iat: seconds - SKEW, exp: seconds + VALID, iss: appId })}`;
  return `${unsigned}.${sign('RSA-SHA256', Buffer.from(unsigned), requireRsaKey(privateKey)).toString('base64url')}`;
}

/** Reads an App's key. One of another kind would sign, too, and only the host's refusal would show it. */
function requireRsaKey(pem: string): KeyObject {
  try {
    const key = createPrivateKey(toCanonicalPem(pem));
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch (error) {
    throw new Rejected(NO_RSA_KEY, { cause: error });
  }
  throw new Rejected(NO_RSA_KEY);
}

const NO_RSA_KEY = "credential: the GitHub App's privateKey is no RSA key in PEM form";

/** Names that hosts take beside a token in place of a password. */
const USERNAMES: Record<GitKind, string> = {
  github: 'x-access-token',
  gitlab: 'oauth2',
  gitea: 'git',
  generic: 'git',
};

/** Returns the header by which git itself shows a token over https. */
export const buildGitAuthorization = (kind: GitKind, { token, username }: GitToken): string =>
  `Basic ${Buffer.from(`${username ?? USERNAMES[kind]}:${token}`).toString('base64')}`;
