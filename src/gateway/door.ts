import {
  createServer,
  request as ask,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { toError, NotFound, Problem } from '../errors.ts';
import {
  resolveClient,
  isOfProxies,
  buildForwardedHeaders,
  type Trusts,
} from '../http/callers/client.ts';
import { CONNECTION_HEADERS } from '../http/routes/connection-headers.ts';
import { listHeaderPairs } from '../http/server/in-process.ts';
import { SIGNATURE_HEADER, type ClientSigner } from '../http/callers/signed-client.ts';
import type { BeginsSpan } from '../http/server/request-spans.ts';
import { answerUnreadable } from '../http/server/unreadable.ts';
import type { Log } from '../log.ts';
import { getCurrentTraceHeaders, runInTrace, type TraceContext } from '../trace-context.ts';
import { buildWorkPath } from '../schema/wire/work-report.ts';
import type { HeldRequests } from './held-requests.ts';
import type { KnownDeployment } from './known-deployments.ts';
import type { AgentPlace, Waking } from './waking.ts';
import type { WakingCallers } from './waking-callers.ts';

export type DoorParts = {
  find: () => KnownDeployment | undefined;
  callers: WakingCallers;
  waking: Waking;
  held: HeldRequests;
  /** The proxies whose word about the client counts. */
  trusts: Trusts;
  signer: ClientSigner;
  begins?: BeginsSpan | undefined;
  log: Log;
};

/** Bytes of address and headers, as an agent server takes them. */
const HEADER_LIMIT = 65_536;
/**
 * Headers that do not go on. The form of a body does: without its name, Node would send one of a DELETE with no
 * end.
 */
const OF_CONNECTION = CONNECTION_HEADERS.filter((name) => name !== 'transfer-encoding');
/** How often a request is sent that no pod has answered yet. */
const TRIES = 20;
/** Requests that change nothing, so that one whose pod died may be sent to the next. */
const REPEATABLE = ['GET', 'HEAD'];
/** Seconds after which the client of a broken request may come back. */
const BROKEN_OFF = 2;

/**
 * Answers in place of one deployment that sleeps, on a port of its own, because a request does not always name its
 * deployment. It lets in callers who may call the deployment, holds the request until the deployment answers, and
 * passes it on. The body stays with the client until then.
 */
export function openDoor(parts: DoorParts): Server {
  const server = createServer(
    { maxHeaderSize: HEADER_LIMIT },
    (incoming, answer) => void answerRequest(parts, incoming, answer),
  );
  server.on(
    'upgrade',
    (incoming, socket, head) => void forwardSocket(parts, incoming, socket, head),
  );
  answerUnreadable(server);
  server.requestTimeout = 0;
  return server;
}

async function answerRequest(
  parts: DoorParts,
  incoming: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  try {
    if (answerHere(incoming, answer)) return;
    await runInTrace(beginSpan(parts, incoming, answer), async () => {
      const asked = readClient(incoming, parts);
      const deployment = await admitCaller(parts, incoming, asked);
      await forwardRequest(
        parts,
        { rewritten: () => asked.rewritten(deployment), incoming, answer },
        deployment,
      );
    });
  } catch (error) {
    refuse(answer, toProblem(error, parts.log));
  }
}

/** Begins the span of a request, which ends with its answer. Returns its place in the trace. */
function beginSpan(
  { begins }: DoorParts,
  { method = '', url = '', headers }: IncomingMessage,
  answer: ServerResponse,
): TraceContext | undefined {
  const span = begins?.({ method, path: url.split('?')[0] ?? '', headers });
  if (span !== undefined)
    answer.once('close', () =>
      span.end({ route: 'through the gateway', status: answer.statusCode }),
    );
  return span?.place;
}

/** Answers requests that the deployment need not see: probes of monitors, and CORS preflights of browsers. */
function answerHere(
  { method, url = '', headers }: IncomingMessage,
  answer: ServerResponse,
): boolean {
  const path = url.split('?')[0] ?? '';
  if (method === 'GET' && path.endsWith('/ok')) {
    answer.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"asleep":true}');
    return true;
  }
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
  // It carries no key. The request that follows does, and the deployment itself decides what the page may read.
  answer
    .writeHead(204, {
      'access-control-allow-origin': headers.origin ?? '*',
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
      'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
      vary: 'origin, access-control-request-headers',
    })
    .end();
  return true;
}

type RequestSource = {
  source: string;
  rewritten: (deployment: KnownDeployment) => Record<string, string>;
};

function readClient(incoming: IncomingMessage, { trusts, signer }: DoorParts): RequestSource {
  const { headers, socket, method, url } = incoming;
  const client = resolveClient(incoming, socket.remoteAddress, trusts);
  const word = buildForwardedHeaders(client, headers);
  /** It is signed when it is sent: a request may have been held for longer than a signature counts. */
  const signHeaders = ({ namespace, name }: KnownDeployment): Record<string, string> => {
    const signing = { of: buildWorkPath(namespace, name), at: Math.floor(Date.now() / 1000) };
    return {
      ...word,
      ...getCurrentTraceHeaders(),
      [SIGNATURE_HEADER]: signer.sign({ headers: word, method, url }, signing),
    };
  };
  return { source: client.source, rewritten: signHeaders };
}

async function admitCaller(
  { find, callers }: DoorParts,
  { headers }: IncomingMessage,
  { source }: RequestSource,
): Promise<KnownDeployment> {
  const deployment = find();
  if (deployment === undefined) throw new NotFound('There is no such deployment.');
  await callers.admit(deployment, { headers, source });
  return deployment;
}

type Exchange = {
  rewritten: () => Record<string, string>;
  incoming: IncomingMessage;
  answer: ServerResponse;
};

async function forwardRequest(
  { held, waking }: DoorParts,
  exchange: Exchange,
  deployment: KnownDeployment,
): Promise<void> {
  const left = waitForClose(exchange.answer);
  for (let tried = 1; ; tried += 1) {
    const place = await held.hold(deployment, () => waking.waitForPlace(deployment.key), left);
    if (place === undefined || exchange.answer.destroyed) return;
    if (await forwardOnce(exchange, place)) return;
    if (tried === TRIES)
      throw new Problem(503, 'The deployment does not accept requests yet.', {
        headers: { 'retry-after': '5' },
      });
  }
}

const waitForClose = (stream: ServerResponse | Duplex): Promise<undefined> =>
  new Promise((resolve) => {
    stream.once('close', () => resolve(undefined));
    if (stream.destroyed) resolve(undefined);
  });

/** Passes a request on. Returns false if it may be sent again: nothing of it was sent, or it changes nothing. */
function forwardOnce(
  { rewritten, incoming, answer }: Exchange,
  { host, port }: AgentPlace,
): Promise<boolean> {
  const { method, url, headers } = incoming;
  const kept = Object.entries(headers).filter(
    ([name]) => !OF_CONNECTION.includes(name) && !isOfProxies(name),
  );
  return new Promise((resolve, reject) => {
    const outgoing = ask({
      host,
      port,
      method,
      path: url,
      headers: { ...Object.fromEntries(kept), ...rewritten() },
      agent: false,
    });
    let isSent = false;
    const leave = (): void => {
      if (!answer.writableFinished) outgoing.destroy();
      resolve(true);
    };
    answer.once('close', leave);
    outgoing.once('socket', (socket) =>
      socket.once('connect', () => {
        isSent = true;
        incoming.pipe(outgoing);
      }),
    );
    outgoing.once('response', (got) => {
      const sent = Object.entries(got.headers).filter(([name]) => !OF_CONNECTION.includes(name));
      answer.writeHead(got.statusCode ?? 502, got.statusMessage, Object.fromEntries(sent));
      answer.flushHeaders();
      got.pipe(answer);
      // An answer that breaks off must not look complete.
      got.once('aborted', () => answer.destroy());
    });
    outgoing.once('error', (error) => {
      answer.off('close', leave);
      if (answer.headersSent) {
        answer.destroy();
        resolve(true);
      } else if (!isSent || isRepeatable(incoming)) resolve(false);
      else reject(buildBrokenOff(error));
    });
  });
}

/** A request with a body can't be repeated, because the bytes that were read are gone. */
const isRepeatable = ({ method = '', headers }: IncomingMessage): boolean =>
  REPEATABLE.includes(method) &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined;

const buildBrokenOff = (cause: Error): Problem =>
  new Problem(
    503,
    'The pod that took the request ended before it answered. It is not known whether it did its work.',
    {
      cause,
      headers: { 'retry-after': String(BROKEN_OFF) },
    },
  );

/** Passes on a request for a WebSocket, once the deployment answers. */
async function forwardSocket(
  parts: DoorParts,
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  try {
    const asked = readClient(incoming, parts);
    const deployment = await admitCaller(parts, incoming, asked);
    const place = await parts.held.hold(
      deployment,
      () => parts.waking.waitForPlace(deployment.key),
      waitForClose(socket),
    );
    if (place === undefined) return;
    const outgoing = connect(place);
    const kept = listHeaderPairs(incoming).filter(([name]) => !isOfProxies(name));
    const lines = [...kept, ...Object.entries(asked.rewritten(deployment))].map(
      ([name, value]) => `${name}: ${value}`,
    );
    outgoing.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    outgoing.write(head);
    outgoing.once('error', () => socket.destroy());
    socket.once('close', () => outgoing.destroy());
    outgoing.pipe(socket).pipe(outgoing);
  } catch (error) {
    const { status, message, headers } = toProblem(error, parts.log);
    const body = JSON.stringify({ detail: message });
    const all = Object.entries({
      ...headers,
      'content-type': 'application/json',
      connection: 'close',
    });
    const lines = all.map(([name, value]) => `${name}: ${value}`).join('\r\n');
    socket.end(
      `HTTP/1.1 ${status} Refused\r\n${lines}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
}

function toProblem(error: unknown, log: Log): Problem {
  if (error instanceof Problem) return error;
  log.error({ err: toError(error) }, 'a request for a deployment that sleeps failed');
  return new Problem(500, 'Internal Server Error');
}

function refuse(answer: ServerResponse, { status, message, headers }: Problem): void {
  if (answer.headersSent) return void answer.destroy();
  // The rest of the body is not read.
  answer.writeHead(status, { 'content-type': 'application/json', connection: 'close', ...headers });
  answer.end(JSON.stringify({ detail: message }));
}
