/* No Hono application, but something that answers requests. */

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/plain')
      return Response.json({ method: request.method, body: await request.text() });
    return new Response('Not mine.', { status: 404 });
  },
};
