import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { duplexPair, type Duplex } from 'node:stream';
import type Koa from 'koa';
import { CONNECTION_HEADERS } from '../routes/connection-headers.ts';
import { resolveClient, type Client, type Trusts } from '../callers/client.ts';

/** The origin of a request that comes from this process itself: where it began, and its caller if known. */
export type Inside<Caller> = Client & { caller?: Caller };

/** `path` has the query. */
export type InsideRequest = {
  method: string;
  path: string;
  headers: [name: string, value: string][];
  body: AsyncIterable<Uint8Array> | undefined;
  signal: AbortSignal;
};

/** Returns the origin of a request that an `InProcess` made; undefined for one that came over the network. */
export const getInside = <Caller>({ socket }: IncomingMessage): Inside<Caller> | undefined =>
  // Node types every connection of its server as one of the network.
  (socket as unknown as { inside?: Inside<Caller> }).inside;

/** Returns the client of a request. One of this process itself brings its client along. */
export const resolveRequestClient = (asked: IncomingMessage, trusts: Trusts): Client =>
  getInside(asked) ?? resolveClient(asked, asked.socket.remoteAddress, trusts);

/** Returns the client of a request that an application answers. */
export const getClient = ({ state }: Koa.Context): Client => (state as { client: Client }).client;

/**
 * Asks an application without the network. A request takes the way of any other through Node's own HTTP, over a pair of
 * streams in memory, so streams, late answers and clients that leave behave as they do elsewhere.
 */
export class InProcess<Caller> {
  readonly #server: Server;

  constructor(app: Koa) {
    this.#server = createServer(app.callback());
  }

  /** Returns the answer once its headers are there. Throws the signal's reason when it is aborted before that. */
  async ask(
    { method, path, headers, body, signal }: InsideRequest,
    inside: Inside<Caller>,
  ): Promise<IncomingMessage> {
    const [near, far] = duplexPair();
    const socket: Duplex & { inside?: Inside<unknown> } = Object.assign(far, {
      inside,
      remoteAddress: inside.source,
    });
    // Neither side hears by itself that the other was destroyed.
    near.once('close', () => socket.destroy());
    socket.once('close', () => socket.writableEnded || near.destroyed || near.push(null));
    this.#server.emit('connection', socket);
    const asked = request({
      // Node's HTTP client uses only those parts of a socket that every stream has.
      createConnection: () => near,
      method,
      path,
      headers: groupHeaders(headers),
      signal,
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    asked.once('response', resolve);
    asked.on('error', reject);
    near.on('error', reject);
    if (body === undefined) asked.end();
    else void send(body, asked);
    return promise;
  }
}

/** Sends a body as fast as it is taken. One that breaks off breaks the request off. */
async function send(
  body: AsyncIterable<Uint8Array>,
  to: ReturnType<typeof request>,
): Promise<void> {
  try {
    for await (const bytes of body) {
      if (to.destroyed) return;
      if (!to.write(bytes)) await waitForDrain(to);
    }
    to.end();
  } catch (error) {
    to.destroy(error as Error);
  }
}

const waitForDrain = (to: ReturnType<typeof request>): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      to.off('drain', finish);
      to.off('close', finish);
      resolve();
    };
    to.once('drain', finish);
    to.once('close', finish);
  });

/** These belong to a connection, which is another one from here on. */
const OF_CONNECTION = new Set(CONNECTION_HEADERS);

/** Returns the headers that belong to a message, and not to the connection that it came on. */
export const filterMessageHeaders = (
  headers: [name: string, value: string][],
): [name: string, value: string][] =>
  headers.filter(([name]) => !OF_CONNECTION.has(name.toLowerCase()));

function groupHeaders(headers: [name: string, value: string][]): Record<string, string[]> {
  // A header may have the name of a property that every object has.
  const all = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of filterMessageHeaders(headers)) (all[name] ??= []).push(value);
  return all;
}

/** Returns a message's headers as pairs, as they came. */
export const listHeaderPairs = ({ rawHeaders }: IncomingMessage): [name: string, value: string][] =>
  rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [[name, rawHeaders[at + 1]!] as [string, string]] : [],
  );
