import { execFileSync, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';

export type GitHost = {
  /** The address of the repository. */
  url: string;
  /** The credentials that callers have shown. */
  shown: string[];
  stop(): Promise<void>;
};

/** Serves one repository by git's own protocol, to callers with this password alone. `moved` redirects everybody. */
export async function startGitHost(folder: string, password: string, moved?: string): Promise<GitHost> {
  const shown: string[] = [];
  const backend = `${execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim()}/git-http-backend`;
  const server = createServer((request, response) => {
    if (moved !== undefined) return void response.writeHead(302, { location: `${moved}${request.url?.replace('/repository', '')}` }).end();
    const given = request.headers.authorization;
    if (given !== undefined) shown.push(Buffer.from(given.replace('Basic ', ''), 'base64').toString());
    if (shown.at(-1)?.endsWith(`:${password}`) !== true || given === undefined)
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    if (request.url?.startsWith('/repository') !== true) return void response.writeHead(404).end('not found');
    serve(backend, folder, request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/repository`,
    shown,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Lets git's program answer, which speaks CGI (RFC 3875). */
function serve(backend: string, folder: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://host');
  const child = spawn(backend, {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: `${folder}/.git`,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname.replace('/repository', ''),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  });
  request.pipe(child.stdin);
  let head = Buffer.alloc(0);
  child.stdout.on('data', (piece: Buffer) => {
    if (response.headersSent) return void response.write(piece);
    head = Buffer.concat([head, piece]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const fields = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]);
    const status = Number(fields.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
    response.writeHead(status, Object.fromEntries(fields.filter(([name]) => name !== 'Status')));
    response.write(head.subarray(end + 4));
  });
  child.stdout.on('end', () => void response.end());
}
