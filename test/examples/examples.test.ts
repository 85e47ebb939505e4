import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

type Message = { type: string; content: string };
type Values = { messages: Message[]; __interrupt__?: { value: { draft: string } }[] };

const input = { messages: [{ role: 'human', content: 'good news' }] };
const said = (values: unknown): string[] =>
  (values as Values).messages.map(({ content }) => content);

/** One example's server for the tests of a block. */
function serve(folder: string): { client: () => AgentProcess['client'] } {
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
  return { client: () => agent.client };
}

/** Returns what the graph says first, and how much longer the thread is after it has spoken twice. */
async function saidTwice(
  client: AgentProcess['client'],
): Promise<{ start: string[]; ratio: number }> {
  const { thread_id } = await client.threads.create();
  const first = said(await client.runs.wait(thread_id, 'echo', { input }));
  const second = said(await client.runs.wait(thread_id, 'echo', { input }));
  return { start: first.slice(0, 2), ratio: second.length / first.length };
}

describe('example echo', () => {
  const { client } = serve('echo');

  test('says again what it was told, and the thread keeps it', async () => {
    expect(await saidTwice(client())).toEqual({ start: ['good news', 'good news'], ratio: 2 });
  });

  test('shows its work as it goes', async () => {
    const events: string[] = [];
    const stream = client().runs.stream(null, 'echo', {
      input,
      streamMode: ['custom', 'messages-tuple', 'updates'],
    });
    for await (const { event } of stream) events.push(event);
    expect(events.slice(0, 3)).toEqual(['metadata', 'custom', 'custom']);
    expect(events.filter((event) => event === 'messages').length).toBeGreaterThanOrEqual(2);
    expect(events.filter((event) => event === 'updates')).toHaveLength(2);
  });
});

describe('example js', () => {
  const { client } = serve('js');

  test('says again what it was told, and the thread keeps it', async () => {
    expect(await saidTwice(client())).toEqual({ start: ['good news', 'good news'], ratio: 2 });
  });

  test.each([
    ['yes', 'You said: good news'],
    ['no', 'I was told not to say it.'],
  ])('asks a person, who says %s', async (resume, last) => {
    const { thread_id } = await client().threads.create();
    const asked = (await client().runs.wait(thread_id, 'approval', { input })) as unknown as Values;
    expect(asked.__interrupt__?.[0]?.value.draft).toBe('You said: good news');
    expect((await client().threads.get(thread_id)).status).toBe('interrupted');
    expect(
      said(await client().runs.wait(thread_id, 'approval', { command: { resume } })).at(-1),
    ).toBe(last);
  });
});
