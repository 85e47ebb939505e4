import { LIST_IN_BYTES } from '../fields/checkpoint-fields.ts';
import type { ListChange, StoredList } from './list-rows.ts';

/*
 * The stored form of a list whose elements are bytes: that of list-rows.ts, with the lengths of new elements in their
 * places. A row is the length of its JSON as 32 bits, the JSON, and the new elements one after another. Its type is
 * `list:` and the type of its elements: `list:py:msgpack`.
 */

/** The JSON of a row. */
export type ListLengths = {
  steps: number;
  stored: number;
  parts: ([from: number, to: number] | { new: number[] })[];
};

/** A list as it was read: its JSON, and the bytes of its new elements. */
export type ListBytes = ListLengths & { blob: Buffer };

/** A row of any list as it was read. The value of one in bytes is base64. */
export type ListRow = [
  threadId: string,
  namespace: string,
  channel: string,
  version: string,
  base: string | null,
  value: unknown,
  type: string,
];

/** An SQL condition: the row is a list's. */
export const isListRow = (type: string): string =>
  `(${type} = 'list' or ${type} like '${LIST_IN_BYTES}%')`;

const LENGTH = 4;

const sumBytes = (parts: ListLengths['parts']): number =>
  parts.reduce(
    (sum, part) =>
      sum + (Array.isArray(part) ? 0 : part.new.reduce((own, length) => own + length, 0)),
    0,
  );

/** Returns the content of a row. Throws where the elements have other lengths than their list says. */
export function toBytes({ steps, stored, parts }: ListLengths, blob: Uint8Array): Buffer {
  if (sumBytes(parts) !== blob.length)
    throw new RangeError(`A list of ${sumBytes(parts)} bytes has ${blob.length}.`);
  const json = Buffer.from(JSON.stringify({ steps, stored, parts }));
  const length = Buffer.alloc(LENGTH);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, blob]);
}

/** Returns the content of a row, which comes as base64. */
export function decodeListBytes(content: string): ListBytes {
  const row = Buffer.from(content, 'base64');
  const end = LENGTH + row.readUInt32LE(0);
  return {
    ...(JSON.parse(row.subarray(LENGTH, end).toString()) as ListLengths),
    blob: row.subarray(end),
  };
}

/** Returns the row of a list in JSON. */
export const toStoredList = ([
  threadId,
  namespace,
  channel,
  version,
  base,
  value,
]: ListRow): StoredList => [threadId, namespace, channel, version, base, value as ListChange];

/** Returns the row of a list in bytes as one of a list whose elements are these. */
export function splitListBytes([
  threadId,
  namespace,
  channel,
  version,
  base,
  value,
]: ListRow): StoredList {
  const { steps, stored, parts, blob } = decodeListBytes(value as string);
  let at = 0;
  const all: ListChange['parts'] = parts.map((part) =>
    Array.isArray(part)
      ? part
      : { new: part.new.map((length) => blob.subarray(at, (at += length))) },
  );
  return [threadId, namespace, channel, version, base, { steps, stored, parts: all }];
}

/** Returns the content of the row of a whole list. */
export const encodeWholeBytes = (elements: readonly Uint8Array[]): Buffer =>
  toBytes(
    {
      steps: 0,
      stored: elements.length + 1,
      parts: elements.length === 0 ? [] : [{ new: elements.map(({ length }) => length) }],
    },
    Buffer.concat(elements),
  );
