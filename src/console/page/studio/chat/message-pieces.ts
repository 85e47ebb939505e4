import { isObject, parseJsonOr } from '../../../../schema/json.ts';
import { toItems, toText } from '../agent-answers.ts';

/* Messages that come in pieces, put together. */

export type MessageFields = Record<string, unknown>;

/** Returns whether it is a piece of a message that is still being written. */
export const isPiece = (message: MessageFields): boolean =>
  toText(message['type']) === 'AIMessageChunk';

/** Returns the messages with one more, or with one more piece of one of them. */
export function joinMessage(messages: MessageFields[], next: MessageFields): MessageFields[] {
  const id = toText(next['id']);
  const at = id === '' ? -1 : messages.findIndex((one) => toText(one['id']) === id);
  const before = at < 0 ? undefined : messages[at];
  if (before === undefined) return [...messages, isPiece(next) ? applyCalls(next) : next];
  // Pieces of a whole message come once more when a reader joins a run late.
  if (isPiece(next) && !isPiece(before)) return messages;
  return messages.with(at, isPiece(next) ? joinPieces(before, next) : next);
}

const joinPieces = (before: MessageFields, next: MessageFields): MessageFields =>
  applyCalls({
    ...before,
    content: joinContent(before['content'], next['content']),
    tool_call_chunks: [
      ...toItems(before['tool_call_chunks']),
      ...toItems(next['tool_call_chunks']),
    ],
  });

function toParts(content: unknown): unknown[] {
  if (Array.isArray(content)) return content;
  return content === '' || content === undefined ? [] : [{ type: 'text', text: content }];
}

function joinContent(before: unknown, next: unknown): unknown {
  if (typeof before === 'string' && typeof next === 'string') return before + next;
  return toParts(next).reduce<unknown[]>(addPart, toParts(before));
}

/** Adds a part to others. Pieces of text and of reasoning go on where the last one ended. */
function addPart(parts: unknown[], next: unknown): unknown[] {
  const last = parts.at(-1);
  if (!isObject(last) || !isObject(next) || toText(last['type']) !== toText(next['type']))
    return [...parts, next];
  const name = ['text', 'reasoning', 'thinking'].find(
    (one) => typeof last[one] === 'string' && typeof next[one] === 'string',
  );
  if (name === undefined) return [...parts, next];
  return parts.with(parts.length - 1, { ...last, [name]: toText(last[name]) + toText(next[name]) });
}

function applyCalls(piece: MessageFields): MessageFields {
  const chunks = toItems(piece['tool_call_chunks']).filter(isObject);
  if (chunks.length === 0) return piece;
  const groups = Map.groupBy(chunks, (chunk) => Number(chunk['index'] ?? 0));
  const calls = [...groups.values()].map((own) => {
    const args = own.map((chunk) => toText(chunk['args'])).join('');
    const findFirst = (name: string): string =>
      own.map((chunk) => toText(chunk[name])).find((one) => one !== '') ?? '';
    return { id: findFirst('id'), name: findFirst('name'), args: parseJsonOr(args, args) };
  });
  return { ...piece, tool_calls: calls };
}
