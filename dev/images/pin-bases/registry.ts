import { Unhealthy } from '../../errors.ts';
import { parseRegistryPlace } from './references.ts';

/** An index of images for several processors, or one image. */
const ACCEPT = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** Milliseconds for an answer of a registry. */
const PATIENCE = 15_000;

/** Returns the digest that the registry of an image has for its tag today. */
export async function fetchImageDigest(tagged: string, scheme = 'https'): Promise<string> {
  const { registry, repository, tag } = parseRegistryPlace(tagged);
  const url = `${scheme}://${registry}/v2/${repository}/manifests/${tag}`;
  const first = await ask(url, registry);
  const answer =
    first.status === 401 ? await ask(url, registry, await fetchToken(first, registry)) : first;
  const digest = answer.headers.get('docker-content-digest') ?? '';
  if (answer.ok && /^sha256:[0-9a-f]{64}$/.test(digest)) return digest;
  throw new Unhealthy(
    `${registry} answered ${answer.status} and no digest for ${tagged}. The Dockerfile stays as it is.`,
  );
}

async function ask(url: string, registry: string, token?: string): Promise<Response> {
  const headers = {
    accept: ACCEPT,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  return sendRequest(url, registry, { method: 'HEAD', headers });
}

async function sendRequest(
  url: string,
  registry: string,
  options: RequestInit = {},
): Promise<Response> {
  try {
    return await fetch(url, { ...options, signal: AbortSignal.timeout(PATIENCE) });
  } catch (error) {
    throw new Unhealthy(
      `${registry} can't be reached from this machine, so no digest is known. The Dockerfile stays as it is.`,
      {
        cause: error,
      },
    );
  }
}

/** Returns the token that anybody gets who wants to read, from where the registry says. */
async function fetchToken(refused: Response, registry: string): Promise<string> {
  const challenge = refused.headers.get('www-authenticate') ?? '';
  const { realm, ...query } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]),
  );
  if (realm === undefined)
    throw new Unhealthy(
      `${registry} wants credentials, and doesn't say from whom. The Dockerfile stays as it is.`,
    );
  const answer = await sendRequest(`${realm}?${new URLSearchParams(query).toString()}`, registry);
  const { token, access_token } = (await answer.json().catch(() => ({}))) as {
    token?: string;
    access_token?: string;
  };
  const given = token ?? access_token;
  if (given === undefined)
    throw new Unhealthy(
      `${registry} gives nobody a token without credentials. The Dockerfile stays as it is.`,
    );
  return given;
}
