import {
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
  type IncomingMessage,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { toError, Problem } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { CLIENT_LEFT } from './client-left.ts';
import { CONNECTION_HEADERS } from '../routes/connection-headers.ts';

/* WebSockets that another side accepts or refuses before their handshake ends, as an application of the user does. */

type Pairs = [name: string, value: string][];

export type MessageSocket = {
  /** Settles when the message is on its way, so that a slow client slows down the sender. */
  send(data: Uint8Array, isText: boolean): Promise<void>;
  close(code: number, reason: string): void;
  /** Nothing is read from the client until `resume`. */
  pause(): void;
  resume(): void;
};

/** The handlers of the client's messages, and of the end of the connection. */
export type MessagesHeard = {
  message(data: Uint8Array, isText: boolean): void;
  closed(code: number, reason: string): void;
};

export type AcceptedSocket = {
  protocol: string | undefined;
  headers: Pairs;
  connect(socket: MessageSocket): MessagesHeard;
  /** Hears instead that there is no connection: the client has left, or its handshake is not valid. */
  abandon(): void;
  /** How the caller's credentials are checked again, and each how many seconds; absent where they do not matter. */
  checks: { again: () => unknown; every: number } | undefined;
};

/** An answer instead of the connection. */
export type RefusedSocket = { status: number; headers: Pairs; body: Uint8Array };

export type OtherSockets = {
  /** Whether the path may be one of the other side's. */
  canServe(path: string): boolean;
  /** Asks the other side, until the signal. Throws a refusal as a `Problem`. */
  ask(request: IncomingMessage, signal: AbortSignal): Promise<AcceptedSocket | RefusedSocket>;
};

/** Asks the other side, and carries out its answer. Never throws. */
export async function forwardUpgrade(
  { request, stream }: { request: IncomingMessage; stream: Duplex },
  others: OtherSockets,
  accept: (accepted: AcceptedSocket) => void,
  log: Log,
): Promise<void> {
  const left = new AbortController();
  const leave = (): void => left.abort(CLIENT_LEFT);
  // A client has left when its side of the stream ends, or is readable without anything to read.
  const look = (): void => {
    if (stream.readableLength === 0) leave();
  };
  stream.once('close', leave);
  // A stream that breaks is closed, too.
  stream.on('error', () => undefined);
  stream.on('readable', look);
  const answer = await others
    .ask(request, left.signal)
    .catch((thrown: unknown) => toRefusedSocket(thrown, log));
  stream.off('readable', look).off('close', leave);
  if (left.signal.aborted) {
    // A stream of which only one end is closed would keep its server from closing.
    stream.destroy();
    if ('abandon' in answer) answer.abandon();
  } else if ('body' in answer) answerInstead(stream, answer);
  else accept({ ...answer, headers: answer.headers.filter(isValid) });
}

function toRefusedSocket(thrown: unknown, log: Log): RefusedSocket {
  const isProblem = thrown instanceof Problem;
  if (!isProblem) log.error({ err: toError(thrown) }, 'a connection could not be opened');
  const [status, detail] = isProblem
    ? [thrown.status, thrown.message]
    : [500, 'Internal Server Error'];
  const headers: Pairs = [
    ...Object.entries(isProblem ? thrown.headers : {}),
    ['content-type', 'application/json; charset=utf-8'],
  ];
  return { status, headers, body: Buffer.from(JSON.stringify({ detail })) };
}

/** Headers that this side writes itself. */
const OWN = new Set([...CONNECTION_HEADERS, 'content-length']);

function answerInstead(stream: Duplex, { status, headers, body }: RefusedSocket): void {
  const lines = headers
    .filter(([name]) => !OWN.has(name.toLowerCase()))
    .filter(isValid)
    .map(([name, value]) => `${name}: ${value}`);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...lines,
    'connection: close',
    `content-length: ${body.length}`,
  ];
  stream.once('finish', () => stream.destroy());
  stream.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]));
}

function isValid([name, value]: Pairs[number]): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
