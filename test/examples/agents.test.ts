import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/*
 * The examples with a model run with their stand-ins. One runs with the real client and a server that speaks OpenAI's
 * API.
 */

type Message = { type: string; content: string; name?: string };
type Values = { messages: Message[]; __interrupt__?: { value: { draft: string } }[] };

const EXAMPLES = ['new', 'tools', 'approval', 'memory', 'subagents', 'ag-ui'];

function serve(
  folder: string,
  env: () => Record<string, string> = () => ({}),
): () => AgentProcess['client'] {
  let database: TestDatabase;
  let agent: AgentProcess;
  beforeAll(async () => {
    database = await freshDatabase();
    agent = await startAgent({
      database: database.uri,
      config: `examples/${folder}/gx.json`,
      env: env(),
    });
  });
  afterAll(async () => {
    await agent.kill();
    await database.drop();
  });
  return () => agent.client;
}

const say = (content: string): Record<string, unknown> => ({
  messages: [{ role: 'human', content }],
});
const ask = async (
  client: AgentProcess['client'],
  graph: string,
  content: string,
): Promise<Message[]> =>
  ((await client.runs.wait(null, graph, { input: say(content) })) as unknown as Values).messages;

test('each example has the same stand-in', () => {
  const texts = EXAMPLES.map((name) => readFileSync(`examples/${name}/stand-in.ts`, 'utf8'));
  expect(new Set(texts).size).toBe(1);
});

describe('example new', () => {
  const client = serve('new');

  test('answers, a word at a time', async () => {
    const words: string[] = [];
    const stream = client().runs.stream(null, 'agent', {
      input: say('hello'),
      streamMode: ['messages-tuple'],
    });
    for await (const { event, data } of stream)
      if (event === 'messages') words.push((data as unknown as [Message])[0].content);
    expect(words.length).toBeGreaterThan(5);
    expect(words.join('')).toMatch(/^You said "hello"\./);
  });
});

describe('example tools', () => {
  const client = serve('tools');

  test.each([
    ['What is the weather in Paris?', 'weather', /^The tool says: sunny/],
    ['Roll the dice', 'roll_dice', /^The tool says: [1-6]$/],
  ])('%s', async (question, name, answer) => {
    const messages = await ask(client(), 'tools', question);
    expect(messages.map(({ type }) => type)).toEqual(['human', 'ai', 'tool', 'ai']);
    expect(messages[2]?.name).toBe(name);
    expect(messages[3]?.content).toMatch(answer);
  });
});

describe('example approval', () => {
  const client = serve('approval');

  test('asks again after a change, and sends after a yes', async () => {
    const { thread_id } = await client().threads.create();
    const go = async (payload: object): Promise<Values> =>
      (await client().runs.wait(thread_id, 'approval', payload)) as unknown as Values;
    const drafted = await go({ input: say('we meet on Monday') });
    expect(drafted.__interrupt__?.[0]?.value.draft).toContain('we meet on Monday');
    const changed = await go({ command: { resume: 'we meet on Tuesday' } });
    expect(changed.__interrupt__?.[0]?.value.draft).toContain('we meet on Tuesday');
    const sent = await go({ command: { resume: 'Yes' } });
    expect(sent.messages.at(-1)?.content).toBe('The mail is sent.');
    expect((await client().threads.get(thread_id)).status).toBe('idle');
  });
});

describe('example memory', () => {
  const client = serve('memory');

  test('what one thread is told, another one knows, and another user does not', async () => {
    const asAda = { config: { configurable: { user: 'ada' } } };
    await client().runs.wait(null, 'memory', { input: say('Remember that I like tea'), ...asAda });
    const known = (await client().runs.wait(null, 'memory', {
      input: say('What do you know?'),
      ...asAda,
    })) as unknown as Values;
    expect(known.messages.at(-1)?.content).toBe('I know this about you:\n- I like tea');
    expect((await ask(client(), 'memory', 'What do you know?')).at(-1)?.content).toBe(
      'I know nothing about you yet.',
    );
    const { items } = await client().store.searchItems(['memories', 'ada']);
    expect(items.map(({ value }) => value)).toEqual([{ fact: 'I like tea' }]);
  });
});

describe('example subagents', () => {
  const client = serve('subagents');

  test('the lead answers with what both found, and their words can be streamed', async () => {
    const told = new Map<string, string>();
    const options = {
      input: say('green tea'),
      streamMode: ['messages-tuple', 'values'] as const,
      streamSubgraphs: true,
    };
    let last: Values | undefined;
    for await (const { event, data } of client().runs.stream(null, 'subagents', {
      ...options,
      streamMode: [...options.streamMode],
    })) {
      if (event === 'values') last = data as unknown as Values;
      if (!event.startsWith('messages|')) continue;
      const { content } = (data as unknown as [Message])[0];
      told.set(event, (told.get(event) ?? '') + content);
    }
    expect([...told.values()].join(' ')).toContain('Three facts about green tea.');
    expect(last?.messages.at(-1)?.content).toBe(
      'Three facts about green tea. One doubt about green tea',
    );
  });
});

/** Answers as OpenAI's chat completions do, with one sentence in two pieces. */
async function openai(): Promise<{
  server: Server;
  url: string;
  asked: { key: string; model: string }[];
}> {
  const asked: { key: string; model: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => {
      const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
      asked.push({ key: request.headers.authorization ?? '', model });
      const base = { id: 'c', created: 1, model };
      if (stream !== true) {
        const message = { role: 'assistant', content: 'Good news.' };
        response.setHeader('content-type', 'application/json');
        response.end(
          JSON.stringify({
            ...base,
            object: 'chat.completion',
            choices: [{ index: 0, message, finish_reason: 'stop' }],
          }),
        );
        return;
      }
      response.setHeader('content-type', 'text/event-stream');
      for (const content of ['Good ', 'news.'])
        response.write(
          `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] })}\n\n`,
        );
      response.end('data: [DONE]\n\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked };
}

describe('an example with a key', () => {
  let api: Awaited<ReturnType<typeof openai>>;
  beforeAll(async () => {
    api = await openai();
  });
  afterAll(() => api.server.close().closeAllConnections());
  const client = serve('new', () => ({
    OPENAI_API_KEY: 'sk-test',
    OPENAI_MODEL: 'some-model',
    OPENAI_BASE_URL: api.url,
  }));

  test('asks the real model', async () => {
    expect((await ask(client(), 'agent', 'hello')).at(-1)?.content).toBe('Good news.');
    expect(api.asked).toEqual([{ key: 'Bearer sk-test', model: 'some-model' }]);
  });
});
