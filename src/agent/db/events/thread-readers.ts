import type { Db } from '../base/pool.ts';
import { LAST_SEQ } from './last-seq.ts';

/* This file stores which processes follow which threads. */

/** Registers a process as a reader of threads. Returns the number of the last protocol event of each existing one. */
export async function registerThreadReader(
  db: Db,
  threadIds: string[],
  reader: string,
): Promise<Map<string, number>> {
  const rows = await db.query<{ thread_id: string; last: number }>({
    name: 'thread_reader',
    text: `with locked as materialized (select thread_id from gx.thread where thread_id = any($1) order by thread_id for no key update)
      update gx.thread t set readers = array_append(array_remove(readers, $2::uuid), $2::uuid) from locked
      where t.thread_id = locked.thread_id returning t.thread_id, ${LAST_SEQ} as last`,
    values: [threadIds, reader],
  });
  return new Map(rows.map(({ thread_id, last }) => [thread_id, last]));
}

export async function loadThreadReaders(db: Db, threadId: string): Promise<string[]> {
  const [row] = await db.query<{ readers: string[] }>({
    text: 'select readers from gx.thread where thread_id = $1',
    values: [threadId],
  });
  return row?.readers ?? [];
}

/** Removes a process from the readers of threads. */
export async function removeThreadReader(
  db: Db,
  threadIds: string[],
  reader: string,
): Promise<void> {
  await db.query({
    name: 'thread_reader_leaves',
    text: `with t as materialized (select thread_id from gx.thread where thread_id = any($1) order by thread_id for no key update)
      update gx.thread set readers = array_remove(readers, $2::uuid) from t where gx.thread.thread_id = t.thread_id`,
    values: [threadIds, reader],
  });
}
