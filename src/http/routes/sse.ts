import { Readable } from 'node:stream';
import { LOST_RIGHT } from '../../schema/wire/lost-right.ts';
import type { SseDialect, SseEvent } from './route.ts';

/**
 * Writes one message, with one line of JSON. Without an id, the client keeps the one that it has.
 */
export function formatSseFrame(
  message: SseEvent,
  { newline, names } = USUAL_DIALECT,
  messageId = message.id,
): string {
  const name = names ? `event: ${message.event}${newline}` : '';
  const id = messageId === undefined ? '' : `id: ${messageId}${newline}`;
  const line = 'json' in message ? message.json : (JSON.stringify(message.data) ?? 'null');
  return `${name}data: ${line}${newline}${id}${newline}`;
}

/** How streams are written, unless their protocol has a dialect of its own. */
export const USUAL_DIALECT: SseDialect = {
  newline: '\r\n',
  names: true,
  writeFailure: (message) => ({ event: 'error', data: { error: 'StreamError', message } }),
  lostRight: { event: 'error', data: LOST_RIGHT },
};

export const SSE_TYPE = 'text/event-stream';

export const SSE_HEADERS = {
  'content-type': `${SSE_TYPE}; charset=utf-8`,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

/** Returns a comment, which clients pass over. */
export const buildHeartbeat = ({ newline } = USUAL_DIALECT): string =>
  `: heartbeat${newline}${newline}`;

/**
 * Sends `filler` whenever `seconds` pass without a chunk, so that neither a client nor a proxy takes the silence for a
 * dead connection. A slow reader stops the source, as in any stream.
 */
export function addHeartbeat(
  chunks: AsyncIterable<string>,
  filler: string,
  seconds: number,
  signal: AbortSignal,
): Readable {
  const source = chunks[Symbol.asyncIterator]();
  // A client may leave before anybody reads its stream. A generator that has not begun could do nothing then.
  const first = source.next();
  first.catch(() => undefined);
  const leave = (): void => void source.return?.().catch(() => undefined);
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  return Readable.from(streamWithBeats({ source, first }, filler, seconds * 1000, signal), {
    objectMode: false,
  });
}

type BegunSource = { source: AsyncIterator<string>; first: Promise<IteratorResult<string>> };

async function* streamWithBeats(
  { source, first }: BegunSource,
  filler: string,
  every: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let next: Promise<IteratorResult<string>> | undefined = first;
  try {
    while (!signal.aborted) {
      next ??= source.next();
      const winner = await waitForFirst(next, every, signal);
      if (winner === 'silence') yield filler;
      if (typeof winner === 'string') continue;
      if (winner.done === true) return;
      next = undefined;
      yield winner.value;
    }
  } finally {
    // Nobody waits for the last chunk any more, so its failure is dropped.
    next?.catch(() => undefined);
    await source.return?.();
  }
}

/** Returns the promise's value, or which came first: silence, or the client's leaving. */
async function waitForFirst<T>(
  promise: Promise<T>,
  milliseconds: number,
  signal: AbortSignal,
): Promise<T | 'silence' | 'left'> {
  const { promise: other, resolve } = Promise.withResolvers<'silence' | 'left'>();
  const timer = setTimeout(() => resolve('silence'), milliseconds);
  const leave = (): void => resolve('left');
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([promise, other]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}
