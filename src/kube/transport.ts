import { createHash } from 'node:crypto';
import http from 'node:http';
import type { ClientHttp2Stream } from 'node:http2';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { Unavailable } from '../errors.ts';
import { getCurrentTraceHeaders } from '../trace-context.ts';
import type { Credentials, Tls } from './credentials.ts';
import { AnswerTooLong } from './errors.ts';
import { Sessions } from './sessions.ts';
import { readBoundedBytes } from '../http/bodies/bounded-bytes.ts';

/** Sockets for all calls together. If the server speaks HTTP/2, watches share one more. */
const MAX_SOCKETS = 8;
/** Idle sockets are closed before the API server closes them under a request. */
const IDLE_SOCKET = 30_000;

export type HttpRequest = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Milliseconds until the whole answer must be there; of a stream, its headers. */
  timeout: number;
  /** The bytes of an answer that its caller takes. A longer one is not read to its end. */
  mostBytes?: number | undefined;
  signal?: AbortSignal | undefined;
};
export type HttpAnswer = { status: number; headers: http.IncomingHttpHeaders; body: string };

export type Stream = Readable & { statusCode?: number | undefined };

type Agents = { tls: Tls; key: string; calls: http.Agent; streams: http.Agent; sessions: Sessions };
type Ending = { destroy(error: Error): unknown };
type Sending = { request: HttpRequest; deadline: Deadline };

/** Holds the connections to one API server: one pool, renewed only when the certificates change. */
export class Transport {
  readonly host: string;
  readonly #credentials: Credentials;
  readonly #userAgent: string;
  #agents: Agents | undefined;

  constructor(credentials: Credentials, userAgent: string) {
    this.#credentials = credentials;
    this.#userAgent = userAgent;
    this.host = credentials.server.host;
  }

  async call(request: HttpRequest): Promise<HttpAnswer> {
    const deadline = new Deadline(request);
    try {
      const response = await this.#send({ request, deadline }, 'calls');
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: await readText(response, request.mostBytes),
      };
    } catch (error) {
      throw deadline.explain(error);
    } finally {
      deadline.clear();
    }
  }

  /** Returns the answer as a stream. The caller reads it to its end or destroys it. */
  async stream(request: HttpRequest): Promise<Stream> {
    const deadline = new Deadline(request);
    try {
      const response =
        (await this.#share({ request, deadline })) ??
        (await this.#send({ request, deadline }, 'streams'));
      deadline.stopTimer();
      response.once('close', () => deadline.clear());
      return response;
    } catch (error) {
      deadline.clear();
      throw deadline.explain(error);
    }
  }

  /** Makes the next call read tokens and certificates again. */
  renew(): void {
    this.#credentials.renew();
  }

  close(): void {
    this.#agents?.calls.destroy();
    this.#agents?.streams.destroy();
    this.#agents?.sessions.close();
  }

  /** Sends a request as one of many streams on a connection. Returns undefined if the server can't do that. */
  async #share({ request, deadline }: Sending): Promise<Stream | undefined> {
    const { tls, headers } = await this.#credentials.access();
    const path = this.#credentials.server.pathname.replace(/\/$/, '') + request.path;
    const head = {
      ':method': request.method,
      ':path': path,
      accept: 'application/json',
      'user-agent': this.#userAgent,
    };
    const opening = this.#getAgents(tls).sessions.openStream({
      ...head,
      ...getCurrentTraceHeaders(),
      ...headers,
      ...request.headers,
    });
    // A stream that opens too late is closed again.
    opening.then((stream) => stream && deadline.attachRequest(stream)).catch(() => undefined);
    const stream = await Promise.race([opening, deadline.over]);
    return stream && Object.assign(stream, { statusCode: await readStatus(stream) });
  }

  async #send(
    { request, deadline }: Sending,
    pool: 'calls' | 'streams',
  ): Promise<http.IncomingMessage> {
    const access = await this.#credentials.access();
    const agents = this.#getAgents(access.tls);
    const { server } = this.#credentials;
    // Node sends no length with the body of a DELETE, so the API server would take the body for the next request.
    const length =
      request.body === undefined
        ? {}
        : { 'content-length': String(Buffer.byteLength(request.body)) };
    const own = {
      accept: 'application/json',
      'user-agent': this.#userAgent,
      ...getCurrentTraceHeaders(),
    };
    const headers = { ...own, ...access.headers, ...request.headers, ...length };
    const sender = server.protocol === 'http:' ? http : https;
    return new Promise((resolve, reject) => {
      const target = new URL(server.pathname.replace(/\/$/, '') + request.path, server);
      const outgoing = sender.request(target, {
        method: request.method,
        headers,
        agent: agents[pool],
      });
      deadline.attachRequest(outgoing);
      outgoing.once('response', resolve);
      outgoing.once('error', reject);
      outgoing.end(request.body);
    });
  }

  #getAgents(tls: Tls): Agents {
    if (this.#agents?.tls === tls) return this.#agents;
    const key = createHash('sha256').update(JSON.stringify(tls)).digest('hex');
    if (this.#agents?.key === key) return Object.assign(this.#agents, { tls });
    this.close();
    const { Agent } = this.#credentials.server.protocol === 'http:' ? http : https;
    this.#agents = {
      tls,
      key,
      calls: new Agent({
        keepAlive: true,
        maxSockets: MAX_SOCKETS,
        maxFreeSockets: MAX_SOCKETS,
        timeout: IDLE_SOCKET,
        ...tls,
      }),
      streams: new Agent({ keepAlive: false, ...tls }),
      sessions: new Sessions(this.#credentials.server, tls),
    };
    return this.#agents;
  }
}

/** Ends a request at its time limit or when the caller gives up, and says which of the two it was. */
class Deadline {
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #over = Promise.withResolvers<never>();
  #request: Ending | undefined;
  #late = false;

  constructor({ timeout, signal }: HttpRequest) {
    signal?.throwIfAborted();
    this.#signal = signal;
    this.#over.promise.catch(() => undefined);
    this.#timer = setTimeout(() => {
      this.#late = true;
      this.#end(new Error('time limit'));
    }, timeout);
    signal?.addEventListener('abort', this.#abort);
  }

  /** Rejects when time is up or the caller gives up. */
  get over(): Promise<never> {
    return this.#over.promise;
  }

  attachRequest(request: Ending): void {
    this.#request = request;
    if (this.#late || this.#signal?.aborted) request.destroy(new Error('ended before it was sent'));
  }

  explain(error: unknown): unknown {
    if (this.#signal?.aborted) return this.#signal.reason;
    return this.#late
      ? new Unavailable('the API server did not answer in time', { cause: error })
      : error;
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  clear(): void {
    this.stopTimer();
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#end(new Error('aborted'));

  #end(error: Error): void {
    this.#over.reject(error);
    this.#request?.destroy(error);
  }
}

/** Returns the status of an HTTP/2 answer once its headers have arrived. */
async function readStatus(stream: ClientHttp2Stream): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  stream.once('response', (headers) => resolve(headers[':status']));
  stream.once('error', reject);
  stream.once('close', () =>
    reject(new Unavailable('the connection was closed before the answer')),
  );
  return promise;
}

async function readText(response: http.IncomingMessage, mostBytes = Infinity): Promise<string> {
  const bytes = await readBoundedBytes(response as AsyncIterable<Buffer>, mostBytes);
  if (bytes === undefined) throw new AnswerTooLong(mostBytes);
  return bytes.toString('utf8');
}
