import type { StoredCheckpoint } from '../db/checkpoints/stored-checkpoints.ts';
import {
  buildGraphKey,
  listKey,
  buildWholeList,
  type ListVersion,
} from '../db/checkpoints/list-rows.ts';

/** An element of lists: its JSON, and the approximate bytes that it takes. */
export type ListElement = { readonly text: string; readonly weight: number };

/** Channel -> the list that it holds. */
export type ListsOfCheckpoint<E> = ReadonlyMap<string, ListVersion<E>>;

export type CheckpointKey = readonly [threadId: string, namespace: string, checkpointId: string];

/** The last checkpoints of a thread's graph, or of one of its subgraphs. */
type Remembered<E> = { checkpoints: Map<string, ListsOfCheckpoint<E>>; weight: number };

/** Checkpoints that are remembered of each graph: the one that a run stands on, and those that it looked at before. */
const OF_EACH = 3;

/** The approximate bytes that a remembered graph takes besides its lists. */
const GRAPH_BYTES = 500;

/**
 * Holds the lists of the checkpoints that runs stand on, so that a step is compared with the last one, and a state that
 * this thread wrote is not read again. A forgotten list is read again, or stored whole, so nothing goes wrong without
 * it.
 */
export class Lists<E extends ListElement> {
  readonly #mostBytes: number;
  readonly #graphs = new Map<string, Remembered<E>>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Returns, by their keys, the lists of one graph that need not be read. */
  listKnown(
    threadId: string | undefined,
    namespace: string | undefined,
  ): Map<string, ListVersion<E>> {
    const known = new Map<string, ListVersion<E>>();
    if (threadId === undefined || namespace === undefined) return known;
    for (const lists of this.#graphs
      .get(buildGraphKey(threadId, namespace))
      ?.checkpoints.values() ?? [])
      for (const [channel, list] of lists)
        known.set(listKey(threadId, namespace, channel, list.version), list);
    return known;
  }

  getLists([threadId, namespace, checkpointId]: CheckpointKey): ListsOfCheckpoint<E> | undefined {
    return this.#graphs.get(buildGraphKey(threadId, namespace))?.checkpoints.get(checkpointId);
  }

  /** Returns true when something is remembered of the graph, which a mere look must not push out. */
  has(threadId: string, namespace: string): boolean {
    return this.#graphs.has(buildGraphKey(threadId, namespace));
  }

  /** Remembers the lists of a checkpoint as those that were used last. A graph without lists takes no room. */
  cacheLists(
    [threadId, namespace, checkpointId]: CheckpointKey,
    lists: ListsOfCheckpoint<E>,
  ): void {
    const key = buildGraphKey(threadId, namespace);
    const before = this.#graphs.get(key);
    if (before === undefined && lists.size === 0) return;
    const checkpoints = before?.checkpoints ?? new Map<string, ListsOfCheckpoint<E>>();
    // The entry that was used last comes last.
    checkpoints.delete(checkpointId);
    if (lists.size > 0) checkpoints.set(checkpointId, lists);
    for (const oldest of checkpoints.keys())
      if (checkpoints.size > OF_EACH) checkpoints.delete(oldest);
    if (before !== undefined) this.#drop(key, before);
    if (checkpoints.size > 0)
      this.#keep(key, { checkpoints, weight: GRAPH_BYTES + sumWeight(lists) });
  }

  #keep(key: string, remembered: Remembered<E>): void {
    this.#bytes += remembered.weight;
    this.#graphs.set(key, remembered);
    for (const [oldest, of] of this.#graphs) {
      if (this.#bytes <= this.#mostBytes) break;
      this.#drop(oldest, of);
    }
  }

  #drop(key: string, { weight }: Remembered<E>): void {
    if (this.#graphs.delete(key)) this.#bytes -= weight;
  }
}

const sumWeight = (lists: ListsOfCheckpoint<ListElement>): number =>
  [...lists.values()].reduce(
    (sum, { elements }) => sum + elements.reduce((own, { weight }) => own + weight, 0),
    0,
  );

/** Returns the lists of a checkpoint. `read` are those that were read, or are known. */
export function pickRowLists<E>(
  { thread_id, checkpoint_ns, values }: StoredCheckpoint,
  read: ReadonlyMap<string, ListVersion<E>>,
): ListsOfCheckpoint<E> {
  const own = new Map<string, ListVersion<E>>();
  for (const [channel, type, value, base = null] of values ?? [])
    if (type === 'list')
      own.set(
        channel,
        toStoredList(read.get(listKey(thread_id, checkpoint_ns, channel, value as string)), {
          channel,
          base,
        }),
      );
  return own;
}

/** Returns the list as it is stored now. One that was pruned since it was remembered stands on other rows. */
function toStoredList<E>(
  list: ListVersion<E> | undefined,
  { channel, base }: { channel: string; base: string | null },
): ListVersion<E> {
  if (list === undefined) throw new RangeError(`A list of "${channel}" was not read.`);
  if (list.base === base) return list;
  return base === null
    ? buildWholeList(list.version, list.elements)
    : { ...list, base, anchor: undefined };
}
