import type { NewCheckpoint, NewWrites, NewValue } from '../db/checkpoints/checkpoints.ts';
import type { ImportedThread } from '../db/imports/imported-threads.ts';
import type {
  RowPlace,
  SavedCheckpoint,
  SavedThread,
  SavedValue,
  SavedWrite,
} from '../db/imports/saver-tables.ts';

/* This file knows how the rows of LangGraph's own saver are stored here. */

/** Stands before the types of values that a graph in Python has stored. */
const LANGUAGE = 'py:';

/** Types of LangGraph's serializer. `empty` is a channel without a value. */
const TYPES = ['null', 'bytes', 'bytearray', 'msgpack', 'json', 'pickle', 'empty'];

/** Returns why a thread can't be imported; undefined where it can. */
export function checkImportable(saved: SavedThread, graph: string | undefined): string | undefined {
  if (saved.checkpoints === 0) return 'the tables have no such thread';
  if ((graph ?? saved.graph_id) === null)
    return 'its checkpoints name no graph; name it with --graph';
  if (saved.older_sends)
    return 'Sends of it wait in the form of LangGraph 0.4 and older; run it there to its end, or with a newer one, and try again';
  const unknown = saved.types.filter((type) => !TYPES.includes(type));
  const ciphers = unknown.filter((type) => type.includes('+'));
  if (ciphers.length > 0)
    return `its values are encrypted by the saver's own serializer (${ciphers.join(', ')}), which is not supported`;
  if (unknown.length > 0)
    return `it has values of the type "${unknown.join('", "')}", which LangGraph's own serializer does not make`;
  return undefined;
}

const parseTime = (text: string | null): string | null =>
  text === null || Number.isNaN(Date.parse(text)) ? null : text;

/** Returns the record of a thread, which gets another id where it had none of this interface. */
export function buildImportedThread(
  id: string,
  thread_id: string,
  saved: SavedThread,
  graph: string | undefined,
): ImportedThread {
  return {
    thread_id,
    status: saved.interrupted ? 'interrupted' : 'idle',
    metadata: {
      graph_id: graph ?? saved.graph_id,
      ...(thread_id !== id && { imported_thread_id: id }),
    },
    created_at: parseTime(saved.first),
    updated_at: parseTime(saved.last),
  };
}

const buildKey = (namespace: string, channel: string, version: string | number): string =>
  `${namespace}\n${channel}\n${version}`;

/** A checkpoint with the places of the values that no checkpoint before it has. */
export type PlannedCheckpoint = { saved: SavedCheckpoint; places: RowPlace[]; inline: NewValue[] };

/** Knows which values of a thread are stored already, as its checkpoints pass by. */
export class ValuePlan {
  readonly #places: ReadonlyMap<string, RowPlace>;
  readonly #stored = new Set<string>();

  constructor(places: (RowPlace & Pick<SavedValue, 'checkpoint_ns' | 'channel' | 'version'>)[]) {
    this.#places = new Map(
      places.map((place) => [buildKey(place.checkpoint_ns, place.channel, place.version), place]),
    );
  }

  /** Returns the checkpoint with its new values. A value with a row counts before one in the checkpoint itself. */
  plan(saved: SavedCheckpoint): PlannedCheckpoint {
    const own = new Map(saved.inline);
    const planned: PlannedCheckpoint = { saved, places: [], inline: [] };
    for (const [channel, version] of Object.entries(saved.checkpoint.channel_versions ?? {})) {
      const key = buildKey(saved.checkpoint_ns, channel, version);
      if (this.#stored.has(key)) continue;
      const place = this.#places.get(key);
      const json = own.get(channel);
      if (place !== undefined) planned.places.push(place);
      else if (json !== undefined)
        planned.inline.push({
          channel,
          version: String(version),
          type: `${LANGUAGE}json`,
          blob: Buffer.from(json),
        });
      else continue;
      this.#stored.add(key);
    }
    return planned;
  }
}

/** Returns a checkpoint as it is stored, from the values that were read for it. */
export function toStoredCheckpoint(
  threadId: string,
  { saved, inline }: PlannedCheckpoint,
  values: SavedValue[],
): NewCheckpoint {
  const rows = values.map(({ channel, version, type, blob }): NewValue => ({
    channel,
    version,
    type: LANGUAGE + type,
    blob,
  }));
  return {
    key: [threadId, saved.checkpoint_ns, saved.checkpoint_id],
    parentId: saved.parent_checkpoint_id,
    checkpoint: saved.checkpoint,
    metadata: saved.metadata,
    blobs: [...inline, ...rows],
  };
}

/** Returns a write as it is stored. It is of no run, so that no run of this server takes it back. */
export const toStoredWrites = (threadId: string, saved: SavedWrite): NewWrites => ({
  key: [threadId, saved.checkpoint_ns, saved.checkpoint_id],
  taskId: saved.task_id,
  taskPath: saved.task_path,
  runId: null,
  replace: false,
  writes: [
    { index: saved.idx, channel: saved.channel, type: LANGUAGE + saved.type, blob: saved.blob },
  ],
});

/** The bytes and items that one statement carries at most, unless one item alone has more bytes. */
const LARGEST = { bytes: 4_000_000, items: 500 };

/** Returns the items in groups, each for one statement. */
export function* splitIntoGroups<T>(
  items: readonly T[],
  bytesOf: (item: T) => number,
): Generator<T[]> {
  let group: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const own = bytesOf(item);
    if (group.length > 0 && (bytes + own > LARGEST.bytes || group.length === LARGEST.items)) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(item);
    bytes += own;
  }
  if (group.length > 0) yield group;
}
