import { type Json, isObject } from '../../../schema/json.ts';

/*
 * This file gives the messages of a state the form of protocol v2: the fields that a page needs, content in blocks, and
 * calls of tools beside it.
 */

const isFilled = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0
    : isObject(value)
      ? Object.keys(value).length > 0
      : value !== undefined && value !== null;

const TYPES = new Set(['human', 'ai', 'system', 'tool', 'function', 'remove']);
/** Fields that go out whenever they have a value. */
const ALWAYS = ['id', 'name', 'response_metadata'];
const MORE: Record<string, string[] | undefined> = {
  ai: ['usage_metadata', 'additional_kwargs', 'example'],
  human: ['additional_kwargs', 'example'],
  tool: ['tool_call_id', 'status'],
};

/** Returns whether plain data is a message, as those of a stored state are. */
export const isMessageForm = (value: unknown): value is Json =>
  isObject(value) && TYPES.has(value['type'] as string) && 'content' in value;

export function toStateMessage(message: Json): Json {
  const type = message['type'] as string;
  const shown: Json = { type, content: toContentForm(message['content']) };
  for (const name of [...ALWAYS, ...(MORE[type] ?? [])])
    if (isFilled(message[name])) shown[name] = message[name];
  if (type === 'tool' && 'artifact' in message) shown['artifact'] = message['artifact'] ?? null;
  if (type !== 'ai') return shown;
  const { tool_calls: calls, invalid_tool_calls: invalid } = message;
  if (isFilled(calls))
    shown['tool_calls'] = (calls as Json[]).map(({ id, name, args }) => ({
      type: 'tool_call',
      name,
      args,
      id,
    }));
  if (isFilled(invalid))
    shown['invalid_tool_calls'] = (invalid as Json[]).map((call) => ({
      ...call,
      type: 'invalid_tool_call',
    }));
  return shown;
}

/** Types of blocks that are known as they are. */
const BLOCKS = new Set([
  'text',
  'reasoning',
  'tool_call',
  'tool_call_chunk',
  'invalid_tool_call',
  'server_tool_call',
  'server_tool_call_chunk',
  'server_tool_call_result',
  'server_tool_result',
  'image',
  'audio',
  'video',
  'file',
  'non_standard',
]);

const toContentForm = (content: unknown): unknown =>
  Array.isArray(content) ? content.map(toStandardBlock) : (content ?? '');

/** Returns one part of a message's content as a standard block; a part without a standard form is wrapped. */
export function toStandardBlock(part: unknown): Json {
  if (typeof part === 'string') return { type: 'text', text: part };
  if (!isObject(part) || typeof part['type'] !== 'string')
    return { type: 'non_standard', value: part };
  if (BLOCKS.has(part['type'])) return renameMimeType(part);
  if (part['type'] === 'image_url') {
    const image = part['image_url'];
    return { type: 'image', url: isObject(image) ? image['url'] : image };
  }
  if (part['type'] === 'input_audio' && isObject(part['input_audio'])) {
    const { data, format } = part['input_audio'];
    return {
      type: 'audio',
      base64: data,
      ...(typeof format === 'string' && { mime_type: `audio/${format}` }),
    };
  }
  return { type: 'non_standard', value: part };
}

/** Renames `mimeType`, as LangChain.js writes it, to the protocol's `mime_type`. */
function renameMimeType({ mimeType, ...block }: Json): Json {
  return mimeType === undefined ? block : { mime_type: mimeType, ...block };
}

/** Returns a stored state with its messages in this form, wherever they are. */
export function toStateForm(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toStateForm);
  if (!isObject(value)) return value;
  if (isMessageForm(value)) return toStateMessage(value);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, toStateForm(part)]));
}
