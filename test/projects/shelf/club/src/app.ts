import { Hono } from 'hono';

export const app = new Hono();
app.use('/club/*', async (context, next) => {
  await next();
  context.header('x-club', 'open');
});
app.get('/club/rooms', (context) => context.json({ rooms: ['red', 'blue'] }));
