import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';

/* Which values of stored states become objects again, as `checkpointer.serde` of gx.json says. */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(async () => {
  // It is not there where all tests are left out.
  await (agent as AgentProcess | undefined)?.kill('SIGKILL');
  await database.drop();
});

const newThread = async (): Promise<string> => (await agent.client.threads.create()).thread_id;
const run = (thread_id: string, graph: string): Promise<unknown> =>
  agent.client.runs.wait(thread_id, graph, { input: {} });

test('a class that gx.json names comes back as such, and so does a pickled value where it asks for it; nobody else gets them', async () => {
  agent = await startPython(database.uri, {}, 'serde.gx.json');
  const [typed, pickled] = [await newThread(), await newThread()];
  await run(typed, 'typed');
  expect(await run(typed, 'typed')).toMatchObject({ kinds: ['Typed', 'Profile', 'Unnamed'] });
  await run(pickled, 'pickles');
  expect(await run(pickled, 'pickles')).toMatchObject({ number: 2 });
  await agent.kill();

  agent = await startPython(database.uri, {}, 'serde-none.gx.json');
  expect(await run(typed, 'typed')).toMatchObject({ kinds: ['Typed', 'Profile', 'dict'] });
  await expect(agent.client.threads.getState(pickled)).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining('pickle_fallback') as string,
  });
  await expect(run(await newThread(), 'pickles')).rejects.toThrow();
});

test.each(['classes', 'classes_of_data', 'configured'])(
  'with null, only the classes that %s names come back',
  async (graph) => {
    const thread_id = await newThread();
    await agent.client.runs.wait(thread_id, graph, { input: { name: 'one' } });
    const { found } = (await agent.client.runs.wait(thread_id, graph, {
      command: { resume: 'yes' },
    })) as { found: unknown[] };
    // LangGraph looks for names neither among named tuples, nor within a Sequence, nor behind Any.
    expect(found[1]).toEqual({ answer: 'yes', missed: ['profile', 'steps', 'anything'] });
  },
);

test('LANGGRAPH_STRICT_MSGPACK means the same as null', async () => {
  await agent.kill();
  agent = await startPython(database.uri, { LANGGRAPH_STRICT_MSGPACK: 'true' });
  const thread_id = await newThread();
  await run(thread_id, 'typed');
  expect(await run(thread_id, 'typed')).toMatchObject({ kinds: ['Typed', 'Profile', 'dict'] });
});
