import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

type Values = { messages: { content: string }[] };

let database: TestDatabase;
let agent: AgentProcess;
beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'examples/python/gx.json',
    env: { GX_PYTHON: `${inject('python')}/python` },
  });
});
afterAll(async () => {
  await agent.kill();
  await database.drop();
});

test('the example in Python says again what it was told, a word at a time, and counts', async () => {
  const input = { messages: [{ role: 'human', content: 'hello out there' }] };
  const words: string[] = [];
  let last: Values | undefined;
  for await (const { event, data } of agent.client.runs.stream(null, 'echo', {
    input,
    streamMode: ['custom', 'values'],
  }))
    if (event === 'custom') words.push((data as { word: string }).word);
    else if (event === 'values') last = data as unknown as Values;
  expect(words).toEqual(['hello', 'out', 'there']);
  expect(last?.messages.map(({ content }) => content)).toEqual([
    'hello out there',
    'hello out there',
    'That was message 1 of this thread.',
  ]);
});
