import { Agent as PlainAgent, request as askPlain, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as SecureAgent, request as askSecure } from 'node:https';
import type { Readable } from 'node:stream';
import { Problem, Unavailable } from '../errors.ts';

/** Milliseconds within which the control plane has to take a connection. */
const CONNECTS = 5000;
/** Milliseconds that an idle connection is kept: less than the control plane keeps it. */
const IDLE = 30_000;
/** Seconds after which a page may ask again. */
const LATER = { headers: { 'retry-after': '2' } };

/** A request to the control plane. `path` has the query. The signal is aborted when its client has left. */
export type AskedThere = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Readable | undefined;
  signal: AbortSignal;
};

/** Asks the control plane, and nobody else. It follows no redirects. */
export class ControlPlaneDoor {
  readonly #url: URL;
  readonly #isSecure: boolean;
  readonly #agent: PlainAgent;

  constructor(url: URL) {
    this.#url = url;
    this.#isSecure = url.protocol === 'https:';
    const options = { keepAlive: true, timeout: IDLE };
    this.#agent = this.#isSecure ? new SecureAgent(options) : new PlainAgent(options);
  }

  /** Returns the answer once its headers are there. Throws `Unavailable` if there is none. */
  async ask(asked: AskedThere): Promise<IncomingMessage> {
    // A request that may change something never goes over a connection that may be about to close.
    const isRepeatable = ['GET', 'HEAD'].includes(asked.method) && asked.body === undefined;
    const first = await this.#send(asked, isRepeatable);
    if (!(first instanceof Broken)) return first;
    const again = first.wasReused ? await this.#send(asked, false) : first;
    if (!(again instanceof Broken)) return again;
    throw again.problem;
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.#agent.destroy();
  }

  #send({ method, path, headers, body, signal }: AskedThere, reuses: boolean): Promise<IncomingMessage | Broken> {
    const { hostname, port, pathname } = this.#url;
    const options: RequestOptions = {
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (this.#isSecure ? 443 : 80) : port,
      method,
      path: `${pathname.replace(/\/$/, '')}${path}`,
      headers,
      agent: reuses ? this.#agent : false,
    };
    const outgoing = this.#isSecure ? askSecure(options) : askPlain(options);
    return answerTo(outgoing, { body, signal, connected: this.#isSecure ? 'secureConnect' : 'connect' });
  }
}

/** A request without an answer: whether it may have been done, and whether its connection had been used before. */
class Broken {
  readonly problem: Problem;
  readonly wasReused: boolean;

  constructor({ cause, isSent, wasReused, hasLeft }: { cause: Error; isSent: boolean; wasReused: boolean; hasLeft: boolean }) {
    this.wasReused = wasReused && !hasLeft;
    if (hasLeft) this.problem = new Problem(499, 'The client has left.');
    else if (!isSent) this.problem = new Unavailable('The control plane does not answer; try again.', { cause });
    else {
      const words = 'The control plane broke off before it answered. It is not known whether the request was done.';
      this.problem = new Problem(503, words, { cause, ...LATER });
    }
  }
}

type Sending = Pick<AskedThere, 'body' | 'signal'> & { connected: 'connect' | 'secureConnect' };

/** Sends a request, its body once there is a connection. */
function answerTo(outgoing: ClientRequest, { body, signal, connected }: Sending): Promise<IncomingMessage | Broken> {
  return new Promise((resolve) => {
    let isSent = false;
    const leave = (): void => void outgoing.destroy(new Error('the client has left'));
    const timer = setTimeout(() => outgoing.destroy(new Error('no connection in time')), CONNECTS);
    const send = (): void => {
      clearTimeout(timer);
      isSent = true;
      if (body === undefined) outgoing.end();
      else body.pipe(outgoing);
    };
    outgoing.once('socket', (socket) => {
      if (socket.connecting) socket.once(connected, send);
      else send();
    });
    outgoing.once('response', (answer) => resolve(answer));
    outgoing.on('error', (cause) => resolve(new Broken({ cause, isSent, wasReused: outgoing.reusedSocket, hasLeft: signal.aborted })));
    outgoing.once('close', () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', leave);
    });
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}
