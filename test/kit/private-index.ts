import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An index of Python packages that wants a name and a password, and what others asked of it. */
export type PrivateIndex = {
  origin: string;
  /** Requests as method, path and the credential, or a dash. */
  requests: string[];
  stop(): void;
};

export type IndexFile = { name: string; content: Buffer; attributes?: string };
type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
const projectOf = ({ name }: IndexFile): string => name.split('-')[0]!.replaceAll('_', '-');

type Options = { user?: string; path?: string; json?: boolean; answer?: Answer };

/**
 * Serves files below `path`, as indexes do: pages below simple, files beside it. `answer` answers before it, if it can.
 */
export async function startPrivateIndex(
  files: readonly IndexFile[],
  options: Options = {},
): Promise<PrivateIndex> {
  const { user = '', answer = (): boolean => false } = options;
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    const basic = /^Basic (.*)$/.exec(headers.authorization ?? '')?.[1];
    const who = basic === undefined ? undefined : Buffer.from(basic, 'base64').toString();
    requests.push(`${method} ${url} ${who ?? '-'}`);
    if (answer(request, response)) return;
    // Pages of errors may repeat the request.
    if (user !== '' && who !== user)
      response.writeHead(401, { 'www-authenticate': 'Basic' }).end(`no: ${headers.authorization}`);
    else answerWithFiles(files, options, { request, response });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, stop };
}

type Exchange = { request: IncomingMessage; response: ServerResponse };

function answerWithFiles(
  files: readonly IndexFile[],
  { path = '/pypi', json = false }: Options,
  { request, response }: Exchange,
): void {
  const { url = '', headers } = request;
  const file = files.find(({ name }) => url === `${path}/files/${name}`);
  if (file !== undefined)
    return void response.setHeader('content-type', 'application/octet-stream').end(file.content);
  const found = files.filter((each) => url === `${path}/simple/${projectOf(each)}/`);
  if (found.length === 0) return void response.writeHead(404).end();
  if (json) return jsonPage(response, found, `http://${headers.host}${path}/files/`);
  const link = ({ name, content, attributes = '' }: IndexFile): string =>
    `<a href="../../files/${name}#sha256=${sha256(content)}"${attributes}>${name}</a>`;
  response
    .setHeader('content-type', 'text/html')
    .end(`<!DOCTYPE html><html><body>${found.map(link).join('\n')}</body></html>`);
}

function jsonPage(response: ServerResponse, files: readonly IndexFile[], place: string): void {
  const entries = files.map(({ name, content }) => ({
    filename: name,
    url: place + name,
    hashes: { sha256: sha256(content) },
  }));
  response.setHeader('content-type', 'application/vnd.pypi.simple.v1+json');
  response.end(
    JSON.stringify({ meta: { 'api-version': '1.1' }, name: projectOf(files[0]!), files: entries }),
  );
}
