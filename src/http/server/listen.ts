import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import type Koa from 'koa';
import { StartError } from '../../errors.ts';
import { readFirstPair, followCertificate, type ServedCertificate } from './certificate.ts';
import { answerUnreadable } from './unreadable.ts';

/** Milliseconds that an idle connection is kept open. */
const KEEP_ALIVE = 75_000;

/**
 * Bytes of address and headers. A bulk request with a hundred ids needs a third of it, so that one with too
 * many ids gets a 422 that says so.
 */
const HEADER_LIMIT = 65_536;

/**
 * Milliseconds within which a busy client sends its next request. The answer to that tells it to use another
 * connection.
 */
const NEXT = 1000;

/** Milliseconds between two searches for connections that fell idle while closing. */
const SWEEP = 50;

export type ListeningServer = {
  port: number;
  server: Server;
  /** From now on each answer asks its client to come back on another connection, which leads to another process. */
  sendAway: () => void;
  /** Requests whose answer has not begun. */
  unanswered: () => number;
  /** True when clients may be about to ask again, because an answer left its connection open within the last second. */
  mayBeAsked: () => boolean;
  stop: (graceMilliseconds: number) => Promise<void>;
};

type ListenOptions = {
  host: string;
  port: number;
  /** With TLS, the files are looked at again while the server runs. Without, it speaks plain HTTP. */
  tls?: ServedCertificate | undefined;
  /** The settings that choose the port, for the sentence about one in use. */
  portSettings?: string;
};

/** Opens the port (0 = any free one). A port in use, or not allowed, is a `StartError` that names it. */
export async function listen(app: Koa, options: ListenOptions): Promise<ListeningServer> {
  const { server, unfollow } = await createAppServer(app, options);
  const open = new Set<ServerResponse>();
  let leftOpen = -Infinity;
  server.on('request', (_, answer) => {
    open.add(answer);
    answer.once('close', () => {
      open.delete(answer);
      if (
        answer.writableFinished &&
        answer.shouldKeepAlive &&
        answer.getHeader('connection') !== 'close'
      )
        leftOpen = performance.now();
    });
  });
  answerUnreadable(server);
  server.keepAliveTimeout = KEEP_ALIVE;
  server.headersTimeout = KEEP_ALIVE + 5_000;
  server.requestTimeout = 300_000;
  await openPort(server, options).catch((error: NodeJS.ErrnoException) => {
    throw listenError(error, options);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const sendAway = (): void => {
    server.prependListener('request', (_, answer) => answer.setHeader('connection', 'close'));
  };
  const countUnanswered = (): number => [...open].filter(({ headersSent }) => !headersSent).length;
  const mayBeAsked = (): boolean => performance.now() - leftOpen < NEXT;
  const stop = async (grace: number): Promise<void> => {
    unfollow();
    await close(server, { grace, mayBeAsked });
  };
  return { port, server, sendAway, unanswered: countUnanswered, mayBeAsked, stop };
}

/** Errors on a machine whose kernel has no IPv6. */
const NO_IPV6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL']);

/** Listens. A host of `::` means both families, and IPv4 alone on a machine that has no other. */
async function openPort(server: Server, { host, port }: ListenOptions): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    if (host !== '::' || !NO_IPV6.has(String((error as NodeJS.ErrnoException).code))) throw error;
    await openPort(server, { host: '0.0.0.0', port });
  }
}

async function createAppServer(
  app: Koa,
  { tls }: ListenOptions,
): Promise<{ server: Server; unfollow: () => void }> {
  const limits = { maxHeaderSize: HEADER_LIMIT };
  if (tls === undefined)
    return { server: createServer(limits, app.callback()), unfollow: () => undefined };
  const first = await readFirstPair(tls.files);
  const server = createTlsServer({ ...limits, ...first }, app.callback());
  return { server, unfollow: followCertificate(server, { ...tls, first }) };
}

function listenError(
  error: NodeJS.ErrnoException,
  { host, port, portSettings = 'GX_SERVER_PORT or --port' }: ListenOptions,
): StartError {
  if (error.code === 'EADDRINUSE')
    return new StartError(
      `Port ${port} on ${host} is in use: choose another one (${portSettings}).`,
      { cause: error },
    );
  if (error.code === 'EACCES')
    return new StartError(
      `Port ${port} on ${host} needs permissions that this process does not have.`,
      { cause: error },
    );
  return new StartError(`Can't listen on ${host}:${port}: ${error.message}`, { cause: error });
}

/**
 * Stops taking connections. Idle ones close as soon as nobody is about to use them, busy ones after their answer, and
 * all of them when the grace period is over.
 */
async function close(
  server: Server,
  { grace, mayBeAsked }: { grace: number; mayBeAsked: () => boolean },
): Promise<void> {
  const end = performance.now() + grace;
  while (mayBeAsked() && performance.now() < end) await wait(SWEEP);
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A connection that was busy when closing began falls idle after its answer, and would be kept for another request.
  const sweep = setInterval(() => {
    if (!mayBeAsked()) server.closeIdleConnections();
  }, SWEEP);
  const timer = setTimeout(
    () => server.closeAllConnections(),
    Math.max(0, end - performance.now()),
  );
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
}
