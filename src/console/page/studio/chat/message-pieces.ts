import { isObject, parsedOr } from '../../../../schema/json.ts';
import { listOf, textOf } from '../agent-answers.ts';

/* Messages that come in pieces, put together. */

export type MessageFields = Record<string, unknown>;

/** Returns whether it is a piece of a message that is still being written. */
export const isPiece = (message: MessageFields): boolean => textOf(message['type']) === 'AIMessageChunk';

/** Returns the messages with one more, or with one more piece of one of them. */
export function joinedInto(messages: MessageFields[], next: MessageFields): MessageFields[] {
  const id = textOf(next['id']);
  const at = id === '' ? -1 : messages.findIndex((one) => textOf(one['id']) === id);
  const before = at < 0 ? undefined : messages[at];
  if (before === undefined) return [...messages, isPiece(next) ? withCalls(next) : next];
  // Pieces of a whole message come once more when a reader joins a run late.
  if (isPiece(next) && !isPiece(before)) return messages;
  return messages.with(at, isPiece(next) ? joined(before, next) : next);
}

const joined = (before: MessageFields, next: MessageFields): MessageFields =>
  withCalls({
    ...before,
    content: joinedContent(before['content'], next['content']),
    tool_call_chunks: [...listOf(before['tool_call_chunks']), ...listOf(next['tool_call_chunks'])],
  });

function partsIn(content: unknown): unknown[] {
  if (Array.isArray(content)) return content;
  return content === '' || content === undefined ? [] : [{ type: 'text', text: content }];
}

function joinedContent(before: unknown, next: unknown): unknown {
  if (typeof before === 'string' && typeof next === 'string') return before + next;
  return partsIn(next).reduce<unknown[]>(withPart, partsIn(before));
}

/** Adds a part to others. Pieces of text and of reasoning go on where the last one ended. */
function withPart(parts: unknown[], next: unknown): unknown[] {
  const last = parts.at(-1);
  if (!isObject(last) || !isObject(next) || textOf(last['type']) !== textOf(next['type'])) return [...parts, next];
  const name = ['text', 'reasoning', 'thinking'].find((one) => typeof last[one] === 'string' && typeof next[one] === 'string');
  if (name === undefined) return [...parts, next];
  return parts.with(parts.length - 1, { ...last, [name]: textOf(last[name]) + textOf(next[name]) });
}

/** Returns a piece with the tool calls that its chunks amount to so far. */
function withCalls(piece: MessageFields): MessageFields {
  const chunks = listOf(piece['tool_call_chunks']).filter(isObject);
  if (chunks.length === 0) return piece;
  const groups = Map.groupBy(chunks, (chunk) => Number(chunk['index'] ?? 0));
  const calls = [...groups.values()].map((own) => {
    const args = own.map((chunk) => textOf(chunk['args'])).join('');
    const first = (name: string): string => own.map((chunk) => textOf(chunk[name])).find((one) => one !== '') ?? '';
    return { id: first('id'), name: first('name'), args: parsedOr(args, args) };
  });
  return { ...piece, tool_calls: calls };
}
