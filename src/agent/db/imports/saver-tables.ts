import { StartError } from '../../../errors.ts';
import type { Db } from '../base/pool.ts';

/*
 * The tables of LangGraph's own saver (PyPI langgraph-checkpoint-postgres), which are only read. Places of rows (ctid)
 * stay as they are while the transaction lasts that reads them.
 */

/** The number of the last of the saver's migrations whose tables are known here. */
const VERSION = 9;

const NO_TABLES =
  `has no table checkpoint_migrations, which setup() of langgraph-checkpoint-postgres makes. If the tables are in
 another schema, add ?options=-csearch_path%3D<schema> to the address`.replaceAll('\n', '');

const OLDER =
  `run setup() of the newest langgraph-checkpoint-postgres for Python (tables of the saver for JavaScript, which have
 such versions, are not supported)`.replaceAll('\n', '');

/** Throws a `StartError` where the tables are not there, or are of another version. */
export async function checkTables(db: Db): Promise<void> {
  const [found] = await db.query<{ is: boolean }>({
    text: `select to_regclass('checkpoint_migrations') is not null as is`,
  });
  if (found?.is !== true) throw new StartError(`The database of --from ${NO_TABLES}.`);
  const [last] = await db.query<{ v: number | null }>({
    text: 'select max(v) as v from checkpoint_migrations',
  });
  const version = last?.v ?? -1;
  const are = `The saver's tables in the database of --from have version ${version}`;
  if (version < VERSION) throw new StartError(`${are}, and ${VERSION} is needed: ${OLDER}.`);
  if (version > VERSION)
    throw new StartError(`${are}, and this release reads up to ${VERSION}: use a newer one.`);
}

/** Returns how many threads there are. */
export async function countSaved(db: Db): Promise<number> {
  const [row] = await db.query<{ n: number }>({
    text: 'select count(distinct thread_id)::int as n from checkpoints',
  });
  return row!.n;
}

const PAGE = 200;

/** Returns the ids of all threads in their order. */
export async function* loadSavedThreadIds(db: Db): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const rows: { thread_id: string }[] = await db.query({
      text: `select distinct thread_id from checkpoints where thread_id ${after === undefined ? '>=' : '>'} $1 order by thread_id limit ${PAGE}`,
      values: [after ?? ''],
    });
    for (const { thread_id } of rows) yield thread_id;
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.thread_id;
  }
}

/** The facts about a thread that its record is made from. */
export type SavedThread = {
  checkpoints: number;
  /** Named by the last checkpoint. */
  graph_id: string | null;
  first: string | null;
  last: string | null;
  interrupted: boolean;
  /** Sends wait at a checkpoint in a form before version 4, in which they are writes of its parent. */
  older_sends: boolean;
  types: string[];
};

const OWN = `own as materialized (
    select checkpoint_ns as ns, checkpoint_id as id, parent_checkpoint_id as parent, checkpoint->>'ts' as ts, checkpoint->>'v' as v,
      metadata->>'graph_id' as graph_id from checkpoints where thread_id = $1),
  last as (select * from own where ns = '' order by id desc limit 1)`;

/** Returns the facts about a thread; its checkpoints are 0 where it is not there. */
export async function loadSavedThread(db: Db, threadId: string): Promise<SavedThread> {
  const [row] = await db.query<SavedThread>({
    text: `with ${OWN} select (select count(*)::int from own) as checkpoints, (select graph_id from last) as graph_id,
      (select ts from own order by id limit 1) as first, (select ts from own order by id desc limit 1) as last,
      exists (select 1 from checkpoint_writes w, last where w.thread_id = $1 and w.checkpoint_ns = '' and w.checkpoint_id = last.id
        and w.channel = '__interrupt__') as interrupted,
      exists (select 1 from own, checkpoint_writes w where own.v < '4' and w.thread_id = $1 and w.checkpoint_ns = own.ns
        and w.checkpoint_id = own.parent and w.channel = '__pregel_tasks') as older_sends,
      array(select type from checkpoint_blobs where thread_id = $1
        union select coalesce(type, '') from checkpoint_writes where thread_id = $1) as types`,
    values: [threadId],
  });
  return row!;
}

export type RowPlace = { at: string; bytes: number };

/** Returns the places of a thread's checkpoints, oldest first. */
export const loadCheckpointPlaces = (db: Db, threadId: string): Promise<RowPlace[]> =>
  db.query({
    text: `select ctid::text as at, octet_length(checkpoint::text) + octet_length(metadata::text) as bytes
      from checkpoints where thread_id = $1 order by checkpoint_id, checkpoint_ns`,
    values: [threadId],
  });

export type SavedCheckpoint = {
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  /** Without the values of channels. */
  checkpoint: { channel_versions?: Record<string, string | number> };
  /** JSON text. */
  metadata: string;
  /** Values that the saver keeps in the checkpoint itself: those that are JSON as they are. */
  inline: [channel: string, json: string][];
};

/** Returns the checkpoints at these places, oldest first. */
export const loadSavedCheckpoints = (db: Db, places: RowPlace[]): Promise<SavedCheckpoint[]> =>
  db.query({
    text: `select checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint - 'channel_values' as checkpoint, metadata::text as metadata,
        coalesce((select json_agg(json_build_array(key, value::text)) from jsonb_each(checkpoint->'channel_values')), '[]') as inline
      from checkpoints where ctid = any($1::tid[]) order by checkpoint_id, checkpoint_ns`,
    values: [places.map(({ at }) => at)],
  });

type ValueKey = { checkpoint_ns: string; channel: string; version: string };

/** Returns the places of the values of a thread's channels. */
export const loadValuePlaces = (db: Db, threadId: string): Promise<(RowPlace & ValueKey)[]> =>
  db.query({
    text: `select ctid::text as at, coalesce(octet_length(blob), 0) as bytes, checkpoint_ns, channel, version
      from checkpoint_blobs where thread_id = $1 and type <> 'empty'`,
    values: [threadId],
  });

export type SavedValue = ValueKey & { at: string } & { type: string; blob: Buffer };

/** Returns the values at these places. */
export const loadSavedValues = (db: Db, places: RowPlace[]): Promise<SavedValue[]> =>
  db.query({
    text: `select ctid::text as at, checkpoint_ns, channel, version, type, coalesce(blob, '') as blob from checkpoint_blobs
      where ctid = any($1::tid[])`,
    values: [places.map(({ at }) => at)],
  });

/** Returns the places of the writes of a thread's tasks. */
export const writePlaces = (db: Db, threadId: string): Promise<RowPlace[]> =>
  db.query({
    text: `select ctid::text as at, octet_length(blob) as bytes from checkpoint_writes where thread_id = $1
      order by checkpoint_ns, checkpoint_id, task_id, idx`,
    values: [threadId],
  });

export type SavedWrite = {
  checkpoint_ns: string;
  checkpoint_id: string;
  task_id: string;
  task_path: string;
  idx: number;
  channel: string;
  type: string;
  blob: Buffer;
};

/** Returns the writes at these places. */
export const loadSavedWrites = (db: Db, places: RowPlace[]): Promise<SavedWrite[]> =>
  db.query({
    text: `select checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob from checkpoint_writes
      where ctid = any($1::tid[])`,
    values: [places.map(({ at }) => at)],
  });
