import { Hono } from 'hono';

/** Middleware around threads, and none around runs. */
export const app = new Hono()
  .use('/threads/*', async (c, next) => {
    await next();
    c.header('x-team', 'red');
  })
  .get('/hello', (c) => c.json({ hello: 'you' }));
