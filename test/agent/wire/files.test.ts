import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { coerceMessageLikeToMessage } from '@langchain/core/messages';
import { convertMessagesToCompletionsMessageParams } from '@langchain/openai';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  a2aCalls,
  rpc,
  type A2aCalls,
  type A2aError,
  type A2aPart,
  type A2aTask,
} from '../../kit/a2a-calls.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Files in messages: by the LangGraph SDK, by A2A and by MCP, to a graph that gives back what it gets. */

let agent: AgentProcess;
let database: TestDatabase;
let calls: A2aCalls;
/** Where files by URL lie; nobody is to fetch one. */
let shelf: Server;
const fetched: string[] = [];
let url: string;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/wire/graphs/files.json' });
  calls = a2aCalls(agent);
  shelf = createServer((request, response) => {
    fetched.push(request.url ?? '');
    response.end();
  }).listen(0, '127.0.0.1');
  await once(shelf, 'listening');
  url = `http://127.0.0.1:${(shelf.address() as AddressInfo).port}/report.pdf`;
});

afterAll(async () => {
  shelf.close();
  await agent.kill();
  await database.drop();
});

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SOUND = Buffer.from('RIFF....WAVE').toString('base64');
const TABLE = Buffer.from('a,b\n1,2\n').toString('base64');

type Content = Record<string, unknown>[];
type Message = { type: string; id: string; content: Content; response_metadata?: object };
const messagesOf = async (thread: string): Promise<Message[]> =>
  (await agent.client.threads.getState<{ messages: Message[] }>(thread)).values.messages;

const sent = (parts: object[], more: object = {}): object => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts, ...more },
});
const resultOf = ({ artifacts }: A2aTask): A2aPart[] => artifacts![0]!.parts;
const refused = (assistant: string, params: object): Promise<A2aError> =>
  calls.call(assistant, 'SendMessage', params);

describe('by the SDK of LangGraph', () => {
  test('blocks of all forms lie in the checkpoint as they were sent, and come back so', async () => {
    const content = [
      { type: 'text', text: 'Look:' },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
      { type: 'image', source_type: 'base64', mime_type: 'image/png', data: PIXEL },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
      { type: 'file', url, mimeType: 'application/pdf', metadata: { filename: 'report.pdf' } },
    ];
    const { thread_id } = await agent.client.threads.create();
    const input = { messages: [{ type: 'human', content, id: 'asked' }] };
    const streamed = [];
    for await (const part of agent.client.runs.stream(thread_id, 'copies', {
      input,
      streamMode: ['values', 'messages-tuple'],
    }))
      streamed.push(part);
    const { messages } = streamed.findLast(({ event }) => event === 'values')!.data as {
      messages: Message[];
    };
    expect(messages.map((message) => message.content)).toEqual([content, content]);
    expect((await messagesOf(thread_id)).map((message) => message.content)).toEqual([
      content,
      content,
    ]);
    const [history] = await agent.client.threads.getHistory<{ messages: Message[] }>(thread_id, {
      limit: 1,
    });
    expect(history!.values.messages[0]).toMatchObject({ id: 'asked', content });
  });
});

describe('by A2A', () => {
  test('bytes and URLs become standard blocks of the message, which models take, and parts of the result', async () => {
    const picture = { raw: PIXEL, mediaType: 'image/png', filename: 'pixel.png' };
    const task = await calls.send(
      'copies',
      sent([
        { text: 'Look:' },
        picture,
        { raw: SOUND, mediaType: 'audio/wav' },
        { url, mediaType: 'application/pdf' },
        { raw: TABLE },
      ]),
    );
    const [asked] = await messagesOf(task.contextId);
    expect(asked!.content).toEqual([
      { type: 'text', text: 'Look:' },
      { type: 'image', mimeType: 'image/png', data: PIXEL, metadata: { filename: 'pixel.png' } },
      { type: 'audio', mimeType: 'audio/wav', data: SOUND },
      { type: 'file', mimeType: 'application/pdf', url },
      { type: 'file', mimeType: 'application/octet-stream', data: TABLE },
    ]);
    const [asModel] = convertMessagesToCompletionsMessageParams({
      messages: [coerceMessageLikeToMessage(asked as never)],
    });
    expect(asModel!.content).toContainEqual({
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${PIXEL}` },
    });
    expect(resultOf(task)).toEqual([
      { text: 'Look:' },
      picture,
      { raw: SOUND, mediaType: 'audio/wav' },
      { url, mediaType: 'application/pdf' },
      { raw: TABLE, mediaType: 'application/octet-stream' },
      { data: { blocks: 5 } },
    ]);
    expect(await calls.get('copies', task.id)).toEqual(task);
    expect(fetched).toEqual([]);
  });

  test('version 0.3 has files of its own form, both ways', async () => {
    const files = [
      { kind: 'file', file: { bytes: PIXEL, mimeType: 'image/png', name: 'pixel.png' } },
      { kind: 'file', file: { uri: url, mimeType: 'application/pdf' } },
    ];
    const message = { kind: 'message', messageId: 'm', role: 'user', parts: files };
    const answer = await calls.post('copies', rpc('message/send', { message }), {
      'a2a-version': '0.3',
    });
    const { result } = (await answer.json()) as { result: A2aTask };
    expect(resultOf(result)).toEqual([...files, { kind: 'data', data: { blocks: 2 } }]);
  });

  test('a stream brings them in its result', async () => {
    const events = await calls.stream(
      'copies',
      'SendStreamingMessage',
      sent([{ raw: PIXEL, mediaType: 'image/png' }]),
    );
    const { artifactUpdate } = events.find((event) => 'artifactUpdate' in event) as {
      artifactUpdate: { artifact: { parts: A2aPart[] } };
    };
    expect(artifactUpdate.artifact.parts[0]).toEqual({ raw: PIXEL, mediaType: 'image/png' });
  });

  test.each([
    [
      'of before version 1',
      { type: 'image', source_type: 'base64', mime_type: 'image/png', data: PIXEL },
    ],
    ['of LangChain in Python', { type: 'image', mime_type: 'image/png', base64: PIXEL }],
    ['of OpenAI', { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }],
  ])('a block %s is a file of the result, too', async (_form, block) => {
    const task = await calls.send(
      'copies',
      sent([{ data: { messages: [{ role: 'user', content: [block] }] } }]),
    );
    expect(resultOf(task)[0]).toEqual({ raw: PIXEL, mediaType: 'image/png' });
  });

  test('what is no file of a known form comes as data', async () => {
    const blocks = [
      { type: 'image', fileId: 'file-1' },
      { type: 'image', mimeType: 'image/png', data: 'no base64!' },
    ];
    const task = await calls.send(
      'copies',
      sent([{ data: { messages: [{ role: 'user', content: blocks }] } }]),
    );
    expect(resultOf(task)).toEqual([...blocks.map((data) => ({ data })), { data: { blocks: 2 } }]);
  });

  test.each<[string, object, RegExp]>([
    ['bytes that are no base64', { raw: 'a b!' }, /params\.message\.parts\.0\.raw/],
    [
      'a URL of another kind',
      { url: 'file:///etc/passwd' },
      /message\.parts\.0\.url: must begin with https/,
    ],
    ['bytes in a URL', { url: `data:image/png;base64,${PIXEL}` }, /message\.parts\.0\.url/],
    ['a URL that is none', { url: 'report.pdf' }, /message\.parts\.0\.url/],
    [
      'a media type that is none',
      { raw: PIXEL, mediaType: 'picture' },
      /message\.parts\.0\.mediaType/,
    ],
  ])('%s: the client is told so', async (_what, part, message) => {
    expect(await refused('copies', sent([part]))).toMatchObject({ code: -32_602, message });
  });

  test('a graph that takes none refuses a file for its type', async () => {
    const answer = await refused('form', sent([{ raw: PIXEL, mediaType: 'image/png' }]));
    expect(answer).toMatchObject({ code: -32_005, message: /neither text nor files/ });
  });

  test('a file is no answer to a question', async () => {
    const { id } = await calls.send('approval', sent([{ data: { request: 'go' } }]));
    expect(
      await refused('approval', sent([{ raw: PIXEL, mediaType: 'image/png' }], { taskId: id })),
    ).toMatchObject({ code: -32_005 });
    expect((await calls.get('approval', id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  test('the card tells which types of files an agent takes, and others are refused', async () => {
    const modesOf = async (assistant: string): Promise<string[]> =>
      (
        (await (await fetch(`${agent.url}/a2a/${assistant}`)).json()) as {
          defaultInputModes: string[];
        }
      ).defaultInputModes;
    expect(await modesOf('copies')).toEqual(
      expect.arrayContaining(['text/plain', 'application/json', 'image/*', 'application/pdf']),
    );
    expect(await modesOf('form')).toEqual(['application/json']);
    const answer = await refused(
      'copies',
      sent([{ raw: PIXEL, mediaType: 'application/x-unknown' }]),
    );
    expect(answer).toMatchObject({ code: -32_005, message: /message\.parts\.0\.mediaType/ });
    const upper = await calls.send(
      'copies',
      sent([{ raw: TABLE, mediaType: 'Text/CSV; charset=utf-8' }]),
    );
    expect(resultOf(upper)[0]).toEqual({ raw: TABLE, mediaType: 'Text/CSV; charset=utf-8' });
  });
});

describe('by MCP', () => {
  const called = async (content: unknown): Promise<Awaited<ReturnType<Client['callTool']>>> => {
    const client = new Client({ name: 'a client', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${agent.url}/mcp`)));
    try {
      return await client.callTool({
        name: 'copies',
        arguments: { messages: [{ role: 'user', content }] },
      });
    } finally {
      await client.close();
    }
  };

  test('what the agent said last has its pictures, sounds and other files as content', async () => {
    const { content } = await called([
      { type: 'text', text: 'Look:' },
      { type: 'image', mimeType: 'image/png', data: PIXEL },
      { type: 'audio', mimeType: 'audio/wav', data: SOUND },
      { type: 'file', mimeType: 'text/csv', data: TABLE, metadata: { filename: 'a table.csv' } },
      { type: 'file', mimeType: 'application/pdf', data: PIXEL },
      { type: 'file', mimeType: 'application/pdf', url, metadata: { filename: 'report.pdf' } },
    ]);
    expect(content.slice(1)).toEqual([
      { type: 'image', mimeType: 'image/png', data: PIXEL },
      { type: 'audio', mimeType: 'audio/wav', data: SOUND },
      {
        type: 'resource',
        resource: { uri: 'result:///3/a%20table.csv', mimeType: 'text/csv', text: 'a,b\n1,2\n' },
      },
      {
        type: 'resource',
        resource: { uri: 'result:///4/file-4', mimeType: 'application/pdf', blob: PIXEL },
      },
      { type: 'resource_link', uri: url, name: 'report.pdf', mimeType: 'application/pdf' },
    ]);
    expect(fetched).toEqual([]);
  });

  test('the text for the model names the files, and programs get their bytes', async () => {
    const picture = { type: 'image', mimeType: 'image/png', data: PIXEL };
    const { content, structuredContent } = await called([picture]);
    const read = JSON.parse((content[0] as { text: string }).text) as { messages: Message[] };
    expect(read.messages.map((message) => message.content)).toEqual(
      [1, 2].map(() => [{ type: 'image', mimeType: 'image/png', bytes: 70 }]),
    );
    expect((structuredContent as { messages: Message[] }).messages[1]!.content).toEqual([picture]);
  });
});
