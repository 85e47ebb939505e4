import type { StoredCheckpoint, ValueType } from '../db/checkpoints/stored-checkpoints.ts';
import type { ListsOfCheckpoint } from './lists.ts';

/** A value as it was read: JSON, which the database has parsed, or the bytes of another type. */
export type ReadValue = { json: unknown } | { type: ValueType; bytes: Buffer };

/** A checkpoint with the values of its channels, and the writes of tasks on it, in their order. */
export type ReadCheckpoint<E> = Pick<
  StoredCheckpoint,
  'thread_id' | 'checkpoint_ns' | 'checkpoint_id' | 'parent_checkpoint_id' | 'checkpoint' | 'metadata'
> & {
  /** A list comes by its elements. */
  values: [channel: string, value: ReadValue | { elements: readonly E[] }][];
  writes: [taskId: string, channel: string, value: ReadValue][];
};

const read = (type: ValueType, value: unknown): ReadValue =>
  type === 'json' ? { json: value } : { type, bytes: Buffer.from(value as string, 'base64') };

/** Returns the checkpoint of a row, whose lists are these. */
export function readCheckpoint<E>(row: StoredCheckpoint, lists: ListsOfCheckpoint<E>): ReadCheckpoint<E> {
  const values: ReadCheckpoint<E>['values'] = [];
  for (const [channel, type, value] of row.values ?? []) {
    const list = lists.get(channel);
    if (list !== undefined) values.push([channel, list]);
    else if (type !== 'empty' && type !== 'list') values.push([channel, read(type, value)]);
  }
  const { thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata } = row;
  const writes: ReadCheckpoint<E>['writes'] = [];
  for (const [task, channel, type, value] of row.writes ?? []) writes.push([task, channel, read(type, value)]);
  return { thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata, values, writes };
}
