import { decodeListBytes, type ListBytes, type ListRow } from '../db/checkpoints/list-bytes.ts';
import type { StoredCheckpoint, ValueType } from '../db/checkpoints/stored-checkpoints.ts';
import { isListInBytes, LIST_IN_BYTES } from '../db/fields/checkpoint-fields.ts';
import type { ListsOfCheckpoint } from './lists.ts';

/** A value as it was read: JSON, which the database has parsed, or the bytes of another type. */
export type ReadValue = { json: unknown } | { type: ValueType; bytes: Buffer };

/** A list whose elements are bytes of this type: its version, which the rows of such lists make. */
export type ReadList = { type: string; version: string; base: string | null };

/** A row of such a list: new elements, and those of its base. */
export type ReadListRow = {
  namespace: string;
  channel: string;
  version: string;
  base: string | null;
} & ListBytes;

/** A checkpoint with the values of its channels, and the writes of tasks on it, in their order. */
export type ReadCheckpoint<E> = Pick<
  StoredCheckpoint,
  | 'thread_id'
  | 'checkpoint_ns'
  | 'checkpoint_id'
  | 'parent_checkpoint_id'
  | 'checkpoint'
  | 'metadata'
> & {
  /** A list comes by its elements, unless these are bytes. */
  values: [channel: string, value: ReadValue | ReadList | { elements: readonly E[] }][];
  writes: [taskId: string, channel: string, value: ReadValue][];
  /** Comes with the first checkpoint: the rows of lists in bytes that the reader does not know. */
  listRows: ReadListRow[];
};

const read = (type: ValueType, value: unknown): ReadValue =>
  type === 'json' ? { json: value } : { type, bytes: Buffer.from(value as string, 'base64') };

const listRow = ([, namespace, channel, version, base, value]: ListRow): ReadListRow => ({
  namespace,
  channel,
  version,
  base,
  ...decodeListBytes(value as string),
});

/** Returns the checkpoint of a row, whose lists are these. */
export function readCheckpoint<E>(
  row: StoredCheckpoint,
  lists: ListsOfCheckpoint<E>,
): ReadCheckpoint<E> {
  const values: ReadCheckpoint<E>['values'] = [];
  for (const [channel, type, value, base = null] of row.values ?? []) {
    const list = lists.get(channel);
    if (list !== undefined) values.push([channel, list]);
    else if (isListInBytes(type))
      values.push([
        channel,
        { type: type.slice(LIST_IN_BYTES.length), version: value as string, base },
      ]);
    else if (type !== 'empty' && type !== 'list') values.push([channel, read(type, value)]);
  }
  const { thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata } =
    row;
  const writes: ReadCheckpoint<E>['writes'] = [];
  for (const [task, channel, type, value] of row.writes ?? [])
    writes.push([task, channel, read(type, value)]);
  const listRows = (row.lists ?? [])
    .filter(([, , , , , , type]) => isListInBytes(type))
    .map(listRow);
  return {
    thread_id,
    checkpoint_ns,
    checkpoint_id,
    parent_checkpoint_id,
    checkpoint,
    metadata,
    values,
    writes,
    listRows,
  };
}
