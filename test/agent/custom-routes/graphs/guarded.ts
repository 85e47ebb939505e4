import { Client } from '@langchain/langgraph-sdk';
import { Hono } from 'hono';

/* Middleware that may lend credentials, and routes that say who called. */

export const app = new Hono<{ Variables: { user?: { identity: string } | null } }>()
  .use('*', async (c, next) => {
    if (c.req.query('stop') !== undefined) return c.json({ stopped: true }, 418);
    const as = c.req.query('as');
    if (as !== undefined) {
      const headers = new Headers(c.req.raw.headers);
      headers.set('authorization', `Bearer ${as}`);
      c.req.raw = new Request(c.req.raw, { headers });
    }
    await next();
    c.header('x-middleware', 'seen');
  })
  .get('/who', (c) => c.json({ user: c.get('user')?.identity ?? null, path: c.req.path }))
  .get('/counts', async (c) => c.json({ threads: await new Client().threads.count() }))
  .get('/openapi.json', (c) =>
    c.json({ openapi: '3.1.0', paths: { '/who': { get: { operationId: 'who', responses: {} } } } }),
  );
