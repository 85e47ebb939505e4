import { Hono } from 'hono';

/* Routes that webhooks call, and one that says what came to them. */

const heard: { path: string; headers: Record<string, string>; text: string; user: unknown }[] = [];
let failed = 0;

export const app = new Hono<{ Variables: { user?: { identity: string } | null } }>()
  .use('/mine/*', async (c, next) => {
    c.header('x-middleware', 'seen');
    await next();
  })
  .post('/hooks/fails-once', (c) => {
    failed += 1;
    return failed === 1 ? c.text('Not yet.', 503) : c.body(null, 204);
  })
  // Asks the built-in routes for what came, as a middleware would.
  .post('/forwards', async (c, next) => {
    c.req.raw = new Request(new URL('/threads', c.req.url), {
      method: 'POST',
      headers: c.req.raw.headers,
      body: '{"metadata":{"by":"a hook"}}',
    });
    await next();
  })
  .post('/hooks/:name', async (c) => {
    heard.push({
      path: c.req.path,
      headers: c.req.header(),
      text: await c.req.text(),
      user: c.get('user') ?? null,
    });
    return c.body(null, 204);
  })
  .post('/threads/count', (c) => c.json(0))
  .get('/heard', (c) => c.json(heard));
