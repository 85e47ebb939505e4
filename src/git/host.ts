import type { GitKind } from '../schema/platform/source/git-integration.ts';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Problem, Rejected, Unavailable } from '../errors.ts';
import { sendRequest, findWay, readWholeAnswer } from '../http/outgoing/checked-request.ts';
import { describeConnectionFault } from '../http/outgoing/connection-cause.ts';
import type { GitPlaces } from './places.ts';

/** A git host to ask. `places`: where requests may go, wherever its name points by then. */
export type Host = { host: string; places: GitPlaces; kind: GitKind; apiUrl?: string | undefined };

const API_PATHS = { github: '/api/v3', gitlab: '/api/v4', gitea: '/api/v1', generic: '' };

/** Returns the address of a host's API, without a slash at its end. */
export function buildApiUrl({ kind, host, apiUrl }: Omit<Host, 'places'>): string {
  if (apiUrl !== undefined) return apiUrl.replace(/\/+$/, '');
  const base = host.replace(/\/+$/, '');
  return kind === 'github' && new URL(base).hostname === 'github.com'
    ? 'https://api.github.com'
    : `${base}${API_PATHS[kind]}`;
}

/** Milliseconds that a host may take for one answer. */
const PATIENCE = 8000;
/** Bytes of one answer: a hundred repositories of GitHub's form take some 700 KB. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_REDIRECTS = 3;

type HostRequest = {
  url: string;
  headers?: Record<string, string>;
  method?: 'GET' | 'POST';
  body?: string | Uint8Array;
  signal: AbortSignal;
};

type Answer = { status: number; headers: IncomingHttpHeaders; bytes: Buffer };
type Place = { host: string; places: GitPlaces };

/**
 * Asks a host and returns its answer whole. Redirects are followed on the same host only, so that credentials stay
 * there. The host's name is looked up for each request, which goes to the addresses that were found and may be called.
 * Throws `Unavailable` if the host does not answer, and `Rejected` if requests may not go to its address.
 */
export async function fetchFromHost(place: Place, asked: HostRequest): Promise<Answer> {
  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(PATIENCE)]);
  try {
    signal.throwIfAborted();
    // No signal ends the look-up of a name.
    const late = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    );
    return await Promise.race([followRedirects(place, asked, signal), late]);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Unavailable(
      `The git host ${place.host} ${describeConnectionFault(error)}; try again.`,
      { cause: error },
    );
  }
}

async function followRedirects(
  place: Place,
  asked: HostRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const { host } = place;
  let url: URL | undefined = new URL(asked.url);
  for (let asks = 0; url !== undefined && asks <= MOST_REDIRECTS; asks += 1) {
    const answer = await ask(url, place, { ...asked, signal });
    const { statusCode: status = 0, headers } = answer;
    const next = readRedirect(answer, url);
    if (next === undefined) {
      const bytes = await readWholeAnswer(answer, MOST_BYTES);
      if (bytes === undefined)
        throw new Rejected(
          `The answer of the git host ${host} is larger than ${MOST_BYTES} bytes, or compressed.`,
        );
      return { status, headers, bytes };
    }
    answer.destroy();
    url = next.origin === url.origin ? next : undefined;
  }
  throw new Rejected(
    `The git host ${host} redirects to another address: name that one in the integration.`,
  );
}

async function ask(
  url: URL,
  { host, places }: Place,
  { headers = {}, ...asked }: HostRequest,
): Promise<IncomingMessage> {
  const { resolveAddresses: addressesOf, proxies } = places;
  const way = await findWay(url, { isListed: places.isListed(url), addressesOf, proxies });
  if ('problem' in way) throw new Rejected(`The git host ${host} ${way.problem} (GX_GIT_HOSTS).`);
  if (way.addresses.length === 0 && way.through === undefined)
    throw new Unavailable(`The git host ${host} has no address.`);
  return sendRequest(url, { ...asked, way, headers });
}

function readRedirect(
  { statusCode = 0, headers: { location } }: IncomingMessage,
  from: URL,
): URL | undefined {
  return location === undefined || statusCode < 300 || statusCode > 399
    ? undefined
    : new URL(location, from);
}

/**
 * Asks a host's API, which answers in JSON. Throws a failure as the error that the owner of the integration should see.
 */
export async function fetchJsonFromHost(
  host: Place,
  asked: HostRequest,
): Promise<{ body: unknown; headers: IncomingHttpHeaders }> {
  const { status, headers, bytes } = await fetchFromHost(host, asked);
  refuseFailure(host, status);
  try {
    return { body: JSON.parse(bytes.toString('utf8')) as unknown, headers };
  } catch (error) {
    throw new Unavailable(
      `The git host ${host.host} does not answer in JSON: check the integration's host.`,
      {
        cause: error,
      },
    );
  }
}

/** Throws the meaning of a git host's status for the owner of the integration. */
export function refuseFailure({ host }: { host: string }, status: number): void {
  if (status < 300) return;
  if (status === 401 || status === 403)
    throw new Rejected(
      `The git host ${host} refuses the credential of the integration (${status}): renew it, or give it more rights.`,
    );
  if (status === 404)
    throw new Rejected(
      `The git host ${host} does not know this, or hides it from the integration's credential (404).`,
    );
  throw new Unavailable(`The git host ${host} answers with status ${status}; try again.`);
}
