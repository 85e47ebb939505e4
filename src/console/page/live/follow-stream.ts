import type { ApiRequest } from '../api/api-request.ts';
import { RequestRefused, type Calls } from '../api/calls.ts';
import { pauseBefore } from './backoff.ts';
import { readEventBlocks, type StreamMessage } from './event-blocks.ts';

/** How the connection is. `since` is when it was lost, in milliseconds. */
export type Connection =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'offline'; since: number };

/** Servers send a sign of life every five seconds. After three missed ones, nothing stands behind the connection. */
const SILENCE = 15_000;

export type StreamFollowing = {
  calls: Calls;
  path: string;
  query?: ApiRequest['query'];
  after: string | undefined;
  signal: AbortSignal;
  message: (message: StreamMessage) => void;
  /** Is called with each piece that comes, signs of life among them. */
  beat?: () => void;
  state: (connection: Connection) => void;
};

/**
 * Follows an event stream until the signal aborts or a message says that it has ended. It connects again and goes on
 * behind the last message. Throws `RequestRefused` where trying again is no use.
 */
export async function followStream(following: StreamFollowing): Promise<void> {
  const { signal, state } = following;
  const place = { after: following.after, ended: false };
  let attempt = 0;
  let since: number | undefined;
  state({ kind: 'connecting' });
  while (!signal.aborted && !place.ended) {
    try {
      await readOnce(following, place, () => {
        attempt = 0;
        since = undefined;
        state({ kind: 'live' });
      });
    } catch (error) {
      if (error instanceof RequestRefused && error.status < 500 && error.status !== 429)
        throw error;
    }
    if (signal.aborted || place.ended) return;
    since ??= Date.now();
    if (attempt > 0) state({ kind: 'offline', since });
    await pauseOrNews(pauseBefore(attempt, Math.random()), signal);
    attempt += 1;
  }
}

async function readOnce(
  following: StreamFollowing,
  place: { after: string | undefined; ended: boolean },
  live: () => void,
): Promise<void> {
  const { calls, path, query, signal, message, beat } = following;
  const silent = new AbortController();
  const isOver = AbortSignal.any([signal, silent.signal]);
  let timer = setTimeout(() => silent.abort(), SILENCE);
  const noteBeat = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silent.abort(), SILENCE);
    beat?.();
  };
  try {
    const response = await calls.open(`api/${path}`, {
      ...(query !== undefined && { query }),
      headers: {
        accept: 'text/event-stream',
        ...(place.after !== undefined && { 'last-event-id': place.after }),
      },
      signal: isOver,
    });
    live();
    for await (const { event, id, text } of readEventBlocks(readPieces(response, noteBeat))) {
      place.after = id ?? place.after;
      if (event === 'end') place.ended = true;
      message({ event, id, data: JSON.parse(text) as unknown });
    }
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

/** Yields the texts of a body. Each is a sign of life. */
async function* readPieces(
  { body }: Response,
  noteBeat: () => void,
): AsyncGenerator<string, void, undefined> {
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    noteBeat();
    yield piece;
  }
}

/** Waits so long, or until the network or the reader comes back. */
function pauseOrNews(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = new AbortController();
  const options = { signal: over.signal };
  const timer = setTimeout(resolve, milliseconds);
  addEventListener('online', () => resolve(), options);
  document.addEventListener(
    'visibilitychange',
    () => document.visibilityState === 'visible' && resolve(),
    options,
  );
  signal.addEventListener('abort', () => resolve(), options);
  return promise.finally(() => {
    clearTimeout(timer);
    over.abort();
  });
}
