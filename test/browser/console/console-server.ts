import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/*
 * Does what the console process does for the page, below an unknown prefix: its files with their headers, a session
 * that holds an API key, and requests passed on with it.
 */

const ROOT = '/some/prefix/console/';
const TYPES: Record<string, string> = { js: 'text/javascript', css: 'text/css', html: 'text/html; charset=utf-8' };
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; " +
  "form-action 'self'; frame-ancestors 'none'; base-uri 'self'; object-src 'none'; require-trusted-types-for 'script'";

export type ConsoleServer = {
  url: string;
  /** Lets the page wait for answers that never come, and cuts open streams, until `mend`. */
  cut(): void;
  mend(): void;
  stop(): void;
};

/** Answers a request for a log in place of the control plane, whose API server has no pods. */
export type LogFeed = (incoming: IncomingMessage, response: ServerResponse) => void;
type Served = { folder: string; api: string; logs?: LogFeed };

/** Serves the page of a folder, for the API at an address. */
export async function serveConsole(served: Served): Promise<ConsoleServer> {
  const state = { isCut: false };
  const server = createServer((incoming, response) => {
    if (state.isCut) return void incoming.socket.destroy();
    void answer(served, incoming, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    state.isCut = true;
    server.closeAllConnections();
  };
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${ROOT}`;
  return { url, cut, mend: () => void (state.isCut = false), stop };
}

const keyOf = ({ headers }: IncomingMessage): string | undefined => /gx-console=([^;]+)/.exec(headers.cookie ?? '')?.[1];

async function answer(served: Served, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (incoming.url ?? '').slice(ROOT.length).split('?')[0] ?? '';
  if (path === 'session') return session(served, incoming, response);
  if (served.logs !== undefined && path.endsWith('/logs/stream')) return served.logs(incoming, response);
  if (path.startsWith('api/')) return pass(served, incoming, response);
  file(served.folder, path, response);
}

function file(folder: string, path: string, response: ServerResponse): void {
  const isPage = !path.startsWith('assets/');
  const base = '../'.repeat(path.split('/').length - 1) || './';
  const whole = readFileSync(join(folder, isPage ? 'index.html' : path));
  const body = isPage ? whole.toString().replace('<base href="./"', `<base href="${base}"`) : whole;
  const type = TYPES[isPage ? 'html' : (path.split('.').at(-1) ?? '')] ?? 'application/octet-stream';
  response.writeHead(200, { 'content-type': type, 'content-security-policy': POLICY }).end(body);
}

async function session({ api }: Served, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const reply = (status: number, body: object, cookie?: string): void => {
    if (cookie !== undefined) response.setHeader('set-cookie', `gx-console=${cookie}; HttpOnly; SameSite=Strict; Path=${ROOT}`);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  if (incoming.method === 'DELETE') return reply(200, { signed_in: false, reason: 'signed_out' }, '; Max-Age=0');
  const text = (await incoming.toArray()).join('');
  const key = incoming.method === 'POST' ? (JSON.parse(text) as { api_key: string }).api_key : keyOf(incoming);
  if (key === undefined || key === '') return reply(200, { signed_in: false, options: { api_key: true } });
  const whoami = await fetch(`${api}/v2/whoami`, { headers: { 'x-api-key': key } });
  if (!whoami.ok && incoming.method === 'POST') return reply(401, { detail: 'This API key is not known.' });
  if (!whoami.ok) return reply(200, { signed_in: false, reason: 'revoked', options: { api_key: true } });
  reply(200, { signed_in: true, options: { api_key: true }, ...((await whoami.json()) as object) }, key);
}

const TAKEN = ['accept', 'content-type', 'last-event-id', 'if-match', 'x-tenant-id'];

function pass({ api }: Served, incoming: IncomingMessage, response: ServerResponse): void {
  const headers = Object.fromEntries(
    TAKEN.flatMap((name) => (incoming.headers[name] === undefined ? [] : [[name, incoming.headers[name]]])),
  );
  const url = new URL((incoming.url ?? '').slice(`${ROOT}api`.length), api);
  const onward = request(url, { method: incoming.method, headers: { ...headers, 'x-api-key': keyOf(incoming) ?? '' } }, (answered) => {
    if (answered.statusCode === 401) {
      response
        .writeHead(401, { 'content-type': 'application/json' })
        .end(JSON.stringify({ detail: 'The session ended.', reason: 'revoked' }));
      answered.resume();
      return;
    }
    response.writeHead(answered.statusCode ?? 500, answered.headers);
    answered.pipe(response);
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  incoming.pipe(onward);
}
