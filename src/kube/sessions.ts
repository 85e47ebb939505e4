import { once } from 'node:events';
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { isIP } from 'node:net';
import tls from 'node:tls';
import { Unavailable } from '../errors.ts';
import type { Tls } from './credentials.ts';

/** An API server takes 100 streams on one connection, or more. */
const STREAMS = 90;
/**
 * Milliseconds between pings, and for their answer: a dead connection is noticed within 15 seconds. client-go takes 45.
 */
const PING_EVERY = 10_000;
const PING_LIMIT = 5000;
/**
 * A stream that its reader gave up may be the sign of a dead connection, so the answer to this ping is awaited for a
 * shorter time.
 */
const DOUBT_LIMIT = 2000;
const CONNECT_LIMIT = 10_000;
/** Bytes under way: enough for a burst of events, also over a slow wire. */
const WINDOW = 2 ** 20;

/** `doubted`: it was asked whether it lives, and has not answered yet. */
type Shared = { session: ClientHttp2Session; streams: number; doubted: boolean; pinging: NodeJS.Timeout };

/**
 * HTTP/2 connections that carry all watches of a process together. There are none where the server speaks only
 * HTTP/1.1.
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

  /** A new stream; undefined where the server has no HTTP/2. */
  async request(headers: http2.OutgoingHttpHeaders): Promise<ClientHttp2Stream | undefined> {
    if (this.#server.protocol !== 'https:') return undefined;
    const shared = await this.#withRoom();
    if (shared === undefined) return undefined;
    const { session } = shared;
    const stream = session.request(headers);
    session.ref();
    shared.streams += 1;
    // Who reads the stream, or waits for its answer, hears of it too.
    stream.on('error', () => undefined);
    stream.once('close', () => {
      shared.streams -= 1;
      // An idle connection keeps no process from ending.
      if (shared.streams === 0) session.unref();
      if (!stream.readableEnded) doubt(shared);
    });
    return stream;
  }

  close(): void {
    for (const { session } of this.#open) session.destroy();
  }

  async #withRoom(): Promise<Shared | undefined> {
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
    const options = { host, port: Number(port || 443), ALPNProtocols: ['h2', 'http/1.1'], ...name, ...this.#tls };
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
    return this.#keep(http2.connect(this.#server, { createConnection: () => socket, settings: { initialWindowSize: WINDOW } }));
  }

  #keep(session: ClientHttp2Session): Shared {
    session.once('connect', () => session.setLocalWindowSize(4 * WINDOW));
    const pinging = setInterval(() => ping(session, PING_LIMIT), PING_EVERY);
    const shared: Shared = { session, streams: 0, doubted: false, pinging };
    shared.pinging.unref();
    this.#open.add(shared);
    const forget = (): void => {
      clearInterval(shared.pinging);
      this.#open.delete(shared);
    };
    // Told of on every stream.
    session.on('error', () => undefined);
    session.once('goaway', forget);
    session.once('close', forget);
    return shared;
  }
}

/** Until it has answered, new streams go another way. */
function doubt(shared: Shared): void {
  if (shared.doubted) return;
  shared.doubted = true;
  ping(shared.session, DOUBT_LIMIT, () => {
    shared.doubted = false;
  });
}

/** No answer in time: the connection is dead, and its streams end. */
function ping(session: ClientHttp2Session, limit: number, answered?: () => void): void {
  if (session.destroyed || session.closed) return;
  let isAnswered = false;
  const die = (): void => {
    if (!isAnswered) session.destroy(new Unavailable('the connection to the API server is dead'));
  };
  // In a process that stood still the time is over before what has come meanwhile is read.
  const late = setTimeout(() => setImmediate(die), limit);
  late.unref();
  session.ping((error) => {
    isAnswered = true;
    clearTimeout(late);
    if (error === null) answered?.();
    else session.destroy(error);
  });
}
