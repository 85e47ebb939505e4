import { setTimeout as wait } from 'node:timers/promises';
import { Client } from '@langchain/langgraph-sdk';
import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';

/* Routes of a user, with middleware around all others. */

const never = (): never => {
  for (;;);
};

let left = 0;

export const app = new Hono()
  .use(async (c, next) => {
    if (c.req.query('stop') !== undefined) return c.json({ stopped: true }, 418);
    await next();
    c.header('x-middleware', 'seen');
  })
  .use('/threads', async (c, next) => {
    const owner = c.req.header('x-owner');
    if (owner !== undefined) {
      const body = await c.req.json<Record<string, unknown>>();
      c.req.bodyCache.json = Promise.resolve({ ...body, metadata: { owner } }) as never;
    }
    await next();
  })
  .use('/threads', async (c, next) => {
    const label = c.req.header('x-label');
    if (label !== undefined) {
      const body = await c.req.json<Record<string, unknown>>().catch(() => undefined);
      if (body !== undefined) body['metadata'] = { label };
    }
    await next();
  })
  .use('/threads', async (c, next) => {
    const more = c.req.header('x-more');
    if (more !== undefined) {
      const { metadata } = await c.req.json<{ metadata: object }>();
      c.req.bodyCache.text = Promise.resolve(
        JSON.stringify({ metadata: { ...metadata, more } }),
      ) as never;
    }
    await next();
  })
  .use('/threads/search', async (c, next) => {
    if (c.req.header('x-replace') !== undefined)
      c.req.raw = new Request(c.req.raw, { body: JSON.stringify({ limit: 1 }) });
    await next();
    if (c.req.header('x-wrap') !== undefined)
      c.res = Response.json({ wrapped: await c.res.json() }, c.res);
  })
  .get('/hello/:name', (c) => c.json({ hello: c.req.param('name'), path: c.req.path }))
  .put('/pages/:number{[0-9]+}', (c) => c.json({ page: c.req.param('number') }))
  .get('/files/*', (c) => c.text(c.req.path))
  .delete('/optional/:end?', (c) => c.body(null, 204))
  .all('/any', (c) => c.text(c.req.method))
  .get('/runs/own', (c) => c.json({ own: true }))
  .get('/ok', (c) => c.json({ ok: 'mine' }))
  .get('/metrics', (c) => c.text('mine'))
  .get('/missing', (c) => c.notFound())
  .get('/refuses', () => {
    throw new HTTPException(400, { message: 'Not like this.' });
  })
  .get('/throws', () => {
    throw new Error('the secret of the application');
  })
  .get('/cookies', (c) => {
    c.header('set-cookie', 'a=1', { append: true });
    c.header('set-cookie', 'b=2', { append: true });
    return c.body(null, 204);
  })
  .post(
    '/echo',
    (c) =>
      new Response(c.req.raw.body, { headers: { 'content-type': 'application/octet-stream' } }),
  )
  .post('/size', async (c) => {
    let size = 0;
    for await (const chunk of c.req.raw.body ?? []) size += chunk.length;
    return c.json({ size });
  })
  .post('/form', async (c) => {
    const { file } = await c.req.parseBody();
    return c.json({ name: (file as File).name, size: (file as File).size });
  })
  .get('/ticks', (c) => {
    const ticks = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (let tick = 0; ; tick += 1) {
          yield new TextEncoder().encode(`${tick}\n`);
          await wait(20);
        }
      } finally {
        left += 1;
      }
    };
    return c.body(ReadableStream.from(ticks()));
  })
  .get('/breaks', (c) =>
    c.body(
      ReadableStream.from(
        (async function* (): AsyncGenerator<Uint8Array> {
          yield new TextEncoder().encode('begun');
          await wait(20);
          throw new Error('broke');
        })(),
      ),
    ),
  )
  .get('/left', (c) => c.json({ left }))
  .get('/hangs', () => new Promise<never>(() => undefined))
  .get('/loops', () => never())
  .get('/loops-later', async () => {
    await wait(10);
    return never();
  })
  .get('/exits', () => process.exit(3))
  .get('/client', async (c) =>
    c.json(await new Client().runs.wait(null, 'steps', { input: { left: 2 } })),
  );
