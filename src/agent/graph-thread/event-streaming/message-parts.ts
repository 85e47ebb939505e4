import { isNamespaceWithin } from './graphs-under-way.ts';
import { toStandardBlock } from '../../stream/protocol/state-form.ts';
import type { Json } from '../../../schema/json.ts';

/*
 * This file tells messages that come part by part, as LangGraph.js up to 1.2 streams them, like those that newer
 * versions stream in blocks. The parts don't say which is the last, so a message ends when it comes as a whole, or with
 * its task.
 */

type Block = { index: number; content: Json };
type OpenMessage = {
  id: unknown;
  task: string[];
  blocks: Map<string, Block>;
  usage: Usage | undefined;
};
type Usage = Record<'input_tokens' | 'output_tokens' | 'total_tokens', number>;

export type EventsOfMessage = { id: unknown; task: string[]; events: Json[] };

export class MessageParts {
  readonly #open = new Map<unknown, OpenMessage>();

  add(task: string[], part: Json): EventsOfMessage {
    const { id } = part;
    const known = this.#open.get(id);
    const message = known ?? { id, task, blocks: new Map<string, Block>(), usage: undefined };
    this.#open.set(id, message);
    const begin = known === undefined ? [{ event: 'message-start', role: 'ai', id }] : [];
    const pieces = listPieces(part).flatMap(([key, piece]) =>
      appendPiece(message.blocks, key, piece),
    );
    return {
      id,
      task,
      events: [...begin, ...pieces, ...addUsage(message, part['usage_metadata'])],
    };
  }

  /** Ends a message that has come as a whole; returns undefined when none of its parts came before. */
  endMessage(id: unknown): EventsOfMessage | undefined {
    const message = this.#open.get(id);
    return message && this.#finish(message);
  }

  /** Ends the messages of a task that has ended; a task without a name stands for the run. */
  endTask(task: string[]): EventsOfMessage[] {
    return [...this.#open.values()]
      .filter((message) => isNamespaceWithin(message.task, task))
      .map((message) => this.#finish(message));
  }

  #finish({ id, task, blocks, usage }: OpenMessage): EventsOfMessage {
    this.#open.delete(id);
    const finished = [...blocks.values()].map(({ index, content }) => ({
      event: 'content-block-finish',
      index,
      content: finishBlock(content),
    }));
    return {
      id,
      task,
      events: [...finished, { event: 'message-finish', reason: 'stop', ...(usage && { usage }) }],
    };
  }
}

function listPieces({ content, tool_call_chunks: calls }: Json): [key: string, piece: Json][] {
  const texts =
    typeof content === 'string'
      ? content === ''
        ? []
        : [content]
      : ((content ?? []) as unknown[]);
  const blocks = texts
    .map(toBlock)
    .map((block): [string, Json] => [JSON.stringify([block['type'], block['index']]), block]);
  // Clients find tool calls in `tool_call_chunks`, whatever a provider's content says of them.
  const shown = blocks.filter(([, { type }]) => SHOWN.has(type as string));
  return [
    ...shown,
    ...((calls ?? []) as Json[]).map((call): [string, Json] => [
      JSON.stringify(['call', call['index'] ?? call['id']]),
      call,
    ]),
  ];
}

/** Types of blocks that are sent as content. */
const SHOWN = new Set(['text', 'reasoning', 'image', 'audio', 'video', 'file']);

function toBlock(piece: unknown): Json {
  const { type, thinking, text, index } = Object(piece) as Json;
  if (type === 'thinking') return { type: 'reasoning', reasoning: thinking ?? '', index };
  if (type === 'text_delta') return { type: 'text', text, index };
  return toStandardBlock(piece);
}

function appendPiece(blocks: Map<string, Block>, key: string, piece: Json): Json[] {
  const known = blocks.get(key);
  const block = known ?? { index: blocks.size, content: openBlock(piece, blocks.size) };
  blocks.set(key, block);
  const begin =
    known === undefined
      ? [{ event: 'content-block-start', index: block.index, content: { ...block.content } }]
      : [];
  const delta = append(block.content, piece);
  return [
    ...begin,
    ...(delta === undefined ? [] : [{ event: 'content-block-delta', index: block.index, delta }]),
  ];
}

function openBlock({ type, id, name, ...rest }: Json, index: number): Json {
  if (type === 'text') return { type, text: '' };
  if (type === 'reasoning') return { type, reasoning: '' };
  if (SHOWN.has(type as string)) return { type, ...rest };
  return { type: 'tool_call_chunk', id, name, args: '', index };
}

/** Appends the piece to the content. Returns the addition as clients append it, or undefined for nothing. */
function append(content: Json, piece: Json): Json | undefined {
  const add = (field: string): string => {
    const added = (piece[field] ?? '') as string;
    content[field] = ((content[field] ?? '') as string) + added;
    return added;
  };
  switch (content['type']) {
    case 'text':
      return { type: 'text-delta', text: add('text') };
    case 'reasoning':
      return { type: 'reasoning-delta', reasoning: add('reasoning') };
    case 'tool_call_chunk': {
      for (const name of ['id', 'name']) content[name] = piece[name] ?? content[name];
      const args = add('args');
      return args === '' ? undefined : { type: 'tool-call-delta', args };
    }
    default:
      return undefined;
  }
}

/** Returns the block in its final form, where a tool call has its arguments as an object. */
function finishBlock({ type, id, name, args, ...rest }: Json): Json {
  if (type !== 'tool_call_chunk') return { type, ...rest };
  try {
    return { type: 'tool_call', id, name, args: JSON.parse((args as string) || '{}') as unknown };
  } catch {
    return { type: 'invalid_tool_call', id, name, args };
  }
}

function addUsage(message: OpenMessage, given: unknown): Json[] {
  if (given === undefined || given === null) return [];
  const more = given as Usage;
  const { usage } = message;
  const sum = (name: keyof Usage): number => (usage?.[name] ?? 0) + (more[name] ?? 0);
  message.usage = {
    input_tokens: sum('input_tokens'),
    output_tokens: sum('output_tokens'),
    total_tokens: sum('total_tokens'),
  };
  return [{ event: 'usage', usage: { ...message.usage } }];
}
