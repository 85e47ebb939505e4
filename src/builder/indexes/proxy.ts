import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImageBuildConfig } from '../../config/jobs/image-build.ts';
import { toError } from '../../errors.ts';
import { logLine } from '../progress.ts';
import { readPageForm, replaceLinks } from './pages.ts';
import {
  IndexFault,
  toProxyAddress,
  findIndexScope,
  parseIndexScopes,
  type IndexScope,
  type ProxiedScopes,
} from './private-indexes.ts';
import { readBoundedBytes } from '../../http/bodies/bounded-bytes.ts';

type Scope = IndexScope & { at: string };
type KnownIndexes = { scopes: Scope[]; problem?: string };

/** Headers of a build that reach an index. A page is changed, so it is asked for as it is. */
const PASSED_ON = ['accept', 'range', 'if-none-match', 'if-modified-since', 'user-agent'];
/** Headers of an index that reach a build. */
const PASSED_BACK = [
  'content-type',
  'content-range',
  'accept-ranges',
  'etag',
  'last-modified',
  'cache-control',
];
const MOST_REDIRECTS = 5;
/** PyPI's own page of all packages has some 30 MB. */
const LONGEST_PAGE = 64 * 1024 * 1024;
const FILE = 'indexes.json';

/**
 * Answers requests of a build for packages of private indexes, with the credential that the build has not. It listens
 * at the loopback address, which the containers of a pod share, until it is stopped.
 */
export async function serveIndexes(
  { indexes }: ImageBuildConfig,
  signal: AbortSignal,
): Promise<undefined> {
  const server = createServer((request, response) => void answerRequest(known, request, response));
  server.listen(indexes.port, '127.0.0.1');
  await once(server, 'listening');
  const known = read(indexes, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  logLine(
    known.problem ??
      `private indexes: ${known.scopes.map(({ url, at }) => `${url.href} at ${at}`).join(', ') || 'none'}`,
  );
  if (!signal.aborted) await once(signal, 'abort');
  server.close();
  server.closeAllConnections();
}

function read({ credentials, tenant }: ImageBuildConfig['indexes'], address: string): KnownIndexes {
  const file = path.join(credentials, FILE);
  if (!existsSync(file))
    return {
      scopes: [],
      problem: `The Secret of private indexes is not there, or has no ${FILE}.`,
    };
  try {
    return {
      scopes: parseIndexScopes(readFileSync(file, 'utf8'), tenant).map((scope, at) => ({
        ...scope,
        at: `${address}/${at + 1}`,
      })),
    };
  } catch (thrown) {
    if (!(thrown instanceof IndexFault)) throw thrown;
    return { scopes: [], problem: `The Secret of private indexes has a fault: ${thrown.message}.` };
  }
}

async function answerRequest(
  known: KnownIndexes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (request.url === '/') return void response.end(JSON.stringify(toProxiedScopes(known)));
    const target = resolveTarget(known.scopes, request);
    if (target === undefined) return refuse(response, 404, 'No private index has this address.');
    await forwardRequest(known.scopes, request, response, target);
  } catch (thrown) {
    const { message, cause } = toError(thrown);
    const words = cause instanceof Error ? cause.message : message;
    logLine(`${request.method} ${request.url}: ${words}`);
    if (response.headersSent) response.destroy();
    else refuse(response, 502, words);
  }
}

const toProxiedScopes = ({ scopes, problem }: KnownIndexes): ProxiedScopes => ({
  scopes: scopes.map(({ url, at }) => ({ at, real: url.href.replace(/\/$/, '') })),
  ...(problem !== undefined && { problem }),
});

function refuse(response: ServerResponse, status: number, words: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(`${words}\n`);
}

/** Returns the address in a private index that a request asks for. It never leaves the scope of that index. */
function resolveTarget(
  scopes: readonly Scope[],
  { method = '', url = '' }: IncomingMessage,
): URL | undefined {
  const [, at, rest = ''] = /^\/(\d+)(?:\/(.*))?$/.exec(url) ?? [];
  const scope = scopes[Number(at) - 1];
  if (scope === undefined || !['GET', 'HEAD'].includes(method)) return undefined;
  const target = URL.parse(scope.url.href + rest);
  return target !== null && findIndexScope([scope], target) === scope ? target : undefined;
}

async function forwardRequest(
  scopes: readonly Scope[],
  request: IncomingMessage,
  response: ServerResponse,
  target: URL,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const { answer, address } = await followRedirects(scopes, request, target, gone.signal);
  logLine(`${request.method} ${address.origin}${address.pathname}: ${answer.status}`);
  if (answer.status >= 400) {
    // The page of an error may repeat the request, and with it the credential.
    await answer.body?.cancel();
    return refuse(response, answer.status, `The index answered ${answer.status}.`);
  }
  const headers = Object.fromEntries(
    PASSED_BACK.map((name) => [name, answer.headers.get(name)]).filter(
      ([, value]) => value !== null,
    ),
  );
  const form = readPageForm(answer.headers.get('content-type') ?? '');
  if (form === undefined || request.method === 'HEAD' || answer.status !== 200) {
    const length =
      form === undefined && !answer.headers.has('content-encoding')
        ? answer.headers.get('content-length')
        : null;
    response.writeHead(answer.status, {
      ...headers,
      ...(length !== null && { 'content-length': length }),
    });
    if (answer.body === null || request.method === 'HEAD') return void response.end();
    return pipeline(Readable.fromWeb(answer.body), response);
  }
  const page = replaceLinks(await readPage(answer), form, {
    address,
    linked: (url) => toProxyAddress(url, scopes),
  });
  response.writeHead(200, headers).end(page);
}

/** Each address gets the credential of its own scope alone, also where another one has sent the request there. */
async function followRedirects(
  scopes: readonly Scope[],
  request: IncomingMessage,
  target: URL,
  signal: AbortSignal,
): Promise<{ answer: Response; address: URL }> {
  const asked = Object.fromEntries(
    PASSED_ON.map((name) => [name, request.headers[name]]).filter(
      ([, value]) => value !== undefined,
    ),
  );
  let address = target;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const proof = findIndexScope(scopes, address)?.proof;
    const headers = {
      ...asked,
      'accept-encoding': 'identity',
      ...(proof && { authorization: proof }),
    };
    const answer = await fetch(address, {
      method: request.method ?? 'GET',
      headers,
      redirect: 'manual',
      signal,
    });
    const location = answer.headers.get('location');
    if (answer.status < 300 || answer.status === 304 || answer.status >= 400 || location === null)
      return { answer, address };
    await answer.body?.cancel();
    address = resolveRedirect(scopes, address, location);
  }
  throw new RangeError(`The index redirects more than ${MOST_REDIRECTS} times.`);
}

function resolveRedirect(scopes: readonly Scope[], from: URL, location: string): URL {
  const to = URL.parse(location, from.href);
  if (to === null || to.username !== '' || to.password !== '')
    throw new RangeError('The index redirects to an address that is not valid.');
  if (
    to.protocol !== 'https:' &&
    findIndexScope(scopes, to) === undefined &&
    from.protocol === 'https:'
  )
    throw new RangeError(`The index redirects to ${to.origin}, which is not https.`);
  return to;
}

async function readPage(answer: Response): Promise<string> {
  const bytes = await readBoundedBytes(answer.body ?? [], LONGEST_PAGE);
  if (bytes === undefined) throw new RangeError('The page of the index is too long.');
  return bytes.toString('utf8');
}
