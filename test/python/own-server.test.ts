import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/* Python graphs that ask the server that runs them, by get_client() of langgraph_sdk without an address. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startPython(database.uri);
});
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

/** Makes a thread of a kind, and returns what the graph has made of it. */
async function made(graph: string): Promise<{ thread_id: string; made: Record<string, unknown> }> {
  const kind = randomUUID();
  const { thread_id } = await agent.client.threads.create({ metadata: { kind } });
  const values = await agent.client.runs.wait(null, graph, { input: { kind } });
  return { thread_id, made: (values as { made: Record<string, unknown> }).made };
}

test('a graph finds a thread, starts a run on it, and hears its events while it runs', async () => {
  const { thread_id, made: heard } = await made('calls');
  expect(heard).toEqual({
    events: ['metadata', 'updates', 'updates', 'updates', 'updates'],
    meanwhile: 'busy',
    answer: { question: 'q', answer: 'echo: q' },
  });
  const runs = await agent.client.runs.list(thread_id);
  expect(runs.map(({ status }) => status)).toEqual(['success', 'success']);
});

test('a node that is a plain function does so too, with bodies that cross in many pieces', async () => {
  const { thread_id, made: found } = await made('calls_plainly');
  expect(found).toEqual({ threads: [thread_id], same: true });
});

test('refusals, late answers and missing modules raise their errors, and the client goes on', async () => {
  const { made: met } = await made('fails_to_call');
  expect(met).toEqual({
    status: 404,
    late: 'The server has sent nothing for 1.5 seconds.',
    module:
      'This server has no module langgraph_api.grpc: it offers langgraph_api.server and langgraph_api.asgi_transport to langgraph_sdk.',
    threads: 1,
  });
});
