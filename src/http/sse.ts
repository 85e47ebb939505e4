import { Readable } from 'node:stream';
import type { SseEvent } from './route.ts';

const NEWLINE = '\r\n';

/** One message: CRLF line ends, one line of JSON. An id only where the client may resume from it. */
export function frame(message: SseEvent): string {
  const id = message.id === undefined ? '' : `id: ${message.id}${NEWLINE}`;
  return `event: ${message.event}${NEWLINE}data: ${JSON.stringify(message.data) ?? 'null'}${NEWLINE}${id}${NEWLINE}`;
}

export const SSE_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const;

export const HEARTBEAT = `: heartbeat${NEWLINE}${NEWLINE}`;

/**
 * Text chunks with `filler` whenever `seconds` pass without one, so that neither client nor proxy takes silence for death.
 * Backpressure is the stream's own: a slow reader stops the source.
 */
export function withHeartbeat(chunks: AsyncIterable<string>, filler: string, seconds: number, signal: AbortSignal): Readable {
  const stream = Readable.from(beating(chunks, filler, seconds * 1000, signal), { objectMode: false });
  return stream;
}

async function* beating(chunks: AsyncIterable<string>, filler: string, every: number, signal: AbortSignal): AsyncGenerator<string> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    let next = source.next();
    while (!signal.aborted) {
      const winner = await firstOf(next, every);
      if (winner === undefined) {
        yield filler;
        continue;
      }
      if (winner.done === true) return;
      yield winner.value;
      next = source.next();
    }
  } finally {
    await source.return?.();
  }
}

async function firstOf<T>(promise: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}
