import {
  Agent as PlainAgent,
  request as askPlain,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as SecureAgent, request as askSecure } from 'node:https';
import type { Readable } from 'node:stream';
import { Problem, Unavailable } from '../errors.ts';

/** Milliseconds within which the other side has to take a connection. */
const CONNECTS = 5000;
/** Milliseconds that an idle connection is kept: less than the control plane and agents keep it. */
const IDLE = 30_000;
/** Idle connections that are kept, of all hosts together. */
const MOST_IDLE = 256;
/** Seconds after which a page may ask again. */
const LATER = { headers: { 'retry-after': '2' } };

/** A request to another process. `path` has the query. The signal is aborted when its client has left. */
export type AskedThere = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Readable | undefined;
  signal: AbortSignal;
};

export type ProcessPlace = { host: string; port: number; isSecure: boolean };

/** `called`: the name of the other side in a refusal. `within`: milliseconds that it may take to begin an answer. */
type DoorOptions = { called: string; within?: number };

/** Asks other processes over HTTP. It follows no redirects. */
export class ProcessDoor {
  readonly #options: DoorOptions;
  readonly #agents: { plain: PlainAgent; secure: SecureAgent };

  constructor(given: DoorOptions) {
    this.#options = given;
    const options = { keepAlive: true, timeout: IDLE, maxFreeSockets: MOST_IDLE };
    this.#agents = { plain: new PlainAgent(options), secure: new SecureAgent(options) };
  }

  /** Returns the answer once its headers are there. Throws `Unavailable` if there is none. */
  async ask(place: ProcessPlace, asked: AskedThere): Promise<IncomingMessage> {
    // A request that may change something never goes over a connection that may be about to close.
    const isRepeatable = ['GET', 'HEAD'].includes(asked.method) && asked.body === undefined;
    const first = await this.#send(place, asked, isRepeatable);
    if (!(first instanceof Broken)) return first;
    const again = first.wasReused ? await this.#send(place, asked, false) : first;
    if (!(again instanceof Broken)) return again;
    throw again.problem;
  }

  close(): void {
    this.#agents.plain.destroy();
    this.#agents.secure.destroy();
  }

  #send(
    { host, port, isSecure }: ProcessPlace,
    asked: AskedThere,
    reuses: boolean,
  ): Promise<IncomingMessage | Broken> {
    const { method, path, headers, body, signal } = asked;
    const agent = isSecure ? this.#agents.secure : this.#agents.plain;
    const options: RequestOptions = {
      hostname: host,
      port,
      method,
      path,
      headers,
      agent: reuses ? agent : false,
    };
    const outgoing = isSecure ? askSecure(options) : askPlain(options);
    return sendOutgoing(outgoing, {
      body,
      signal,
      connected: isSecure ? 'secureConnect' : 'connect',
      ...this.#options,
    });
  }
}

type Failure = {
  cause: Error;
  isSent: boolean;
  wasReused: boolean;
  hasLeft: boolean;
  called: string;
};

/** A request without an answer: whether it may have been done, and whether its connection had been used before. */
class Broken {
  readonly problem: Problem;
  readonly wasReused: boolean;

  constructor({ cause, isSent, wasReused, hasLeft, called }: Failure) {
    this.wasReused = wasReused && !hasLeft;
    if (hasLeft) this.problem = new Problem(499, 'The client has left.');
    else if (!isSent)
      this.problem = new Unavailable(`${called} does not answer; try again.`, { cause });
    else {
      const words = `${called} closed the connection before it answered. It is not known whether the request was done.`;
      this.problem = new Problem(503, words, { cause, ...LATER });
    }
  }
}

/** Sends a request, its body once there is a connection. */
function sendOutgoing(
  outgoing: ClientRequest,
  {
    body,
    signal,
    connected,
    called,
    within,
  }: Pick<AskedThere, 'body' | 'signal'> & DoorOptions & { connected: 'connect' | 'secureConnect' },
): Promise<IncomingMessage | Broken> {
  return new Promise((resolve) => {
    let isSent = false;
    const leave = (): void => void outgoing.destroy(new Error('the client has left'));
    const timer = setTimeout(() => outgoing.destroy(new Error('no connection in time')), CONNECTS);
    const late =
      within === undefined
        ? undefined
        : setTimeout(() => outgoing.destroy(new Error('no answer in time')), within);
    const resolveBroken = (cause: Error): void =>
      resolve(
        new Broken({
          cause,
          isSent,
          wasReused: outgoing.reusedSocket,
          hasLeft: signal.aborted,
          called,
        }),
      );
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
    outgoing.once('response', (answer) => {
      clearTimeout(late);
      resolve(answer);
    });
    outgoing.on('error', resolveBroken);
    outgoing.once('close', () => {
      clearTimeout(timer);
      clearTimeout(late);
      // An answer that changes the protocol, which nobody asked for, ends so.
      resolveBroken(new Error('the connection was closed'));
      signal.removeEventListener('abort', leave);
    });
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}
