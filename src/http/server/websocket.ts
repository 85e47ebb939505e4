import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { toError, Forbidden, Problem, Unavailable } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { checkTextCost, type BodyLimits } from '../bodies/body.ts';
import { CLIENT_LEFT } from './client-left.ts';
import type { FromPage, Trusts } from '../callers/client.ts';
import { resolveRequestClient } from './in-process.ts';
import {
  forwardUpgrade,
  type AcceptedSocket,
  type MessageSocket,
  type OtherSockets,
} from './other-sockets.ts';
import { buildPathMatcher } from '../routes/path-matcher.ts';
import type { Request } from '../routes/route.ts';
import type { Origin, Surrounding } from './server.ts';
import { isRefusal } from '../routes/while-allowed.ts';

/** One client's connection. Messages are texts. */
export type TextSocket = {
  /** Settles when the text is on its way, so that a slow client slows down the sender. */
  send(text: string): Promise<void>;
  /** `code`: 1000 to 4999, see RFC 6455; the reason is cut to fit. */
  close(code: number, reason?: string): void;
};

/** A connection's handler of its client's messages. */
export type Connected = { receive: (text: string) => void };

/** The request that was upgraded; its signal is aborted when the connection ends. */
type UpgradeRequest<Caller> = Pick<
  Request<Record<string, string>, unknown, unknown, Caller>,
  'params' | 'headers' | 'forwarded' | 'caller' | 'requestId' | 'log' | 'signal'
>;

/**
 * A path whose upgrades are connections. `path` is OpenAPI's form; `check` throws for parameters that are not valid.
 */
export type SocketRoute<Caller> = {
  path: string;
  check: (params: Record<string, string>) => Record<string, string>;
  connect: (request: UpgradeRequest<Caller>, socket: TextSocket) => Connected;
};

type Options<Caller> = {
  routes: SocketRoute<Caller>[];
  log: Log;
  authenticate: (headers: IncomingHttpHeaders, origin: Origin) => Promise<Caller> | Caller;
  /** Returns how the work of a connection of the caller is done; by default, as it is. */
  surrounding?:
    | ((headers: IncomingHttpHeaders, caller: Caller) => Promise<Surrounding>)
    | undefined;
  /**
   * Called before a connection is used. Returns the function to call when it has ended, and throws a 429 for one too
   * many.
   */
  opens: (caller: Caller) => () => void;
  /** The start of the names of subprotocols that carry a secret. They are repeated only if no other is offered. */
  secretProtocols: string;
  /** Whether a page of the origin may connect by this request; clients other than browsers send no origin. */
  permits: (origin: string, request: FromPage) => boolean;
  checksAgainEvery: (caller: Caller) => number;
  /** The proxies whose word about the client counts. */
  trusts: Trusts;
  /** A message beyond these ends the connection (1009). */
  body: BodyLimits;
  /** Takes the upgrades that no route takes. */
  others: OtherSockets | undefined;
};

export type Sockets = {
  /** Ends all connections; clients come back, and find another process. */
  close(): void;
};

/** Milliseconds between two pings to each client. A client that does not answer one is gone. */
const LOOK = 30_000;
/** Bytes of a reason that a closing frame holds. */
const REASON = 123;
const GOING_AWAY = 1001;
const TOO_BIG = 1009;
/** A refusal closes with this code plus its HTTP status, because pages can't read the status of an upgrade. */
const REFUSED = 4000;

/** Serves WebSockets beside the server's other answers. */
export function serveSockets<Caller>(server: Server, options: Options<Caller>): Sockets {
  const { log, routes, others } = options;
  const elsewhere = new WeakMap<IncomingMessage, AcceptedSocket>();
  const sockets = createHandshakeServer(elsewhere, options);
  const { watch, stop } = watchClients(sockets, log);
  const patterns = routes.map((route) => ({ route, matches: buildPathMatcher(route.path) }));
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const path = new URL(request.url ?? '/', 'http://any').pathname;
    for (const { route, matches } of patterns) {
      const params = matches(path);
      if (params === undefined) continue;
      sockets.handleUpgrade(request, stream, head, (socket) => {
        // Nothing is read before the caller is known.
        socket.pause();
        watch(socket);
        void open(socket, { request, params, route }, options);
      });
      return;
    }
    if (request.headers.upgrade?.toLowerCase() === 'websocket' && others?.canServe(path) === true) {
      const accept = (accepted: AcceptedSocket): void => {
        elsewhere.set(request, accepted);
        stream.once('close', accepted.abandon);
        sockets.handleUpgrade(request, stream, head, (socket) => {
          stream.off('close', accepted.abandon);
          watch(socket);
          connectElsewhere(socket, accepted, log);
        });
      };
      void forwardUpgrade({ request, stream }, others, accept, log);
      return;
    }
    stream.once('finish', () => stream.destroy());
    stream.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
  });
  return {
    close: () => {
      stop();
      for (const socket of sockets.clients) socket.close(GOING_AWAY);
    },
  };
}

/** Asks clients from time to time whether they are there, and ends the connections of those that do not answer. */
function watchClients(
  { clients }: WebSocketServer,
  log: Log,
): { watch(socket: WebSocket): void; stop(): void } {
  const silent = new WeakSet<WebSocket>();
  const look = setInterval(() => {
    for (const socket of clients) {
      if (silent.has(socket)) socket.terminate();
      else {
        silent.add(socket);
        socket.ping();
      }
    }
  }, LOOK).unref();
  const watch = (socket: WebSocket): void => {
    socket.on('pong', () => silent.delete(socket));
    socket.on('error', (error) => log.debug({ err: error }, 'connection broke'));
  };
  return { watch, stop: () => clearInterval(look) };
}

function createHandshakeServer<Caller>(
  elsewhere: WeakMap<IncomingMessage, AcceptedSocket>,
  { body, secretProtocols }: Options<Caller>,
): WebSocketServer {
  // Browsers end a connection whose server chooses none of the protocols that they offer.
  const handleProtocols = (offered: Set<string>, request: IncomingMessage): string | false => {
    const accepted = elsewhere.get(request);
    if (accepted !== undefined) return accepted.protocol ?? false;
    return [...offered].find((name) => !name.startsWith(secretProtocols)) ?? [...offered][0] ?? '';
  };
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: body.bytes,
    clientTracking: true,
    handleProtocols,
  });
  sockets.on('headers', (lines, request) => {
    for (const [name, value] of elsewhere.get(request)?.headers ?? [])
      lines.push(`${name}: ${value}`);
  });
  return sockets;
}

/** Makes the same checks as for any request. Messages of the client wait meanwhile. */
async function open<Caller>(
  socket: WebSocket,
  {
    request,
    params,
    route,
  }: {
    request: IncomingMessage;
    params: Record<string, string>;
    route: SocketRoute<Caller>;
  },
  options: Options<Caller>,
): Promise<void> {
  const { log, authenticate, opens, permits, body, trusts } = options;
  const waiting: string[] = [];
  let receive = (text: string): void => void waiting.push(text);
  socket.on('message', (data, isBinary) => {
    const excess = isBinary ? undefined : checkTextCost(data as Buffer, body);
    if (isBinary) socket.close(1003, 'Messages must be text.');
    else if (excess !== undefined) close(socket, TOO_BIG, excess);
    else receive((data as Buffer).toString('utf8'));
  });
  const left = new AbortController();
  socket.on('close', () => left.abort(CLIENT_LEFT));
  const requestId = randomUUID();
  try {
    const { origin } = request.headers;
    const { source, forwarded } = resolveRequestClient(request, trusts);
    if (origin !== undefined && !permits(origin, { headers: request.headers, forwarded }))
      throw new Forbidden(`Pages of ${origin} may not connect.`);
    const asked = { source, method: 'GET', url: request.url ?? '/' };
    const caller = await authenticate(request.headers, asked);
    const surrounded: Surrounding =
      (await options.surrounding?.(request.headers, caller)) ?? ((work) => work());
    const leave = opens(caller);
    if (left.signal.aborted) leave();
    else left.signal.addEventListener('abort', leave, { once: true });
    const own = {
      params: route.check(params),
      headers: request.headers,
      forwarded,
      caller,
      requestId,
      log: log.child({ request_id: requestId }),
      signal: left.signal,
    };
    const authenticateAgain = (): unknown => authenticate(request.headers, asked);
    const admit = checkAgain(
      socket,
      { again: authenticateAgain, every: options.checksAgainEvery(caller), left: left.signal },
      log,
    );
    const connected = surrounded(() => route.connect(own, wrapTextSocket(socket)));
    receive = (text) => admit(() => surrounded(() => connected.receive(text)));
    for (const text of waiting.splice(0)) receive(text);
  } catch (error) {
    receive = () => undefined;
    const status = error instanceof Problem ? error.status : 500;
    if (status === 500) log.error({ err: toError(error) }, 'connection could not be opened');
    close(
      socket,
      REFUSED + status,
      error instanceof Problem ? error.message : 'Internal Server Error',
    );
  } finally {
    socket.resume();
  }
}

function connectElsewhere(socket: WebSocket, { connect, checks }: AcceptedSocket, log: Log): void {
  const heard = connect(wrapMessageSocket(socket));
  const left = new AbortController();
  const admit =
    checks === undefined
      ? (work: () => void) => work()
      : checkAgain(socket, { ...checks, left: left.signal }, log);
  socket.on('message', (data, isBinary) => admit(() => heard.message(data as Buffer, !isBinary)));
  socket.on('close', (code, reason) => {
    left.abort(CLIENT_LEFT);
    heard.closed(code, reason.toString());
  });
}

/** `every`: seconds between two checks of a connection that says nothing. */
type Checks = NonNullable<AcceptedSocket['checks']> & { left: AbortSignal };

/** Milliseconds for which a check counts for the messages of a connection. */
const CHECK_COUNTS_MS = 1000;

/**
 * Closes a connection whose credentials are refused once they are checked again: from time to time, and before a
 * message of its client counts. Returns the function that does the work of a message then, in the order of messages.
 */
function checkAgain(
  socket: WebSocket,
  { again, every, left }: Checks,
  log: Log,
): (work: () => void) => void {
  let checkedAt = performance.now();
  const refuse = (error: Problem): void => close(socket, REFUSED + error.status, error.message);
  const look = async (): Promise<void> => {
    try {
      await again();
      checkedAt = performance.now();
    } catch (error) {
      if (error instanceof Problem && isRefusal(error)) refuse(error);
      else
        log.warn(
          { err: toError(error) },
          'the credentials of a connection could not be checked again',
        );
    }
  };
  const timer = setInterval(() => void look(), every * 1000).unref();
  if (left.aborted) clearInterval(timer);
  else left.addEventListener('abort', () => clearInterval(timer), { once: true });
  const isOver = (): boolean => left.aborted || socket.readyState !== socket.OPEN;
  const waiting: (() => void)[] = [];
  const admitWaiting = async (): Promise<void> => {
    // The client's next messages stay in its socket meanwhile.
    socket.pause();
    try {
      await again();
      checkedAt = performance.now();
      while (waiting.length > 0 && !isOver()) {
        waiting[0]!();
        waiting.shift();
      }
    } catch (error) {
      // Without a check nothing is done; the client comes back, as after a 503.
      if (!(error instanceof Problem))
        log.error({ err: toError(error) }, 'a message of a connection failed');
      refuse(
        error instanceof Problem
          ? error
          : new Unavailable('The credentials of this connection can not be checked now.'),
      );
    } finally {
      waiting.length = 0;
      socket.resume();
    }
  };
  return (work) => {
    if (isOver()) return;
    const isFresh = performance.now() - checkedAt < CHECK_COUNTS_MS;
    if (isFresh && waiting.length === 0) return work();
    waiting.push(work);
    if (waiting.length === 1) void admitWaiting();
  };
}

const wrapTextSocket = (socket: WebSocket): TextSocket => ({
  send: (text) =>
    new Promise((resolve) => {
      // A client that left gets nothing, and the sender learns of that by the signal.
      socket.send(text, () => resolve());
    }),
  close: (code, reason) => close(socket, code, reason),
});

const wrapMessageSocket = (socket: WebSocket): MessageSocket => ({
  send: (data, isText) =>
    new Promise((resolve) => socket.send(data, { binary: !isText }, () => resolve())),
  close: (code, reason) => close(socket, code, reason),
  pause: () => socket.pause(),
  resume: () => socket.resume(),
});

function close(socket: WebSocket, code: number, reason = ''): void {
  let cut = reason;
  while (Buffer.byteLength(cut) > REASON) cut = cut.slice(0, -1);
  socket.close(code, cut);
}
