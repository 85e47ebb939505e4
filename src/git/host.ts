import { Problem, Rejected, Unavailable } from '../errors.ts';
import type { GitIntegration } from '../schema/git-connection.ts';

/** What is needed to ask a git host. */
export type Host = Pick<GitIntegration, 'kind' | 'apiUrl'> & { host: string };

const API_PATHS = { github: '/api/v3', gitlab: '/api/v4', gitea: '/api/v1', generic: '' };

/** Returns the address of a host's API, without a slash at its end. */
export function apiUrlOf({ kind, host, apiUrl }: Host): string {
  if (apiUrl !== undefined) return apiUrl.replace(/\/+$/, '');
  const base = host.replace(/\/+$/, '');
  return kind === 'github' && new URL(base).hostname === 'github.com' ? 'https://api.github.com' : `${base}${API_PATHS[kind]}`;
}

/** Milliseconds that a host may take for one answer. */
const PATIENCE = 8000;
/** Bytes of one answer: a hundred repositories of GitHub's form take some 700 KB. */
const MOST_BYTES = 8 * 1024 * 1024;
const MOST_REDIRECTS = 3;

type Asked = {
  url: string;
  headers?: Record<string, string>;
  method?: 'GET' | 'POST';
  body?: string | Uint8Array;
  signal: AbortSignal;
};

type Answer = { status: number; headers: Headers; bytes: Buffer };

/**
 * Asks a host and returns its answer whole. Redirects are followed on the same host only, so that credentials stay
 * there. Throws `Unavailable` if the host does not answer.
 */
export async function bytesFrom({ host }: Pick<Host, 'host'>, asked: Asked): Promise<Answer> {
  const signal = AbortSignal.any([asked.signal, AbortSignal.timeout(PATIENCE)]);
  try {
    let url: string | undefined = asked.url;
    for (let asks = 0; url !== undefined && asks <= MOST_REDIRECTS; asks += 1) {
      const response = await ask(url, asked, signal);
      const next = placeIn(response, url);
      if (next === undefined) return { status: response.status, headers: response.headers, bytes: await wholeOf(response) };
      await response.body?.cancel();
      url = next.origin === new URL(url).origin ? next.href : undefined;
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Unavailable(`The git host ${host} does not answer; try again.`, { cause: error });
  }
  throw new Rejected(`The git host ${host} sends to another place: name that one in the integration.`);
}

const ask = (url: string, { headers = {}, method = 'GET', body }: Asked, signal: AbortSignal): Promise<Response> =>
  fetch(url, { method, headers, redirect: 'manual', signal, ...(body !== undefined && { body }) });

/** Returns where an answer sends to. */
function placeIn({ status, headers }: Response, from: string): URL | undefined {
  const location = headers.get('location');
  return location === null || status < 300 || status > 399 ? undefined : new URL(location, from);
}

async function wholeOf(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Rejected(`The git host's answer is larger than ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Asks a host's API, which answers in JSON. Throws what a failure means for whoever set up the integration. */
export async function answerOf(host: Pick<Host, 'host'>, asked: Asked): Promise<{ body: unknown; headers: Headers }> {
  const { status, headers, bytes } = await bytesFrom(host, asked);
  refuseFailure(host, status);
  try {
    return { body: JSON.parse(bytes.toString('utf8')) as unknown, headers };
  } catch (error) {
    throw new Unavailable(`The git host ${host.host} answers with something else than JSON: look at the integration's host.`, {
      cause: error,
    });
  }
}

/** Throws what a status of a git host means for whoever set up the integration. */
export function refuseFailure({ host }: Pick<Host, 'host'>, status: number): void {
  if (status < 300) return;
  if (status === 401 || status === 403)
    throw new Rejected(`The git host ${host} refuses the credential of the integration (${status}): renew it, or give it more rights.`);
  if (status === 404) throw new Rejected(`The git host ${host} does not know this, or hides it from the integration's credential (404).`);
  throw new Unavailable(`The git host ${host} answers with status ${status}; try again.`);
}
