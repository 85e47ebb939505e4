import { setTimeout as wait } from 'node:timers/promises';
import { toError, StageFailed } from '../../errors.ts';
import { getApiHost } from './reference.ts';
import { findCredential, type RegistryCredential } from './credentials.ts';

export type RegistrySettings = {
  plainHosts: readonly string[];
  /** The folder with config.json. */
  credentials: string;
  signal: AbortSignal;
};

type RegistryRequest = {
  method?: string;
  headers?: Record<string, string>;
  body?: Blob | Uint8Array<ArrayBuffer>;
};

/** Sends a request to a registry. The address begins with a slash, or is the one that the registry has given. */
export type AskRegistry = (
  host: string,
  address: string,
  asked?: RegistryRequest,
) => Promise<Response>;

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
      const answer = await once(host, address, asked).catch((thrown: unknown) => toError(thrown));
      signal.throwIfAborted();
      if (answer instanceof StageFailed) throw answer;
      const isBusy = answer instanceof Error || answer.status === 429 || answer.status >= 500;
      if (!isBusy) return answer;
      if (attempt === ATTEMPTS)
        throw answer instanceof Error
          ? buildUnreachable(host, answer)
          : new StageFailed(
              'PushFailed',
              `The registry ${host} answered ${answer.status} each time: look into its log.`,
            );
      if (answer instanceof Response) await answer.body?.cancel();
      await wait(PAUSE * attempt, undefined, { signal });
    }
  };
}

/** The repository in a path of the distribution specification. */
const REPOSITORY = /^\/v2\/(.+)\/(?:blobs|manifests|tags|referrers)\//;

/** Asks once, and again with the proof that the registry needs. */
function askOnce({
  plainHosts,
  credentials,
  signal,
}: RegistrySettings): (host: string, address: string, asked: RegistryRequest) => Promise<Response> {
  const proofs = new Map<string, string>();
  return async (host, address, { headers = {}, ...asked }) => {
    const origin = `${plainHosts.includes(host) ? 'http' : 'https'}://${getApiHost(host)}`;
    const url = new URL(address, origin);
    // A registry may send uploads elsewhere, where its credential has no business.
    const isOwn = url.origin === origin;
    const repository = REPOSITORY.exec(url.pathname)?.[1] ?? '';
    const scope = `${host}/${repository}`;
    const send = (): Promise<Response> => {
      const proof = isOwn ? proofs.get(scope) : undefined;
      return fetch(url, {
        ...asked,
        headers: { ...headers, ...(proof && { authorization: proof }) },
        signal,
      });
    };
    const answer = await send();
    if (answer.status !== 401 || !isOwn) return answer;
    await answer.body?.cancel();
    const challenge = answer.headers.get('www-authenticate') ?? '';
    const credential = findCredential(credentials, host, repository);
    if (/^basic/i.test(challenge)) {
      if (credential.basic === undefined) throw buildRefusal(host);
      proofs.set(scope, `Basic ${credential.basic}`);
    } else proofs.set(scope, `Bearer ${await fetchToken(host, challenge, credential, signal)}`);
    return send();
  };
}

async function fetchToken(
  host: string,
  challenge: string,
  credential: RegistryCredential,
  signal: AbortSignal,
): Promise<string> {
  const { basic, identityToken, registryToken } = credential;
  if (registryToken !== undefined) return registryToken;
  const readField = (name: string): string | undefined =>
    new RegExp(`${name}="([^"]*)"`).exec(challenge)?.[1];
  const [realm, service, scope = ''] = ['realm', 'service', 'scope'].map(readField);
  if (realm === undefined || !URL.canParse(realm)) throw buildRefusal(host);
  const answer =
    identityToken === undefined ? await fetchByPassword() : await fetchByIdentity(identityToken);
  if (!answer.ok) throw buildRefusal(host);
  const { token, access_token: accessToken } = (await answer.json()) as {
    token?: string;
    access_token?: string;
  };
  return token ?? accessToken ?? '';

  async function fetchByPassword(): Promise<Response> {
    const url = new URL(realm!);
    if (service !== undefined) url.searchParams.set('service', service);
    // A challenge may name several scopes in one field, separated by spaces; services take each on its own.
    for (const one of scope.split(' ').filter(Boolean)) url.searchParams.append('scope', one);
    return fetch(url, {
      headers: basic === undefined ? {} : { authorization: `Basic ${basic}` },
      signal,
    });
  }

  async function fetchByIdentity(identity: string): Promise<Response> {
    const form = {
      grant_type: 'refresh_token',
      client_id: 'gx-builder',
      refresh_token: identity,
      scope,
      ...(service && { service }),
    };
    return fetch(realm!, { method: 'POST', body: new URLSearchParams(form), signal });
  }
}

const buildRefusal = (host: string): StageFailed =>
  new StageFailed(
    'PushFailed',
    `The registry ${host} refuses the credential: renew config.json in the Secret of the registry.`,
  );

/** The causes of fetch hold the address and the system's word, never a header. */
const buildUnreachable = (host: string, error: Error): StageFailed =>
  new StageFailed(
    'PushFailed',
    `The registry ${host} does not answer (${describeCause(error)}): builds must be allowed to reach it.`,
    {
      cause: error,
    },
  );

const describeCause = ({ cause, message }: Error): string =>
  cause instanceof Error ? cause.message : message;
