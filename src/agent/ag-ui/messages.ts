import { Invalid } from '../../errors.ts';
import { parseJsonOr, type Json, isObject } from '../../schema/json.ts';
import type { AgUiMessage } from '../../schema/agent/ag-ui.ts';
import { buildFileBlock, readContentFile } from '../runs/making/content-files.ts';

/*
 * Messages of AG-UI as those of LangChain, and the other way. A tool's message has an id that follows from its call,
 * because the stream tells the result before the state has given the message an id.
 */

/** Returns the id under which clients know the answer to a call, unless they made the message themselves. */
export const buildToolMessageId = (toolCallId: string): string => `tool-${toolCallId}`;

/** Returns the id of a reasoning message: one for each reasoning block of a model's message. */
export const buildReasoningId = (messageId: string, index: number): string =>
  `${messageId}-reasoning-${index}`;

const MEDIA = ['image', 'audio', 'video', 'document'];

function refuseContent(at: number, msg: string): never {
  throw new Invalid([{ loc: ['body', 'messages', at, 'content'], msg, type: 'value_error' }]);
}

/**
 * Returns the content of a message as LangChain has it: a text, or blocks. A part that cannot be used is left out, as
 * the protocol asks. Throws `Invalid` for a content that is neither a text nor a list.
 */
function buildContent(content: unknown, at: number): string | Json[] {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return refuseContent(at, 'must be a text or a list of parts');
  return content.flatMap((part: unknown): Json[] => {
    const block = buildBlock(part);
    return block === undefined ? [] : [block];
  });
}

function buildBlock(part: unknown): Json | undefined {
  if (!isObject(part)) return undefined;
  if (part['type'] === 'text')
    return typeof part['text'] === 'string' ? { type: 'text', text: part['text'] } : undefined;
  // Clients from before 1.0 send files like this.
  if (part['type'] === 'binary')
    return toFileBlock(part['mimeType'], { data: part['data'], url: part['url'] });
  const { source } = part;
  if (
    !MEDIA.includes(part['type'] as string) ||
    !isObject(source) ||
    typeof source['value'] !== 'string'
  )
    return undefined;
  if (source['type'] === 'file')
    return { type: part['type'] === 'document' ? 'file' : part['type'], file_id: source['value'] };
  return toFileBlock(source['mimeType'], { [source['type'] as string]: source['value'] });
}

function toFileBlock(mimeType: unknown, { data, url }: Json): Json | undefined {
  const facts = { mediaType: typeof mimeType === 'string' ? mimeType : undefined, name: undefined };
  if (typeof data === 'string')
    return buildFileBlock({
      ...facts,
      mediaType: facts.mediaType ?? 'application/octet-stream',
      data,
    });
  return typeof url === 'string' ? buildFileBlock({ ...facts, url }) : undefined;
}

/** Models know by the version that blocks are standard ones. */
const buildVersionField = (content: string | Json[]): Json =>
  Array.isArray(content) && content.some((block) => block['type'] !== 'text')
    ? { response_metadata: { output_version: 'v1' } }
    : {};

/**
 * Returns the message as the graph takes it; undefined for one that is none of the conversation. `at`: its place in the
 * request. Throws `Invalid` for a message without a field that its role needs.
 */
export function buildGraphMessage(message: AgUiMessage, at: number): Json | undefined {
  const { id, role, name } = message;
  const named = name ? { name } : {};
  switch (role) {
    case 'user': {
      const content = buildContent(message.content, at);
      return { type: 'human', id, content, ...named, ...buildVersionField(content) };
    }
    case 'assistant': {
      const tool_calls = (message.toolCalls ?? []).map((call) => ({
        type: 'tool_call',
        id: call.id,
        name: call.function.name,
        args: readArguments(call.function.arguments),
      }));
      return {
        type: 'ai',
        id,
        content: buildContent(message.content, at),
        ...named,
        ...(tool_calls.length > 0 && { tool_calls }),
      };
    }
    case 'developer':
    case 'system':
      return { type: 'system', id, content: buildContent(message.content, at), ...named };
    case 'tool': {
      const { toolCallId, error } = message;
      if (!toolCallId)
        throw new Invalid([
          { loc: ['body', 'messages', at, 'toolCallId'], msg: 'Field required', type: 'missing' },
        ]);
      const content = buildContent(message.content, at);
      return {
        type: 'tool',
        id,
        tool_call_id: toolCallId,
        content,
        status: error ? 'error' : 'success',
        ...named,
      };
    }
    default:
      return undefined;
  }
}

/** Returns the arguments of a call, which may be their JSON; none where they are no object. */
export function readArguments(given: unknown): Json {
  const value = typeof given === 'string' ? parseJsonOr(given === '' ? '{}' : given, {}) : given;
  return isObject(value) ? value : {};
}

/** Returns a text; an empty one for any other value. */
export const readString = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the text of a content; files and other blocks have none. */
export function readContentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block) =>
      typeof block === 'string'
        ? block
        : isObject(block) && block['type'] === 'text'
          ? readString(block['text'])
          : '',
    )
    .join('');
}

/** Returns the parts of a content that clients can show: texts and files. */
export function buildContentParts(content: unknown): string | Json[] {
  if (
    !Array.isArray(content) ||
    content.every((block) => !isObject(block) || block['type'] === 'text')
  )
    return readContentText(content);
  return content.flatMap((block): Json[] => {
    if (isObject(block) && block['type'] === 'text')
      return [{ type: 'text', text: readString(block['text']) }];
    const file = readContentFile(block);
    if (file === undefined) return [];
    const { mediaType } = file;
    const [kind = ''] = (mediaType ?? '').split('/');
    const source =
      'data' in file
        ? { type: 'data', value: file.data, mimeType: mediaType ?? 'application/octet-stream' }
        : { type: 'url', value: file.url, ...(mediaType && { mimeType: mediaType }) };
    return [{ type: MEDIA.includes(kind) ? kind : 'document', source }];
  });
}

export type ClientMessage = { id: string; role: string } & Json;

/** `getAnswerId` names the answer to a call. `isOld`: the client knows no answers but texts. */
export type ClientReader = { getAnswerId: (toolCallId: string) => string; isOld: boolean };

/** Returns a message of the state as clients get it; undefined for one that they do not show. */
export function buildClientMessage(
  message: unknown,
  { getAnswerId, isOld }: ClientReader,
): ClientMessage | undefined {
  if (!isObject(message) || typeof message['id'] !== 'string') return undefined;
  const { id, content } = message;
  const named =
    typeof message['name'] === 'string' && message['name'] !== '' ? { name: message['name'] } : {};
  switch (message['type']) {
    case 'human':
      return { id, role: 'user', content: buildContentParts(content), ...named };
    case 'system':
      return { id, role: 'system', content: readContentText(content), ...named };
    case 'ai': {
      const text = readContentText(content);
      const toolCalls = readCalls(message).map((call) => ({
        id: call.id,
        type: 'function',
        function: { name: call.name, arguments: JSON.stringify(call.args) },
      }));
      return {
        id,
        role: 'assistant',
        ...(text !== '' && { content: text }),
        ...(toolCalls.length > 0 && { toolCalls }),
        ...named,
      };
    }
    case 'tool': {
      const toolCallId = readString(message['tool_call_id']);
      const text = readContentText(content);
      return {
        id: getAnswerId(toolCallId),
        role: 'tool',
        toolCallId,
        content: isOld ? text : buildContentParts(content),
        ...(message['status'] === 'error' && { error: text }),
      };
    }
    default:
      return undefined;
  }
}

/**
 * Returns the messages of a state as clients get them. A call may have more answers than one, where a run was stopped
 * before it had stored the first: each has an id of its own.
 */
export function buildClientMessages(values: unknown, reader: ClientReader): ClientMessage[] {
  const counts = new Map<unknown, number>();
  return readMessages(values).flatMap((message) => {
    const client = buildClientMessage(message, reader);
    if (client?.role !== 'tool') return client ?? [];
    const count = (counts.get(client['toolCallId']) ?? 0) + 1;
    counts.set(client['toolCallId'], count);
    return count === 1 ? client : { ...client, id: `${client.id}-${count}` };
  });
}

/** Returns the ids that a client gave to answers, by their calls: of several answers to one call, the first's. */
export function mapOwnAnswers(
  messages: readonly { id: string; role: string; toolCallId?: unknown }[],
): Map<string, string> {
  const own = new Map<string, string>();
  for (const { id, role, toolCallId } of messages)
    if (role === 'tool' && typeof toolCallId === 'string' && !own.has(toolCallId))
      own.set(toolCallId, id);
  return own;
}

export type ReadCall = { id: string; name: string; args: Json };

/** Returns the calls of tools that a message of the state makes. */
export function readCalls(message: Json): ReadCall[] {
  const calls = message['tool_calls'];
  if (!Array.isArray(calls)) return [];
  return (calls as Json[]).flatMap(({ id, name, args }) =>
    typeof id === 'string' && typeof name === 'string'
      ? [{ id, name, args: isObject(args) ? args : {} }]
      : [],
  );
}

/** Returns the messages of a state, or none where it has no list of them. */
export function readMessages(values: unknown): Json[] {
  const messages = isObject(values) ? values['messages'] : undefined;
  return Array.isArray(messages) ? messages.filter(isObject) : [];
}

/** Returns the calls that no message of the list answers, in their order. */
export function findOpenCalls(messages: Json[]): ReadCall[] {
  const answered = new Set(
    messages.filter(({ type }) => type === 'tool').map((message) => message['tool_call_id']),
  );
  return messages
    .filter(({ type }) => type === 'ai')
    .flatMap((message) => readCalls(message).filter(({ id }) => !answered.has(id)));
}
