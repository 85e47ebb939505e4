import type { FoundCheckpoint } from '../../schema/wire/wall/runner.ts';
import type { ListElement } from '../run-storage/lists.ts';
import type { ReadCheckpoint, ReadList, ReadValue } from '../run-storage/read-checkpoint.ts';

/* This file turns stored values that were read for a runner into bytes. */

/** An element of a list that a graph of this language has stored. */
export function toListElement(stored: unknown): ListElement {
  const text = JSON.stringify(stored);
  return { text, weight: 2 * text.length };
}

type Encoded = { type: string; blob: Uint8Array };
const encodeJson = (text: string): Encoded => ({ type: 'json', blob: Buffer.from(text) });

function encodeValue(value: ReadValue): Encoded {
  return 'json' in value
    ? encodeJson(JSON.stringify(value.json))
    : { type: value.type, blob: value.bytes };
}

function encodeChannelValue(
  value: ReadValue | ReadList | { elements: readonly ListElement[] },
): Encoded | { type: string; version: string; base: string | null } {
  if ('elements' in value)
    return encodeJson(`[${value.elements.map(({ text }) => text).join(',')}]`);
  return 'version' in value ? value : encodeValue(value);
}

/** Returns a checkpoint as a runner gets it. */
export const toFoundCheckpoint = (read: ReadCheckpoint<ListElement>): FoundCheckpoint => ({
  thread_id: read.thread_id,
  namespace: read.checkpoint_ns,
  checkpoint_id: read.checkpoint_id,
  parent: read.parent_checkpoint_id,
  checkpoint: read.checkpoint,
  metadata: read.metadata,
  values: read.values.map(([channel, value]) => ({ channel, ...encodeChannelValue(value) })),
  writes: read.writes.map(([task_id, channel, value]) => ({
    task_id,
    channel,
    ...encodeValue(value),
  })),
});
