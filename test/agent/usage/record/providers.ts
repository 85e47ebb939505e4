import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Api, UsageCase } from '../cases.ts';

/* Providers of models that answer as the cases say, whole and as streams. A path begins with the number of its case. */

type Body = { stream?: boolean };

const TEXT = 'Hello!';

const sendEvents = (
  response: ServerResponse,
  events: [name: string | undefined, data: unknown][],
): void => {
  response.setHeader('content-type', 'text/event-stream');
  for (const [name, data] of events) {
    if (name !== undefined) response.write(`event: ${name}\n`);
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }
  response.end();
};

const sendJson = (response: ServerResponse, body: unknown): void => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
};

type Answer = (one: UsageCase, response: ServerResponse, isStreamed: boolean) => void;

const answerChat: Answer = ({ model, usage, tier, choices = 1 }, response, isStreamed) => {
  const about = {
    id: 'chatcmpl-1',
    created: 1_790_000_000,
    model,
    ...(tier !== undefined && { service_tier: tier }),
  };
  const indexes = Array.from({ length: choices }, (_, index) => index);
  if (!isStreamed)
    return sendJson(response, {
      ...about,
      object: 'chat.completion',
      choices: indexes.map((index) => ({
        index,
        message: { role: 'assistant', content: TEXT },
        finish_reason: 'stop',
      })),
      ...(usage && { usage }),
    });
  const chunk = { ...about, object: 'chat.completion.chunk' };
  const of = (delta: object, finish_reason: string | null): [undefined, object] => [
    undefined,
    { ...chunk, choices: [{ index: 0, delta, finish_reason }] },
  ];
  sendEvents(response, [
    of({ role: 'assistant', content: TEXT }, null),
    of({}, 'stop'),
    ...(usage ? [[undefined, { ...chunk, choices: [], usage }] as [undefined, object]] : []),
    [undefined, '[DONE]'],
  ]);
};

const answerCompletions: Answer = ({ model, usage }, response, isStreamed) => {
  const about = { id: 'cmpl-1', object: 'text_completion', created: 1_790_000_000, model };
  const choice = { index: 0, text: TEXT, logprobs: null, finish_reason: 'stop' };
  if (!isStreamed) return sendJson(response, { ...about, choices: [choice], usage });
  sendEvents(response, [
    [undefined, { ...about, choices: [choice], usage: null }],
    [undefined, { ...about, choices: [], usage }],
    [undefined, '[DONE]'],
  ]);
};

const answerResponses: Answer = ({ model, usage, tier }, response, isStreamed) => {
  const part = { type: 'output_text', text: TEXT, annotations: [] };
  const item = {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    content: [part],
  };
  const whole = {
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    status: 'completed',
    model,
    output: [item],
    parallel_tool_calls: true,
    tools: [],
    tool_choice: 'auto',
    metadata: {},
    error: null,
    incomplete_details: null,
    instructions: null,
    temperature: 1,
    top_p: 1,
    text: { format: { type: 'text' } },
    ...(tier !== undefined && { service_tier: tier }),
    usage,
  };
  if (!isStreamed) return sendJson(response, whole);
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  const events: object[] = [
    { type: 'response.created', response: begun },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: TEXT },
    { type: 'response.output_text.done', ...at, text: TEXT },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ];
  sendEvents(
    response,
    events.map((event, sequence_number) => [
      (event as { type: string }).type,
      { ...event, sequence_number },
    ]),
  );
};

const answerMessages: Answer = ({ model, usage }, response, isStreamed) => {
  const about = { id: 'msg_1', type: 'message', role: 'assistant', model, stop_sequence: null };
  if (!isStreamed)
    return sendJson(response, {
      ...about,
      content: [{ type: 'text', text: TEXT }],
      stop_reason: 'end_turn',
      usage,
    });
  const events: [string, object][] = [
    [
      'message_start',
      {
        message: {
          ...about,
          content: [],
          stop_reason: null,
          usage: { ...usage, output_tokens: 1 },
        },
      },
    ],
    ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }],
    ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }],
    ['content_block_stop', { index: 0 }],
    ['message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage }],
    ['message_stop', {}],
  ];
  sendEvents(
    response,
    events.map(([type, data]) => [type, { type, ...data }]),
  );
};

const answerGemini: Answer = ({ model, usage }, response, isStreamed) => {
  const body = {
    candidates: [
      { content: { role: 'model', parts: [{ text: TEXT }] }, finishReason: 'STOP', index: 0 },
    ],
    modelVersion: model,
    responseId: 'r1',
    usageMetadata: usage,
  };
  if (isStreamed) sendEvents(response, [[undefined, body]]);
  else sendJson(response, body);
};

const answerBedrock: Answer = ({ usage }, response) =>
  sendJson(response, {
    output: { message: { role: 'assistant', content: [{ text: TEXT }] } },
    stopReason: 'end_turn',
    usage,
    metrics: { latencyMs: 400 },
  });

const answerOllama: Answer = ({ model, usage }, response) => {
  response.setHeader('content-type', 'application/x-ndjson');
  const about = { model, created_at: '2026-10-01T12:00:00Z' };
  for (const line of [
    { ...about, message: { role: 'assistant', content: TEXT }, done: false },
    {
      ...about,
      message: { role: 'assistant', content: '' },
      done: true,
      done_reason: 'stop',
      ...usage,
    },
  ])
    response.write(`${JSON.stringify(line)}\n`);
  response.end();
};

const ANSWERS: Record<Api, Answer> = {
  'openai-chat': answerChat,
  'openai-responses': answerResponses,
  'openai-completions': answerCompletions,
  anthropic: answerMessages,
  gemini: answerGemini,
  bedrock: answerBedrock,
  ollama: answerOllama,
};

async function readBody(request: IncomingMessage): Promise<Body> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString() || '{}') as Body;
}

/** Starts the providers on a port of this machine. A request to `/{index}/...` gets the answer of that case. */
export async function startProviders(
  cases: UsageCase[],
): Promise<{ url: string; stop: () => void }> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { stream } = await readBody(request);
    const one = cases[Number(request.url!.split('/')[1])]!;
    ANSWERS[one.api](one, response, stream === true || request.url!.includes(':streamGenerate'));
  };
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() };
}
