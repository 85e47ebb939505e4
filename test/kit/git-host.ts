import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { runGitBackend } from '../../dev/cluster/native/git-server/cgi.ts';

export type GitHost = {
  /** The address of the repository. */
  url: string;
  /** The credentials that callers have shown. */
  shown: string[];
  stop(): Promise<void>;
};

/** Serves one repository by git's own protocol, to callers with this password alone. `moved` redirects everybody. */
export async function startGitHost(
  folder: string,
  password: string,
  moved?: string,
): Promise<GitHost> {
  const shown: string[] = [];
  const server = createServer((request, response) => {
    if (moved !== undefined)
      return void response
        .writeHead(302, { location: `${moved}${request.url?.replace('/repository', '')}` })
        .end();
    const given = request.headers.authorization;
    if (given !== undefined)
      shown.push(Buffer.from(given.replace('Basic ', ''), 'base64').toString());
    if (shown.at(-1)?.endsWith(`:${password}`) !== true || given === undefined)
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    if (request.url?.startsWith('/repository') !== true)
      return void response.writeHead(404).end('not found');
    const { pathname, search } = new URL(request.url, 'http://host');
    runGitBackend(request, response, {
      folder: `${folder}/.git`,
      path: pathname.replace('/repository', ''),
      query: search.slice(1),
    });
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
