import { setTimeout as wait } from 'node:timers/promises';
import { asError, StageFailed } from '../../errors.ts';
import { apiHostOf } from './reference.ts';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

export type RegistrySettings = {
  /** The registries that are asked by plain http. */
  plainHosts: readonly string[];
  /** The folder with config.json. */
  credentials: string;
  signal: AbortSignal;
};

type Asked = { method?: string; headers?: Record<string, string>; body?: Blob | Uint8Array<ArrayBuffer> };

/** Sends a request to a registry. The address begins with a slash, or is the one that the registry has given. */
export type AskRegistry = (host: string, address: string, asked?: Asked) => Promise<Response>;

const ATTEMPTS = 4;
const PAUSE = 1000;

/**
 * Returns how registries are asked: with the credential and the kind of proof that each needs (RFC 7617, or the token
 * service of the distribution specification), and again where they are busy or do not answer.
 */
export function askRegistries(settings: RegistrySettings): AskRegistry {
  const { signal } = settings;
  const once = askOnce(settings);
  return async (host, address, asked = {}) => {
    for (let attempt = 1; ; attempt++) {
      const answer = await once(host, address, asked).catch((thrown: unknown) => asError(thrown));
      signal.throwIfAborted();
      if (answer instanceof StageFailed) throw answer;
      const isBusy = answer instanceof Error || answer.status === 429 || answer.status >= 500;
      if (!isBusy) return answer;
      if (attempt === ATTEMPTS) throw answer instanceof Error ? unreachable(host, answer) : busy(host, answer.status);
      if (answer instanceof Response) await answer.body?.cancel();
      await wait(PAUSE * attempt, undefined, { signal });
    }
  };
}

/** Asks once, and again with the proof that the registry needs. */
function askOnce({
  plainHosts,
  credentials,
  signal,
}: RegistrySettings): (host: string, address: string, asked: Asked) => Promise<Response> {
  const proofs = new Map<string, string>();
  return async (host, address, { headers = {}, ...asked }) => {
    const origin = `${plainHosts.includes(host) ? 'http' : 'https'}://${apiHostOf(host)}`;
    const url = new URL(address, origin);
    // A registry may send uploads elsewhere, where its credential has no business.
    const isOwn = url.origin === origin;
    const scope = `${host} ${url.pathname.split('/').slice(0, -2).join('/')}`;
    const send = (): Promise<Response> => {
      const proof = isOwn ? (proofs.get(scope) ?? proofs.get(host)) : undefined;
      return fetch(url, { ...asked, headers: { ...headers, ...(proof && { authorization: proof }) }, signal });
    };
    const answer = await send();
    if (answer.status !== 401 || !isOwn) return answer;
    await answer.body?.cancel();
    const challenge = answer.headers.get('www-authenticate') ?? '';
    const credential = credentialFor(credentials, host);
    if (/^basic/i.test(challenge)) {
      if (credential.basic === undefined) throw refused(host);
      proofs.set(host, `Basic ${credential.basic}`);
    } else proofs.set(scope, `Bearer ${await tokenFor({ host, challenge, credential, signal })}`);
    return send();
  };
}

type Challenged = { host: string; challenge: string; credential: RegistryCredential; signal: AbortSignal };

/** Asks the token service that the challenge names. */
async function tokenFor({ host, challenge, credential, signal }: Challenged): Promise<string> {
  const { basic, identityToken, registryToken } = credential;
  if (registryToken !== undefined) return registryToken;
  const field = (name: string): string | undefined => new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1];
  const [realm, service, scope = ''] = ['realm', 'service', 'scope'].map(field);
  if (realm === undefined || !URL.canParse(realm)) throw refused(host);
  const answer = identityToken === undefined ? await byName() : await byIdentity(identityToken);
  if (!answer.ok) throw refused(host);
  const { token, access_token: accessToken } = (await answer.json()) as { token?: string; access_token?: string };
  return token ?? accessToken ?? '';

  async function byName(): Promise<Response> {
    const url = new URL(realm!);
    if (service !== undefined) url.searchParams.set('service', service);
    // A challenge may name several scopes in one field, separated by spaces; services take each on its own.
    for (const one of scope.split(' ').filter(Boolean)) url.searchParams.append('scope', one);
    return fetch(url, { headers: basic === undefined ? {} : { authorization: `Basic ${basic}` }, signal });
  }

  async function byIdentity(identity: string): Promise<Response> {
    const form = { grant_type: 'refresh_token', client_id: 'gx-builder', refresh_token: identity, scope, ...(service && { service }) };
    return fetch(realm!, { method: 'POST', body: new URLSearchParams(form), signal });
  }
}

const refused = (host: string): StageFailed =>
  new StageFailed('PushFailed', `The registry ${host} refuses the credential: renew config.json in the Secret of the registry.`);

/** The causes of fetch hold the address and the system's word, never a header. */
const unreachable = (host: string, error: Error): StageFailed =>
  new StageFailed('PushFailed', `The registry ${host} does not answer (${causeOf(error)}): builds must be allowed to reach it.`, {
    cause: error,
  });

const busy = (host: string, status: number): StageFailed =>
  new StageFailed('PushFailed', `The registry ${host} answered ${status} each time: look into its log.`);

const causeOf = ({ cause, message }: Error): string => (cause instanceof Error ? cause.message : message);

/** A name and a password for one registry, or a token that its token service takes. */
type RegistryCredential = { basic?: string; identityToken?: string; registryToken?: string };

type AuthEntry = { auth?: string; username?: string; password?: string; identitytoken?: string; registrytoken?: string };

const FILES = ['config.json', '.dockerconfigjson'];
/** Docker's own name for its registry in such a file. */
const DOCKER_HUB = ['docker.io', 'index.docker.io', 'registry-1.docker.io'];

/**
 * Returns the credential for a registry in the config.json of a folder. Helpers that it names are programs and are not
 * run.
 */
export function credentialFor(folder: string, host: string): RegistryCredential {
  const file = FILES.map((name) => path.join(folder, name)).find((name) => existsSync(name));
  if (file === undefined) return {};
  const entry = entryOf(file, host);
  if (entry === undefined) return {};
  const { auth, username, password, identitytoken, registrytoken } = entry;
  const basic = auth || (username === undefined ? undefined : Buffer.from(`${username}:${password ?? ''}`).toString('base64'));
  return {
    ...(basic && { basic }),
    ...(identitytoken && { identityToken: identitytoken }),
    ...(registrytoken && { registryToken: registrytoken }),
  };
}

function entryOf(file: string, host: string): AuthEntry | undefined {
  let auths: Record<string, AuthEntry>;
  try {
    auths = (JSON.parse(readFileSync(file, 'utf8')) as { auths?: Record<string, AuthEntry> }).auths ?? {};
  } catch {
    // The parser's own words would show a part of the credential.
    throw new StageFailed('PushFailed', "The registry's Secret holds no valid config.json of Docker.");
  }
  const names = DOCKER_HUB.includes(host) ? DOCKER_HUB : [host];
  return Object.entries(auths).find(([key]) => names.includes(key.replace(/^https?:\/\//, '').replace(/\/.*$/, '')))?.[1];
}
