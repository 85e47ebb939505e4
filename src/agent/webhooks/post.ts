import { request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { buildConnectionOptions, type Way } from '../../http/outgoing/checked-request.ts';
import { decideSendOutcome, type SendOutcome } from './outcome-rules.ts';

/** `way` leads to addresses that the URL's host was found to have, and that may be called, or through a proxy. */
type Post = { url: URL; way: Way; headers: Record<string, string>; body: string };

/** Milliseconds: `connect` for the connection, `whole` until the receiver has answered. `signal` gives up at once. */
type Bounds = { connect: number; whole: number; signal: AbortSignal };

/**
 * Sends one POST and returns its outcome; never fails. It follows no redirect, reads no more than the head of the
 * answer, and uses a connection of its own.
 */
export function sendPost(
  { url, way, headers, body }: Post,
  { connect, whole, signal }: Bounds,
): Promise<SendOutcome> {
  const { promise, resolve } = Promise.withResolvers<SendOutcome>();
  const isTls = url.protocol === 'https:';
  const bytes = Buffer.from(body);
  const request = (isTls ? overHttps : overHttp)(url, {
    method: 'POST',
    headers: { ...headers, 'content-length': String(bytes.length) },
    ...buildConnectionOptions(url, way),
    signal,
  });
  const settle = (outcome: SendOutcome): void => {
    for (const timer of timers) clearTimeout(timer);
    resolve(outcome);
    request.destroy();
  };
  const giveUp = (problem: string): void => settle({ sent: false, problem, again: true });
  const connecting = setTimeout(
    () => giveUp(`took no connection within ${connect / 1000} seconds`),
    connect,
  );
  const timers = [
    connecting,
    setTimeout(() => giveUp(`did not answer within ${whole / 1000} seconds`), whole),
  ];
  request.on('socket', (socket) =>
    socket.once(isTls ? 'secureConnect' : 'connect', () => clearTimeout(connecting)),
  );
  request.on('response', ({ statusCode = 0, headers: answered }) =>
    settle(decideSendOutcome(statusCode, answered['retry-after'])),
  );
  // The message of such an error may name an address inside the network, which the run's owner need not know.
  request.on('error', (error: NodeJS.ErrnoException) =>
    giveUp(`could not be reached (${error.code ?? error.name})`),
  );
  request.end(bytes);
  return promise;
}
