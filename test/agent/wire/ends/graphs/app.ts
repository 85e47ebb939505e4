import { Hono } from 'hono';

/* Routes of an application whose answers, and whose requests, last. */

const encoder = new TextEncoder();

/** Says a word each fifth of a second, for as long as somebody listens. */
const words = (): ReadableStream<Uint8Array> => {
  let timer: NodeJS.Timeout;
  return new ReadableStream({
    start: (to) => void (timer = setInterval(() => to.enqueue(encoder.encode('word\n')), 200)),
    cancel: () => clearInterval(timer),
  });
};

export const app = new Hono()
  .get('/words', () => new Response(words()))
  .post('/takes', async (c) => c.text(`took ${(await c.req.text()).length}`));
