import { Client } from '@langchain/langgraph-sdk';
import { Hono, type Context } from 'hono';

/* Routes of a user that ask their own server as whoever called them, and show its answer. */

/** Returns a client with the caller's credentials. One without them would be the server's own, which may do all. */
function clientOf(c: Context): Client {
  const authorization = c.req.header('authorization') ?? '';
  return new Client({
    apiUrl: new URL(c.req.url).origin,
    apiKey: null,
    defaultHeaders: { authorization },
    callerOptions: { maxRetries: 0 },
  });
}

/** Answers with what the server itself answers. A refusal is passed on; anything else is a fault of the server. */
async function shown(asked: Promise<unknown>): Promise<Response> {
  try {
    return Response.json(await asked);
  } catch (error) {
    const { status } = error as { status?: number };
    if (status !== undefined && status < 500)
      return Response.json({ refused: status }, { status: 404 });
    throw error;
  }
}

const json = { 'application/json': { schema: {} } };
const answers = {
  200: { description: 'What the caller has.', content: json },
  404: { description: 'None of it.', content: json },
};
const id = {
  name: 'thread_id',
  in: 'path',
  required: true,
  schema: { type: 'string', format: 'uuid' },
};

/** What the routes say of themselves, so that requests are generated for them. */
const DOCUMENT = {
  openapi: '3.1.0',
  paths: {
    '/own/threads': { get: { operationId: 'own_threads', responses: answers } },
    '/own/threads/{thread_id}': {
      get: { operationId: 'own_thread', parameters: [id], responses: answers },
    },
    '/own/crons': { get: { operationId: 'own_crons', responses: answers } },
  },
};

export const app = new Hono()
  .get('/openapi.json', (c) => c.json(DOCUMENT))
  .get('/own/threads', (c) => shown(clientOf(c).threads.search({ limit: 10 })))
  .get('/own/threads/:thread_id', (c) =>
    shown(clientOf(c).threads.getState(c.req.param('thread_id'))),
  )
  .get('/own/crons', (c) => shown(clientOf(c).crons.search({ limit: 10 })));
