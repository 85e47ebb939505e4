import { once } from 'node:events';
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { Unavailable } from '../errors.ts';
import type { Tls } from './credentials.ts';

/** An API server accepts 100 streams or more on one connection. */
const STREAMS = 90;
/**
 * Milliseconds between pings, and to wait for their answers. A dead connection is noticed within 15 seconds; client-go
 * takes 45.
 */
const PING_EVERY = 10_000;
const PING_LIMIT = 5000;
/** A stream that its reader gave up may be a sign of a dead connection, so the ping after it has a shorter limit. */
const DOUBT_LIMIT = 2000;
const CONNECT_LIMIT = 10_000;
/** Bytes that may be under way. They are enough for a burst of events, even over a slow network. */
const WINDOW = 2 ** 20;

/** A session is `doubted` while it has not answered a ping. */
type Shared = {
  session: ClientHttp2Session;
  streams: number;
  doubted: boolean;
  pinging: NodeJS.Timeout;
};

/**
 * Holds the HTTP/2 connections that carry all watches of a process. There are none if the server speaks only HTTP/1.1.
 */
export class Sessions {
  readonly #server: URL;
  readonly #tls: Tls;
  readonly #open = new Set<Shared>();
  #connecting: Promise<Shared | undefined> | undefined;

  constructor(server: URL, options: Tls) {
    this.#server = server;
    this.#tls = options;
  }

  /** Opens a stream. Returns undefined if the server has no HTTP/2. */
  async openStream(headers: http2.OutgoingHttpHeaders): Promise<ClientHttp2Stream | undefined> {
    if (this.#server.protocol !== 'https:') return undefined;
    const shared = await this.#acquireSession();
    if (shared === undefined) return undefined;
    const { session } = shared;
    const stream = session.request(headers);
    session.ref();
    shared.streams += 1;
    // The reader of the stream and the caller who waits for its answer learn of the error as well.
    stream.on('error', () => undefined);
    stream.once('close', () => {
      shared.streams -= 1;
      // An idle connection does not keep the process running.
      if (shared.streams === 0) session.unref();
      if (!stream.readableEnded) probeSession(shared);
    });
    return stream;
  }

  close(): void {
    for (const { session } of this.#open) session.destroy();
  }

  async #acquireSession(): Promise<Shared | undefined> {
    for (const shared of this.#open) if (shared.streams < STREAMS && !shared.doubted) return shared;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Shared | undefined> {
    const { hostname, port } = this.#server;
    const host = hostname.replace(/^\[|\]$/g, '');
    const name = isIP(host) === 0 ? { servername: host } : {};
    const options = {
      host,
      port: Number(port || 443),
      ALPNProtocols: ['h2', 'http/1.1'],
      ...name,
      ...this.#tls,
    };
    const socket = tls.connect(options);
    try {
      await once(socket, 'secureConnect', { signal: AbortSignal.timeout(CONNECT_LIMIT) });
    } catch (error) {
      socket.destroy();
      throw error;
    }
    if (socket.alpnProtocol !== 'h2') {
      socket.destroy();
      return undefined;
    }
    return this.#keep(
      http2.connect(this.#server, {
        createConnection: () => socket,
        settings: { initialWindowSize: WINDOW },
      }),
    );
  }

  #keep(session: ClientHttp2Session): Shared {
    session.once('connect', () => session.setLocalWindowSize(4 * WINDOW));
    const pinging = setInterval(() => testSession(session, PING_LIMIT), PING_EVERY);
    const shared: Shared = { session, streams: 0, doubted: false, pinging };
    shared.pinging.unref();
    this.#open.add(shared);
    const removeSession = (): void => {
      clearInterval(shared.pinging);
      this.#open.delete(shared);
    };
    // Every stream reports the error.
    session.on('error', () => undefined);
    session.once('goaway', removeSession);
    session.once('close', removeSession);
    return shared;
  }
}

/** Pings a session. Until it has answered, new streams use another one. */
function probeSession(shared: Shared): void {
  if (shared.doubted) return;
  shared.doubted = true;
  testSession(shared.session, DOUBT_LIMIT, () => {
    shared.doubted = false;
  });
}

/** Pings a session. If no answer comes in time, the connection is dead and its streams end. */
function testSession(session: ClientHttp2Session, limit: number, answered?: () => void): void {
  if (session.destroyed || session.closed) return;
  let isAnswered = false;
  const killSession = (): void => {
    if (!isAnswered) session.destroy(new Unavailable('the connection to the API server is dead'));
  };
  // After the process was paused, the timer fires before the data that arrived meanwhile is read.
  const late = setTimeout(() => setImmediate(killSession), limit);
  late.unref();
  session.ping((error) => {
    isAnswered = true;
    clearTimeout(late);
    if (error === null) answered?.();
    else session.destroy(error);
  });
}
