import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json as bodyOf } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { bundlePage } from '../../../dev/console/bundle.ts';
import { parsePageAim, setPageBase } from '../../../src/console/files/place.ts';
import { PAGE_HEADERS } from '../../../src/http/routes/page-headers.ts';
import { answerOfAgent } from './fixed-agent.ts';
import { answerOfPlatform, LOG } from './fixed-platform.ts';

export type ScreensServer = {
  url: string;
  /** Whether the reader is signed in, and whether answers about deployments never come. */
  state: { isSignedIn: boolean; isSilent: boolean; isEmpty: boolean };
  stop(): void;
};

const SESSION = {
  signed_in: true,
  name: 'ann',
  subject: 'ann',
  role: 'write',
  tenant_id: 'team',
  tenants: ['team'],
  options: { api_key: true },
};
const TYPES: Record<string, string> = { js: 'text/javascript', css: 'text/css' };

/** Serves the page of the console, and always the same answers to it. */
export async function serveScreens(): Promise<ScreensServer> {
  const { files } = await bundlePage('console');
  const html = Buffer.from(files.get('index.html') ?? []).toString();
  const state = { isSignedIn: true, isSilent: false, isEmpty: false };
  const server = createServer((incoming, response) => {
    void answer(incoming, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const send = (response: ServerResponse, content: unknown): void => {
    if (content === undefined) response.writeHead(404).end('{"detail":"Not Found"}');
    else if (typeof content === 'string')
      response.writeHead(200, { 'content-type': 'text/plain' }).end(content);
    else
      response
        .writeHead(200, { 'content-type': 'application/json', etag: '"1"' })
        .end(JSON.stringify(content));
  };
  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost');
    const accept = incoming.headers.accept ?? '';
    const [, api] = /^\/console\/api\/(.*)$/.exec(pathname) ?? [];
    if (pathname === '/console/session')
      return send(
        response,
        state.isSignedIn ? SESSION : { signed_in: false, options: { api_key: true } },
      );
    if (api !== undefined) {
      const group = searchParams.get('group_by') ?? '';
      return answerApi(incoming, response, { api, accept, group });
    }
    const aim = parsePageAim(pathname);
    if (aim?.of === 'asset') {
      const content = files.get(`assets/${aim.name}`);
      const type = TYPES[aim.name.split('.').at(-1) ?? ''] ?? 'text/plain';
      response.writeHead(content === undefined ? 404 : 200, { 'content-type': type }).end(content);
      return undefined;
    }
    response
      .writeHead(200, { ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' })
      .end(setPageBase(html, aim?.of === 'page' ? aim.base : './'));
    return undefined;
  }
  async function answerApi(
    incoming: IncomingMessage,
    response: ServerResponse,
    { api, accept, group }: { api: string; accept: string; group: string },
  ): Promise<void> {
    if (accept.includes('text/event-stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: begin\ndata: {}\n\n');
      if (api.endsWith('/logs/stream'))
        for (const line of LOG) response.write(`event: log\ndata: ${JSON.stringify(line)}\n\n`);
      return;
    }
    const [, ofAgent] = /^agents\/[^/]+\/(.*)$/.exec(api) ?? [];
    const { method = 'GET' } = incoming;
    const body = method === 'POST' ? ((await bodyOf(incoming)) as Record<string, unknown>) : {};
    if (ofAgent !== undefined)
      return send(response, answerOfAgent({ method, path: ofAgent, body: body ?? {}, group }));
    const path = api.replace(/^v2\//, '');
    if (state.isSilent && path !== 'deployments') return;
    if (state.isEmpty && path === 'deployments')
      return send(response, { resources: [], offset: 0, total: 0 });
    send(response, answerOfPlatform(path, accept));
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/console/`,
    state,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
