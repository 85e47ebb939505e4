import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

type Message = { type: string; content: string };
type Values = { messages: Message[]; __interrupt__?: { value: { draft: string } }[] };

const input = { messages: [{ role: 'human', content: 'good news' }] };
const said = (values: unknown): string[] => (values as Values).messages.map(({ content }) => content);

describe.each(['echo', 'js'])('example %s', (folder) => {
  let database: TestDatabase;
  let agent: AgentProcess;
  beforeAll(async () => {
    database = await freshDatabase();
    agent = await startAgent({ database: database.uri, config: `examples/${folder}/gx.json` });
  });
  afterAll(async () => {
    await agent.kill();
    await database.drop();
  });

  test('says again what it was told, and the thread keeps it', async () => {
    const { thread_id } = await agent.client.threads.create();
    const first = said(await agent.client.runs.wait(thread_id, 'echo', { input }));
    expect(first.slice(0, 2)).toEqual(['good news', 'good news']);
    const second = said(await agent.client.runs.wait(thread_id, 'echo', { input }));
    expect(second).toHaveLength(first.length * 2);
  });

  test.runIf(folder === 'echo')('shows its work as it goes', async () => {
    const events: string[] = [];
    const stream = agent.client.runs.stream(null, 'echo', { input, streamMode: ['custom', 'messages-tuple', 'updates'] });
    for await (const { event } of stream) events.push(event);
    expect(events.slice(0, 3)).toEqual(['metadata', 'custom', 'custom']);
    expect(events.filter((event) => event === 'messages').length).toBeGreaterThanOrEqual(2);
    expect(events.filter((event) => event === 'updates')).toHaveLength(2);
  });

  test.runIf(folder === 'js').each([
    ['yes', 'You said: good news'],
    ['no', 'I was told not to say it.'],
  ])('asks a person, who says %s', async (resume, last) => {
    const { thread_id } = await agent.client.threads.create();
    const asked = (await agent.client.runs.wait(thread_id, 'approval', { input })) as unknown as Values;
    expect(asked.__interrupt__?.[0]?.value.draft).toBe('You said: good news');
    expect((await agent.client.threads.get(thread_id)).status).toBe('interrupted');
    expect(said(await agent.client.runs.wait(thread_id, 'approval', { command: { resume } })).at(-1)).toBe(last);
  });
});
