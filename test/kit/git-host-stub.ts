import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

type Repository = { id: number; path: string; branch: string };
type Kind = 'github' | 'gitlab' | 'gitea';

/** A stub of the listing of a git host: three forms, in pages. It is none of the real hosts. */
export type GitHostStub = {
  url: string;
  asked: { url: string; authorization: string | undefined }[];
  fail(status: number | undefined): void;
  stop(): Promise<void>;
};

const FORMS: Record<Kind, { path: RegExp; one: (repository: Repository) => object }> = {
  github: {
    path: /^\/api\/v3\/user\/repos/,
    one: ({ id, path, branch }) => ({ id, full_name: path, default_branch: branch }),
  },
  gitlab: {
    path: /^\/api\/v4\/projects/,
    one: ({ id, path, branch }) => ({ id, path_with_namespace: path, default_branch: branch }),
  },
  gitea: {
    path: /^\/api\/v1\/user\/repos/,
    one: ({ id, path, branch }) => ({ id, full_name: path, default_branch: branch }),
  },
};

/** Starts a stub that lists these repositories, two on a page. */
export async function startGitHostStub(
  kind: Kind,
  repositories: Repository[],
): Promise<GitHostStub> {
  const asked: GitHostStub['asked'] = [];
  let failure: number | undefined;
  const server = createServer((request: IncomingMessage, response) => {
    const { url = '' } = request;
    asked.push({ url, authorization: request.headers.authorization });
    const page = Number(new URL(url, 'http://stub').searchParams.get('page') ?? 1);
    const status = failure ?? (FORMS[kind].path.test(url) ? 200 : 404);
    const more = page * 2 < repositories.length;
    const next = `<http://${request.headers.host}${url.replace(/&page=\d+$/, '')}&page=${page + 1}>; rel="next"`;
    response.writeHead(status, { 'content-type': 'application/json', ...(more && { link: next }) });
    response.end(JSON.stringify(repositories.slice((page - 1) * 2, page * 2).map(FORMS[kind].one)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    fail: (status) => (failure = status),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
