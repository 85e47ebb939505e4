import { randomUUID } from 'node:crypto';
import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as HttpAgentBefore } from 'ag-ui-client-before';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { readText } from './kit.ts';

/*
 * The clients that pages have, version 1.0 and the one before it, which most still have: what they show in the end is
 * the state of the thread. They check the order of events themselves, and fail for a wrong one.
 */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/ag-ui/graphs/gx.json' });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Message = {
  id: string;
  role: string;
  content?: unknown;
  toolCalls?: { id: string; function: { name: string; arguments: string } }[];
};
type StateMessage = {
  id: string;
  type: string;
  content: unknown;
  tool_calls?: { id: string; name: string; args: object }[];
  tool_call_id?: string;
};

const readState = async (
  threadId: string,
): Promise<{ messages: StateMessage[]; items?: string[] }> =>
  (
    (await (await fetch(`${agent.url}/threads/${threadId}/state`)).json()) as {
      values: { messages: StateMessage[] };
    }
  ).values;

/** Returns what a client shows of a message; the answer to a call is known by its call. */
const shown = ({ id, role, content, toolCalls }: Message): unknown => [
  role === 'tool' ? 'tool' : id,
  role,
  content ?? '',
  (toolCalls ?? []).map((call) => [
    call.id,
    call.function.name,
    JSON.parse(call.function.arguments),
  ]),
];

const ROLES: Record<string, string> = {
  human: 'user',
  ai: 'assistant',
  tool: 'tool',
  system: 'system',
};

const shownOfState = ({ id, type, content, tool_calls = [] }: StateMessage): unknown => [
  type === 'tool' ? 'tool' : id,
  ROLES[type],
  readText(content),
  tool_calls.map((call) => [call.id, call.name, call.args]),
];

describe.each([
  ['1.0.0', HttpAgent],
  ['0.0.59', HttpAgentBefore as unknown as typeof HttpAgent],
])('the client of version %s', (version, Client) => {
  const newClient = (graph: string, threadId: string = randomUUID()): HttpAgent =>
    new Client({
      url: `${agent.url}/ag-ui/${graph}`,
      threadId,
      initialMessages: [],
      initialState: {},
    });

  const say = (client: HttpAgent, content: string): void =>
    client.addMessage({ id: randomUUID(), role: 'user', content });

  test.each(['hello there', 'calls', 'think', 'paint'])(
    'shows what the thread holds after "%s"',
    async (text) => {
      const warned = vi.spyOn(console, 'warn');
      const client = newClient('chat');
      say(client, text);
      await client.runAgent();
      say(client, 'and more');
      await client.runAgent();
      const { messages, items } = await readState(client.threadId);
      expect(
        client.messages
          .filter(({ role }) => role !== 'reasoning')
          .map((message) => shown(message as Message)),
      ).toEqual(messages.map(shownOfState));
      expect(client.state).toEqual({ items });
      expect(warned.mock.calls).toEqual([]);
      warned.mockRestore();
    },
  );

  test('has the reasoning of the model as a message of its own', async () => {
    const client = newClient('chat');
    say(client, 'think');
    await client.runAgent();
    expect(client.messages.map(({ role }) => role).toSorted()).toEqual([
      'assistant',
      'reasoning',
      'user',
    ]);
    expect(client.messages.find(({ role }) => role === 'reasoning')).toMatchObject({
      content: 'Let me think.',
    });
  });

  test('is told why a run failed, and goes on', async () => {
    const client = newClient('chat');
    say(client, 'fail');
    const failed: string[] = [];
    await client
      .runAgent(
        {},
        {
          onRunErrorEvent: ({ event }) => void failed.push(event.message),
          onRunFailed: ({ error }) => void failed.push(error.message),
        },
      )
      .catch(() => undefined);
    expect(failed).toContain('The model is away.');
    say(client, 'hello');
    await client.runAgent();
    expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'You said: hello' });
  });

  test('answers a tool of the page, and the graph goes on', async () => {
    const client = newClient('chat');
    say(client, 'paint');
    await client.runAgent({
      tools: [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }],
    });
    const [call] = (client.messages.at(-1) as Message).toolCalls!;
    expect(call!.function).toEqual({ name: 'paint', arguments: '{"colour":"red"}' });
    client.addMessage({
      id: randomUUID(),
      role: 'tool',
      toolCallId: call!.id,
      content: 'It is red.',
    });
    await client.runAgent();
    expect(client.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Done.' });
    const { messages } = await readState(client.threadId);
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'ai']);
  });

  test('answers a question', async () => {
    const client = newClient('approval');
    say(client, 'go');
    const asked: { id: string; message?: string }[] = [];
    const outcomes: unknown[] = [];
    await client.runAgent(
      {},
      {
        onRunFinishedEvent: ({ event }) => {
          outcomes.push(event.outcome);
          if (event.outcome?.type === 'interrupt') asked.push(...event.outcome.interrupts);
        },
      },
    );
    expect(asked).toMatchObject([{ message: 'May I?', reason: 'approval' }]);
    await client.runAgent({
      resume: [{ interruptId: asked[0]!.id, status: 'resolved', payload: { ok: true } }],
    });
    expect(client.messages.at(-1)).toMatchObject({
      role: 'assistant',
      content: 'You said {"ok":true}.',
    });
  });

  test(`that leaves stops its run, as version ${version} says "abort"`, async () => {
    const client = newClient('chat');
    say(client, 'slow');
    const begun = Promise.withResolvers<void>();
    const run = client
      .runAgent({}, { onTextMessageContentEvent: () => begun.resolve() })
      .catch(() => undefined);
    await begun.promise;
    client.abortRun();
    await run;
    await vi.waitFor(
      async () => {
        const [last] = (await (
          await fetch(`${agent.url}/threads/${client.threadId}/runs`)
        ).json()) as { status: string }[];
        expect(last!.status).toBe('interrupted');
      },
      { timeout: 5000, interval: 100 },
    );
  });
});
