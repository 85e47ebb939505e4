import { toStandardBlock } from '../../stream/protocol/state-form.ts';
import type { Json } from '../../../schema/json.ts';

/* This file sends a whole message like a streamed one: block by block. */

/** Returns the events of a whole message. `head` has the fields of its beginning beside the id. */
export function buildMessageEvents(
  content: unknown,
  head: { id?: unknown; role: string } & Json,
  finish: Json = {},
): Json[] {
  return [
    { event: 'message-start', ...head },
    ...toBlocks(content).flatMap(buildBlockEvents),
    { event: 'message-finish', ...finish },
  ];
}

function toBlocks(content: unknown): Json[] {
  if (Array.isArray(content)) return content.map(toStandardBlock);
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content }] : [];
}

function buildBlockEvents(block: Json, index: number): Json[] {
  const [start, delta] = splitBlock(block);
  return [
    { event: 'content-block-start', index, content: start },
    ...(delta === undefined ? [] : [{ event: 'content-block-delta', index, delta }]),
    { event: 'content-block-finish', index, content: block },
  ];
}

function splitBlock(block: Json): [start: Json, delta: Json | undefined] {
  if (block['type'] === 'text')
    return [
      { type: 'text', text: '' },
      { type: 'text-delta', text: block['text'] },
    ];
  if (block['type'] === 'reasoning')
    return [
      { type: 'reasoning', reasoning: '' },
      { type: 'reasoning-delta', reasoning: block['reasoning'] },
    ];
  return [block, undefined];
}
