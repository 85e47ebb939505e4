import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * Plays the providers of models on this machine: OpenAI (chat, responses, embeddings), Anthropic, Google and Ollama, by
 * the forms that their libraries send and read. It calls the first tool once, and answers by words after that.
 */

type Json = Record<string, unknown>;
type Tool = { name: string; schema: Json };

/** What a request asks for, whichever provider it is meant for. */
type Ask = {
  model: string;
  /** The last words of the caller. */
  words: string;
  /** The tool that is to be called now. */
  tool: Tool | undefined;
  /** The schema of an answer that must be JSON. */
  schema: Json | undefined;
  isStream: boolean;
  /** The model is asked to tell its reasoning. */
  reasons: boolean;
};

/** Returns the arguments of a call that a test scripts; undefined: those that the tool's schema accepts. */
export type ScriptedCall = (tool: string, system: string) => object | undefined;

export type ModelStandIn = {
  /** The variables by which the libraries of providers find it, with keys that open nothing. */
  env: Record<string, string>;
  /** The paths that were asked for, one for each request. */
  asked: string[];
  stop(): Promise<void>;
};

export async function startModels(script?: ScriptedCall): Promise<ModelStandIn> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response, script).catch((error: Error) =>
      response.writeHead(500).end(JSON.stringify({ error: { message: error.message } })),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    asked,
    env: {
      OPENAI_API_KEY: 'stand-in',
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_BASE: `${url}/v1`,
      ANTHROPIC_API_KEY: 'stand-in',
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_URL: url,
      GOOGLE_API_KEY: 'stand-in',
      GEMINI_API_KEY: 'stand-in',
      GOOGLE_GEMINI_BASE_URL: url,
      OLLAMA_BASE_URL: url,
      OLLAMA_HOST: url,
      GROQ_API_KEY: 'stand-in',
      TAVILY_API_KEY: 'stand-in',
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  script: ScriptedCall | undefined,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const body = (text === '' ? {} : JSON.parse(text)) as Json;
  const path = new URL(request.url ?? '/', 'http://stand-in').pathname;
  if (path.endsWith('/embeddings')) return sendJson(response, embeddingsOf(body));
  if (path.endsWith('/chat/completions')) return answerChat(response, askOfOpenAi(body, script));
  if (path.endsWith('/responses')) return answerResponses(response, askOfOpenAi(body, script));
  if (path.endsWith('/messages')) return answerAnthropic(response, askOfAnthropic(body));
  if (path.includes(':generateContent') || path.includes(':streamGenerateContent'))
    return answerGoogle(response, path, body);
  if (path.endsWith('/api/chat')) return answerOllama(response, body);
  response
    .writeHead(404, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message: `no ${path} here` } }));
}

const sendJson = (response: ServerResponse, value: unknown): void =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

function sendEvents(
  response: ServerResponse,
  events: Json[],
  { named = false, end = '' } = {},
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events)
    response.write(
      `${named ? `event: ${String(event['type'])}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
    );
  response.end(end);
}

const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

/** Returns the text of a message's content, which is a text or a list of blocks. */
const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map((block) => (typeof block['text'] === 'string' ? block['text'] : ''))
        .join('');

/** Returns a value that a JSON schema accepts, with the caller's words for each text. */
export function valueOf(schema: Json, words: string, root: Json = schema): unknown {
  const {
    $ref: ref,
    anyOf,
    oneOf,
    enum: values,
    const: only,
    type,
    properties,
    items,
  } = schema as Record<string, never>;
  if (typeof ref === 'string') return valueOf(placeOf(root, ref), words, root);
  const [choice] = [...listOf(anyOf), ...listOf(oneOf)];
  if (choice !== undefined) return valueOf(choice, words, root);
  if (only !== undefined) return only;
  if (Array.isArray(values)) return values[0];
  const kind: unknown = Array.isArray(type) ? type[0] : type;
  if (kind === 'array') return [valueOf(items ?? { type: 'string' }, words, root)];
  if (kind === 'integer' || kind === 'number') return 1;
  if (kind === 'boolean') return true;
  if (kind === 'object' || properties !== undefined)
    return Object.fromEntries(
      Object.entries((properties ?? {}) as Record<string, Json>).map(([name, each]) => [
        name,
        valueOf(each, words, root),
      ]),
    );
  return kind === 'null' ? null : words;
}

const placeOf = (root: Json, ref: string): Json =>
  ref
    .split('/')
    .slice(1)
    .reduce<Json>((place, part) => (place[part] ?? {}) as Json, root);

function askOfOpenAi(body: Json, script?: ScriptedCall): Ask {
  const messages = listOf(body['messages'] ?? body['input']);
  const tools = listOf(body['tools']).flatMap((each) => {
    const { name, parameters = {} } = (each['function'] ?? each) as {
      name?: string;
      parameters?: Json;
    };
    return name === undefined ? [] : [{ name, schema: parameters }];
  });
  const format = (body['response_format'] ?? (body['text'] as Json | undefined)?.['format']) as
    | Json
    | undefined;
  const inner = (format?.['json_schema'] ?? format) as Json | undefined;
  const choice = body['tool_choice'];
  const chosen =
    typeof choice === 'object' && choice !== null
      ? (choice as { function?: { name?: string }; name?: string })
      : undefined;
  const isAnswered = ['tool', 'function_call_output'].includes(
    String(messages.at(-1)?.['role'] ?? messages.at(-1)?.['type']),
  );
  const tool = toolFor(tools, {
    name: chosen?.function?.name ?? chosen?.name,
    isForced: choice === 'required' || choice === 'any',
    isAnswered,
  });
  const told = messages.filter(({ role }) => role === 'system' || role === 'developer');
  const scripted = tool && script?.(tool.name, told.map(({ content }) => textOf(content)).join());
  return {
    model: String(body['model']),
    words: lastWords(messages),
    tool: scripted === undefined ? tool : { name: tool!.name, schema: { const: scripted } },
    schema: inner?.['schema'] as Json | undefined,
    isStream: body['stream'] === true,
    reasons: body['reasoning'] !== undefined,
  };
}

const lastWords = (messages: Json[]): string => {
  const said =
    messages.filter(({ role }) => role === 'user' || role === 'human').at(-1) ?? messages.at(-1);
  return textOf(said?.['content']).slice(-200);
};

type Choice = { name: string | undefined; isForced: boolean; isAnswered: boolean };

const toolFor = (tools: Tool[], { name, isForced, isAnswered }: Choice): Tool | undefined =>
  isAnswered && !isForced && name === undefined
    ? undefined
    : (tools.find((tool) => tool.name === name) ?? tools[0]);

/** Returns the words of an answer: JSON where a schema asks for it. */
const wordsOf = ({ schema, words }: Ask): string =>
  schema === undefined ? `You said ${words}` : JSON.stringify(valueOf(schema, words));
const argumentsOf = ({ tool, words }: Ask): string =>
  JSON.stringify(valueOf(tool?.schema ?? {}, words));

let ids = 0;
/** Returns another id each time: a message takes the place of the one with its id. */
const nextId = (kind: string): string => `${kind}_${(ids += 1)}`;

function answerChat(response: ServerResponse, ask: Ask): void {
  const base = { id: nextId('chat'), created: 1, model: ask.model };
  const call = ask.tool && {
    id: nextId('call'),
    type: 'function',
    function: { name: ask.tool.name, arguments: argumentsOf(ask) },
  };
  const message =
    call === undefined
      ? { role: 'assistant', content: wordsOf(ask) }
      : { role: 'assistant', content: null, tool_calls: [call] };
  const finish = call === undefined ? 'stop' : 'tool_calls';
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!ask.isStream)
    return sendJson(response, {
      ...base,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finish }],
      usage,
    });
  const pieces =
    call === undefined ? pieceWords(wordsOf(ask)).map((content) => ({ content })) : pieceCall(call);
  const deltas = [{ role: 'assistant', content: '' }, ...pieces].map((delta) => ({
    index: 0,
    delta,
    finish_reason: null,
  }));
  const choices = [...deltas, { index: 0, delta: {}, finish_reason: finish }];
  const events = choices.map((choice) => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [choice],
  }));
  sendEvents(response, events, { end: 'data: [DONE]\n\n' });
}

/** Returns a call as a model streams it: its name first, and its arguments in pieces. */
function pieceCall(call: { id: string; type: string; function: Record<string, string> }): Json[] {
  const { name, arguments: text = '' } = call.function;
  const middle = text.length >> 1;
  const begin = { tool_calls: [{ index: 0, ...call, function: { name, arguments: '' } }] };
  const more = [text.slice(0, middle), text.slice(middle)].map((piece) => ({
    tool_calls: [{ index: 0, function: { arguments: piece } }],
  }));
  return [begin, ...more];
}

const pieceWords = (text: string): string[] => text.match(/\S+\s*/g) ?? [''];

function answerResponses(response: ServerResponse, ask: Ask): void {
  const item =
    ask.tool === undefined
      ? {
          type: 'message',
          id: nextId('msg'),
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: wordsOf(ask), annotations: [] }],
        }
      : {
          type: 'function_call',
          id: nextId('fc'),
          call_id: nextId('call'),
          name: ask.tool.name,
          arguments: argumentsOf(ask),
          status: 'completed',
        };
  const thought = {
    type: 'reasoning',
    id: nextId('rs'),
    summary: [{ type: 'summary_text', text: 'I think.' }],
  };
  const thoughts = ask.reasons ? [thought] : [];
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  };
  const whole = {
    id: nextId('resp'),
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: ask.model,
    output: [...thoughts, item],
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    usage,
  };
  if (!ask.isStream) return sendJson(response, whole);
  const at = { output_index: thoughts.length, item_id: item.id };
  const started = { ...whole, status: 'in_progress', output: [] };
  const text: Json[] =
    ask.tool === undefined
      ? [
          {
            type: 'response.output_text.delta',
            ...at,
            content_index: 0,
            delta: wordsOf(ask),
            logprobs: [],
          },
          {
            type: 'response.output_text.done',
            ...at,
            content_index: 0,
            text: wordsOf(ask),
            logprobs: [],
          },
        ]
      : [
          { type: 'response.function_call_arguments.delta', ...at, delta: argumentsOf(ask) },
          { type: 'response.function_call_arguments.done', ...at, arguments: argumentsOf(ask) },
        ];
  const opened = ask.tool === undefined ? { ...item, content: [] } : { ...item, arguments: '' };
  const events: Json[] = [
    { type: 'response.created', response: started },
    ...thoughts.flatMap(tellThought),
    { type: 'response.output_item.added', output_index: thoughts.length, item: opened },
    ...text,
    { type: 'response.output_item.done', output_index: thoughts.length, item },
    { type: 'response.completed', response: whole },
  ];
  sendEvents(
    response,
    events.map((event, index) => ({ ...event, sequence_number: index })),
    { named: true },
  );
}

/** Returns the events of a summary of the model's reasoning, which is the first of its output. */
function tellThought(item: Json): Json[] {
  const at = { output_index: 0, item_id: item['id'], summary_index: 0 };
  const [part] = listOf(item['summary']);
  const kind = 'response.reasoning_summary';
  return [
    { type: 'response.output_item.added', output_index: 0, item: { ...item, summary: [] } },
    { type: `${kind}_part.added`, ...at, part: { ...part, text: '' } },
    { type: `${kind}_text.delta`, ...at, delta: part!['text'] },
    { type: `${kind}_text.done`, ...at, text: part!['text'] },
    { type: `${kind}_part.done`, ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
  ];
}

function askOfAnthropic(body: Json): Ask {
  const messages = listOf(body['messages']);
  const tools = listOf(body['tools']).flatMap(({ name, input_schema: schema }) =>
    typeof name === 'string' && schema !== undefined ? [{ name, schema: schema as Json }] : [],
  );
  const choice = body['tool_choice'] as { type?: string; name?: string } | undefined;
  const isAnswered = listOf(messages.at(-1)?.['content']).some(
    ({ type }) => type === 'tool_result',
  );
  return {
    model: String(body['model']),
    words: lastWords(messages),
    tool: toolFor(tools, { name: choice?.name, isForced: choice?.type === 'any', isAnswered }),
    schema: undefined,
    isStream: body['stream'] === true,
    reasons: false,
  };
}

function answerAnthropic(response: ServerResponse, ask: Ask): void {
  const input = JSON.parse(argumentsOf(ask)) as unknown;
  const block =
    ask.tool === undefined
      ? { type: 'text', text: wordsOf(ask) }
      : { type: 'tool_use', id: nextId('call'), name: ask.tool.name, input };
  const reason = ask.tool === undefined ? 'end_turn' : 'tool_use';
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    id: nextId('msg'),
    type: 'message',
    role: 'assistant',
    model: ask.model,
    stop_sequence: null,
    usage,
  };
  if (!ask.isStream)
    return sendJson(response, { ...message, content: [block], stop_reason: reason });
  const opened = ask.tool === undefined ? { ...block, text: '' } : { ...block, input: {} };
  const delta =
    ask.tool === undefined
      ? { type: 'text_delta', text: wordsOf(ask) }
      : { type: 'input_json_delta', partial_json: argumentsOf(ask) };
  const events: Json[] = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: opened },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: 1 },
    },
    { type: 'message_stop' },
  ];
  sendEvents(response, events, { named: true });
}

/** Pages that a search has found, as answers with Google's search have them. */
const GROUNDING = {
  groundingChunks: [{ web: { uri: 'https://example.com/', title: 'example' } }],
  groundingSupports: [
    { segment: { startIndex: 0, endIndex: 3, text: 'You' }, groundingChunkIndices: [0] },
  ],
};

function answerGoogle(response: ServerResponse, path: string, body: Json): void {
  const contents = listOf(body['contents']);
  const last = listOf(contents.at(-1)?.['parts']);
  const words = textOf(last).slice(-200);
  const settings = (body['generationConfig'] ?? {}) as Json;
  const schema = (settings['responseSchema'] ?? settings['responseJsonSchema']) as Json | undefined;
  const declared = listOf(body['tools']).flatMap((tool) => listOf(tool['functionDeclarations']));
  const [first] = last.some((part) => 'functionResponse' in part) ? [] : declared;
  const text =
    schema === undefined ? `You said ${words}` : JSON.stringify(valueOf(lowerTypes(schema), words));
  const args =
    first &&
    valueOf(
      lowerTypes((first['parameters'] ?? first['parametersJsonSchema'] ?? {}) as Json),
      words,
    );
  const part = first === undefined ? { text } : { functionCall: { name: first['name'], args } };
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  const whole = {
    candidates: [
      {
        content: { role: 'model', parts: [part] },
        finishReason: 'STOP',
        index: 0,
        groundingMetadata: GROUNDING,
      },
    ],
    usageMetadata,
  };
  if (path.includes(':stream')) sendEvents(response, [whole]);
  else sendJson(response, whole);
}

/** Google writes the types of schemas in capitals. */
const lowerTypes = (schema: Json): Json =>
  JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'type' && typeof value === 'string' ? value.toLowerCase() : value,
  ) as Json;

function answerOllama(response: ServerResponse, body: Json): void {
  const format = body['format'];
  const words = lastWords(listOf(body['messages']));
  // The format "json" asks for any object.
  const content =
    format === undefined || format === ''
      ? `You said ${words}`
      : JSON.stringify({ query: words, rationale: words, follow_up_query: words });
  const whole = {
    model: body['model'],
    created_at: new Date(0).toISOString(),
    message: { role: 'assistant', content },
    done: true,
    done_reason: 'stop',
  };
  response
    .writeHead(200, { 'content-type': 'application/x-ndjson' })
    .end(`${JSON.stringify(whole)}\n`);
}

function embeddingsOf({ input, model, dimensions = 1536, encoding_format: format }: Json): Json {
  const vector = Array.from({ length: Number(dimensions) }, (_, index) => (index % 7) / 7);
  const bytes = Buffer.from(new Float32Array(vector).buffer).toString('base64');
  const embedding = format === 'base64' ? bytes : vector;
  const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input];
  const data = inputs.map((_, index) => ({ object: 'embedding', index, embedding }));
  return { object: 'list', model, data, usage: { prompt_tokens: 1, total_tokens: 1 } };
}
