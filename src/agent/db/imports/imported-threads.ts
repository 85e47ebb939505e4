import type { Db } from '../base/pool.ts';
import { sealNamedField } from '../fields/sealed-fields.ts';

/** The record of a thread that comes from elsewhere. Its times are ISO 8601; null means now. */
export type ImportedThread = {
  thread_id: string;
  status: 'idle' | 'interrupted';
  metadata: object;
  created_at: string | null;
  updated_at: string | null;
};

/** Makes the record of a thread. Returns false, and writes nothing, where its id is taken. */
export async function insertImported(db: Db, thread: ImportedThread): Promise<boolean> {
  const rows = await db.query({
    text: `insert into gx.thread (thread_id, status, metadata, created_at, updated_at, state_updated_at)
      values ($1, $2, $3, coalesce($4, now()), coalesce($5, now()), coalesce($5, now())) on conflict (thread_id) do nothing returning 1`,
    values: [
      thread.thread_id,
      thread.status,
      await sealNamedField(db, 'thread.metadata', thread.metadata),
      thread.created_at,
      thread.updated_at,
    ],
  });
  return rows.length > 0;
}

/** Returns whether a thread is there, also before the server has made its tables. */
export async function hasThread(db: Db, threadId: string): Promise<boolean> {
  const [made] = await db.query<{ is: boolean }>({
    text: `select to_regclass('gx.thread') is not null as is`,
  });
  if (made?.is !== true) return false;
  return (
    (await db.query({ text: 'select 1 from gx.thread where thread_id = $1', values: [threadId] }))
      .length > 0
  );
}
