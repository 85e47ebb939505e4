import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import https from 'node:https';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { parse } from 'yaml';

/*
 * A reverse proxy between an operator and the API server. It understands requests, keeps a journal, and injects faults
 * by rules.
 */

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'replace' | 'delete';

/** A request as the API server would name it. */
export type Asked = {
  verb: Verb;
  resource: string;
  namespace?: string;
  name?: string;
  subresource?: string;
  path: string;
};

/** What happened to a request. Its `status` is 0 if it has no answer. `at` is in milliseconds of `performance.now`. */
export type Entry = Asked & { at: number; status: number };

/** `reset`: not sent, the connection breaks. `lost`: sent, and the connection breaks instead of the answer. */
export type Verdict =
  | 'pass'
  | 'reset'
  | 'lost'
  | { delay: number }
  | { status: number; body?: string; headers?: Record<string, string> };

export type Rules = {
  request?: (asked: Asked) => Verdict;
  /** Called for each answer before the client gets it. */
  answered?: (entry: Entry) => void;
  /** Decides what happens to one event of a watch: it passes, it is dropped, or it is late by so many milliseconds. */
  event?: (asked: Asked, line: string) => 'pass' | 'drop' | number;
};

export type FaultProxy = {
  /** A kubeconfig that leads through this proxy. */
  kubeconfig: string;
  journal: Entry[];
  /** The present faults. There are none at first. */
  rules: Rules;
  /** Breaks all connections. With `refuse`, new ones are refused until `mend`. */
  cut(options?: { refuse: boolean }): void;
  mend(): void;
  stop(): void;
};

/** Returns true for writes except of leases and events: a crash may fall between two of them. */
export const isWrite = ({ verb, resource }: Asked): boolean =>
  !['get', 'list', 'watch'].includes(verb) && !['leases', 'events'].includes(resource);

type Kubeconfig = {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
};

type Upstream = { server: string; agent: https.Agent };

export async function faultProxy(kubeconfig: string): Promise<FaultProxy> {
  const text = readFileSync(kubeconfig, 'utf8');
  const upstream = upstreamOf(parse(text) as Kubeconfig);
  const file = (name: string): Buffer => readFileSync(join(dirname(kubeconfig), name));
  const proxy: FaultProxy = { kubeconfig: '', journal: [], rules: {}, cut, mend, stop };
  const tls = { cert: file('apiserver.crt'), key: file('apiserver.key'), allowHTTP1: true };
  const server = createSecureServer(tls, (request, answer) => {
    const response = answer as object as Response;
    handle({ proxy, upstream, request, response }).catch(() => breakOff(response));
  });
  const sockets = new Set<Duplex>();
  let refuses = false;
  server.on('connection', (socket) => {
    if (refuses) return void socket.destroy();
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  proxy.kubeconfig = `${kubeconfig}.proxy-${port}`;
  writeFileSync(proxy.kubeconfig, text.replace(upstream.server, `https://127.0.0.1:${port}`));
  return proxy;

  function cut({ refuse }: { refuse: boolean } = { refuse: false }): void {
    refuses = refuse;
    for (const socket of sockets) socket.destroy();
  }
  function mend(): void {
    refuses = false;
  }
  function stop(): void {
    cut({ refuse: true });
    server.close();
    upstream.agent.destroy();
  }
}

function upstreamOf({ clusters, users }: Kubeconfig): Upstream {
  const { server, 'certificate-authority-data': ca } = clusters[0]?.cluster ?? {
    server: '',
    'certificate-authority-data': '',
  };
  const { 'client-certificate-data': cert = '', 'client-key-data': key = '' } =
    users[0]?.user ?? {};
  const pem = (data: string): Buffer => Buffer.from(data, 'base64');
  return {
    server,
    agent: new https.Agent({ keepAlive: true, ca: pem(ca), cert: pem(cert), key: pem(key) }),
  };
}

/** Like the API server, the proxy speaks HTTP/2 with clients that can, and HTTP/1.1 with the others. */
type Request = IncomingMessage | Http2ServerRequest;
/** Node gives both the same methods. */
type Response = ServerResponse & Partial<Pick<Http2ServerResponse, 'stream'>>;
type Exchange = { proxy: FaultProxy; upstream: Upstream; request: Request; response: Response };

/** Breaks the connection in the middle of an answer. */
const breakOff = (response: Response): void => void (response.stream ?? response).destroy();

async function handle({ proxy, upstream, request, response }: Exchange): Promise<void> {
  const body = await bodyOf(request);
  const asked = askedOf(request, body);
  const verdict = proxy.rules.request?.(asked) ?? 'pass';
  const note = (status: number): void => {
    const entry = { ...asked, at: performance.now(), status };
    proxy.journal.push(entry);
    proxy.rules.answered?.(entry);
  };
  if (verdict === 'reset') {
    note(0);
    return breakOff(response);
  }
  if (typeof verdict === 'object' && 'status' in verdict) {
    note(verdict.status);
    return void response
      .writeHead(verdict.status, { 'content-type': 'application/json', ...verdict.headers })
      .end(verdict.body ?? '{}');
  }
  if (typeof verdict === 'object') await wait(verdict.delay);
  const { answer, outgoing } = await send({ upstream, request, body });
  response.once('close', () => outgoing.destroy());
  if (asked.verb !== 'watch') return pass({ answer, response, note, isLost: verdict === 'lost' });
  note(answer.statusCode ?? 0);
  await relay({ proxy, asked, answer, response });
}

type Answer = {
  answer: IncomingMessage;
  response: Response;
  note: (status: number) => void;
  isLost: boolean;
};

async function pass({ answer, response, note, isLost }: Answer): Promise<void> {
  const { statusCode = 502, headers } = answer;
  const body = await bodyOf(answer);
  note(statusCode);
  if (isLost) return breakOff(response);
  const { 'transfer-encoding': _, connection: _connection, ...kept } = headers;
  response.writeHead(statusCode, { ...kept, 'content-length': body.length }).end(body);
}

async function send({
  upstream,
  request,
  body,
}: {
  upstream: Upstream;
  request: Request;
  body: Buffer;
}) {
  const own = ['host', 'connection'];
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(
      ([name]) => !own.includes(name) && !name.startsWith(':'),
    ),
  );
  const outgoing = https.request(new URL(request.url ?? '/', upstream.server), {
    method: request.method,
    headers,
    agent: upstream.agent,
  });
  outgoing.on('error', () => undefined);
  outgoing.end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { answer, outgoing };
}

type Stream = { proxy: FaultProxy; asked: Asked; answer: IncomingMessage; response: Response };

async function relay({ proxy, asked, answer, response }: Stream): Promise<void> {
  response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
  if (response.stream === undefined) response.flushHeaders();
  let rest = '';
  answer.setEncoding('utf8');
  for await (const chunk of answer as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const verdict = proxy.rules.event?.(asked, line) ?? 'pass';
      if (typeof verdict === 'number') await wait(verdict);
      if (verdict !== 'drop') response.write(`${line}\n`);
    }
  }
  response.end();
}

async function bodyOf(message: IncomingMessage | Http2ServerRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const PATCHES: Record<string, Verb> = { 'application/apply-patch+yaml': 'apply' };

function askedOf(request: Request, body: Buffer): Asked {
  const url = new URL(request.url ?? '/', 'https://proxy');
  const steps = url.pathname.split('/').filter(Boolean);
  // api/v1/... or apis/<group>/<version>/..., then perhaps namespaces/<namespace>/...
  const below = steps.slice(steps[0] === 'api' ? 2 : 3);
  const namespaced = below[0] === 'namespaces' && below.length > 2;
  const [resource = '', named, subresource] = namespaced ? below.slice(2) : below;
  const verb = verbOf(request, named, url.searchParams);
  const name = named ?? (verb === 'create' ? nameIn(body) : undefined);
  return {
    verb,
    resource,
    path: `${url.pathname}${url.search}`,
    ...(namespaced && below[1] !== undefined && { namespace: below[1] }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

function verbOf(
  { method, headers }: Request,
  name: string | undefined,
  query: URLSearchParams,
): Verb {
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'replace';
  if (method === 'DELETE') return 'delete';
  if (method === 'PATCH') return PATCHES[headers['content-type'] ?? ''] ?? 'patch';
  if (query.get('watch') === 'true') return 'watch';
  return name === undefined ? 'list' : 'get';
}

const nameIn = (body: Buffer): string | undefined =>
  (JSON.parse(body.toString('utf8')) as { metadata?: { name?: string } }).metadata?.name;
