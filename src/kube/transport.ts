import { createHash } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { Unavailable } from '../errors.ts';
import type { Credentials, Tls } from './credentials.ts';

/** Sockets for all calls together; watches have one each beside them. */
const MAX_SOCKETS = 8;
/** Idle sockets are closed before the API server closes them under a request. */
const IDLE_SOCKET = 30_000;

export type HttpRequest = {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** Milliseconds until the whole answer is there; for a stream, until its headers are. */
  timeout: number;
  signal?: AbortSignal | undefined;
};
export type HttpAnswer = { status: number; headers: http.IncomingHttpHeaders; body: string };

type Agents = { key: string; calls: http.Agent; streams: http.Agent };

/** Connections to one API server: one pool, made anew only when the certificates change. */
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
      const response = await this.#send(request, 'calls', deadline);
      return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) };
    } catch (error) {
      throw deadline.explain(error);
    } finally {
      deadline.clear();
    }
  }

  /** The answer as it comes; the caller reads it to its end or destroys it. */
  async stream(request: HttpRequest): Promise<http.IncomingMessage> {
    const deadline = new Deadline(request);
    try {
      const response = await this.#send(request, 'streams', deadline);
      deadline.stopTimer();
      response.once('close', () => deadline.clear());
      return response;
    } catch (error) {
      deadline.clear();
      throw deadline.explain(error);
    }
  }

  /** The next call reads tokens and certificates again. */
  renew(): void {
    this.#credentials.renew();
  }

  close(): void {
    this.#agents?.calls.destroy();
    this.#agents?.streams.destroy();
  }

  async #send(request: HttpRequest, pool: 'calls' | 'streams', deadline: Deadline): Promise<http.IncomingMessage> {
    const access = await this.#credentials.access();
    const agents = this.#agentsFor(access.tls);
    const { server } = this.#credentials;
    // Node sends no length with the body of a DELETE, which the API server then takes for the next request.
    const length = request.body === undefined ? {} : { 'content-length': String(Buffer.byteLength(request.body)) };
    const headers = { accept: 'application/json', 'user-agent': this.#userAgent, ...access.headers, ...request.headers, ...length };
    const sender = server.protocol === 'http:' ? http : https;
    return new Promise((resolve, reject) => {
      const target = new URL(server.pathname.replace(/\/$/, '') + request.path, server);
      const outgoing = sender.request(target, { method: request.method, headers, agent: agents[pool] });
      deadline.guard(outgoing);
      outgoing.once('response', resolve);
      outgoing.once('error', reject);
      outgoing.end(request.body);
    });
  }

  #agentsFor(tls: Tls): Agents {
    const key = createHash('sha256').update(JSON.stringify(tls)).digest('hex');
    if (this.#agents?.key === key) return this.#agents;
    this.close();
    const { Agent } = this.#credentials.server.protocol === 'http:' ? http : https;
    this.#agents = {
      key,
      calls: new Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, maxFreeSockets: MAX_SOCKETS, timeout: IDLE_SOCKET, ...tls }),
      streams: new Agent({ keepAlive: false, ...tls }),
    };
    return this.#agents;
  }
}

/** Ends a request at its time limit or when the caller gives up, and tells which of the two it was. */
class Deadline {
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  #request: http.ClientRequest | undefined;
  #late = false;

  constructor({ timeout, signal }: HttpRequest) {
    signal?.throwIfAborted();
    this.#signal = signal;
    this.#timer = setTimeout(() => {
      this.#late = true;
      this.#request?.destroy(new Error('time limit'));
    }, timeout);
    signal?.addEventListener('abort', this.#abort);
  }

  guard(request: http.ClientRequest): void {
    this.#request = request;
    if (this.#late || this.#signal?.aborted) request.destroy(new Error('ended before it was sent'));
  }

  explain(error: unknown): unknown {
    if (this.#signal?.aborted) return this.#signal.reason;
    return this.#late ? new Unavailable('the API server did not answer in time', { cause: error }) : error;
  }

  stopTimer(): void {
    clearTimeout(this.#timer);
  }

  clear(): void {
    this.stopTimer();
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => {
    this.#request?.destroy(new Error('aborted'));
  };
}

async function text(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
