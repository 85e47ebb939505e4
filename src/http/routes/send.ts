import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type Koa from 'koa';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { buildErrorReply, isFault } from './error-body.ts';
import type { Reply, SseEvent, SseEvents, StreamForm } from './route.ts';
import { buildHeartbeat, formatSseFrame, SSE_HEADERS, USUAL_DIALECT, addHeartbeat } from './sse.ts';

/**
 * Milliseconds within which a slow answer is sent as a whole. After that its headers go ahead, so that the client
 * learns where the run is.
 */
const AT_ONCE = 50;

/**
 * Sends a handler's reply. `heartbeatSeconds`: after so much silence, a filler keeps a stream or a slow answer alive.
 */
export async function send(
  ctx: Koa.Context,
  reply: Reply,
  signal: AbortSignal,
  { heartbeatSeconds = 5, log }: { heartbeatSeconds?: number; log: Log },
): Promise<void> {
  ctx.status = reply.status;
  ctx.set(reply.headers ?? {});
  switch (reply.kind) {
    case 'json':
      ctx.type = 'application/json';
      ctx.body = JSON.stringify(reply.body) ?? 'null';
      return;
    case 'empty':
      ctx.body = null;
      ctx.status = reply.status;
      return;
    case 'text':
      ctx.type = reply.type;
      ctx.body = reply.body;
      return;
    case 'sse':
      ctx.set(SSE_HEADERS);
      ctx.body = addHeartbeat(
        formatFrames(reply.events(signal), reply, log),
        buildHeartbeat(reply.dialect),
        heartbeatSeconds,
        signal,
      );
      // The client gets its headers at once, not with the first event.
      ctx.flushHeaders();
      return;
    case 'chunks':
      ctx.type = reply.type;
      ctx.body = Readable.from(reply.chunks, { objectMode: false });
      ctx.flushHeaders();
      return;
    case 'slow-json': {
      ctx.type = 'application/json';
      const text = reply.text(signal);
      // A failure within this time is answered like any other.
      const soon = await Promise.race([
        text,
        pause(Math.min(AT_ONCE, heartbeatSeconds * 100), undefined, { ref: false }),
      ]);
      if (soon === undefined)
        await sendLate(ctx, text.catch(buildFailureFormatter(log)), heartbeatSeconds);
      else ctx.body = soon;
    }
  }
}

/** Sends the headers now, blank lines while the client waits, and the text when it is ready. */
async function sendLate(
  ctx: Koa.Context,
  text: Promise<string>,
  heartbeatSeconds: number,
): Promise<void> {
  const { res } = ctx;
  ctx.respond = false;
  res.flushHeaders();
  const beat = setInterval(() => res.write('\n'), heartbeatSeconds * 1000);
  try {
    res.end(await text);
  } finally {
    clearInterval(beat);
  }
}

/** Writes events as text. A failure after the headers are out can only be reported inside the stream. */
async function* formatFrames(
  events: SseEvents,
  { idsFrom, dialect = USUAL_DIALECT }: StreamForm,
  log: Log,
): AsyncGenerator<string> {
  let last = idsFrom;
  const formatNext = (message: SseEvent): string => {
    if (idsFrom === undefined) return formatSseFrame(message, dialect);
    last = message.id ?? last;
    return formatSseFrame(message, dialect, last);
  };
  try {
    for await (const some of events)
      yield Array.isArray(some) ? some.map(formatNext).join('') : formatNext(some);
  } catch (error) {
    if (isFault(error)) log.error({ err: error }, 'stream failed');
    yield formatNext(dialect.writeFailure(String(buildErrorReply(error, 'sentence').body.detail)));
  }
}

/**
 * Returns the body of a failure whose status 200 has already been sent. Clients recognise it by the field `__error__`.
 */
const buildFailureFormatter =
  (log: Log) =>
  (error: unknown): string => {
    if (isFault(error)) log.error({ err: error }, 'answer failed');
    return JSON.stringify({
      __error__: {
        error: toError(error).name,
        message: String(buildErrorReply(error, 'sentence').body.detail),
      },
    });
  };
