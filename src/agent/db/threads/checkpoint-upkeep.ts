import {
  PACKED_BLOB,
  buildPackedSql,
  unpackCheckpoints,
  buildPackedWritesSql,
} from '../checkpoints/checkpoint-packs.ts';
import type { Db } from '../base/pool.ts';

/** Copies all checkpoints of one thread to another. */
export async function copyCheckpoints(db: Db, from: string, to: string): Promise<void> {
  const values = [from, to];
  await db.query({
    text: `insert into gx.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      select $2, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint,
        case when metadata ? 'thread_id' then jsonb_set(metadata, '{thread_id}', to_jsonb($2::text)) else metadata end
      from (select checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata from gx.checkpoints where thread_id = $1 union all
        select checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata from (${buildPackedSql('gx.checkpoint_packs p')} where p.thread_id = $1) c) c`,
    values,
  });
  await db.query({
    text: `insert into gx.checkpoint_blobs select $2, checkpoint_ns, channel, version, type, blob, base from gx.checkpoint_blobs where thread_id = $1`,
    values,
  });
  await db.query({
    text: `insert into gx.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
      select distinct on (checkpoint_ns, checkpoint_id, task_id, idx) $2, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
      from (
        select checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob, idx < 0 as holds from gx.checkpoint_writes where thread_id = $1
        union all
        select c.checkpoint_ns, c.checkpoint_id, w.task_id, w.task_path, w.idx, w.channel, w.type, ${PACKED_BLOB}, w.idx >= 0
        from (${buildPackedSql('gx.checkpoint_packs p')} where p.thread_id = $1) c, lateral (${buildPackedWritesSql('c')}) w) w
      order by checkpoint_ns, checkpoint_id, task_id, idx, holds desc`,
    values,
  });
}

/** Removes all checkpoints of the threads. */
export async function deleteCheckpoints(db: Db, threadIds: string[]): Promise<void> {
  await db.query({
    name: 'checkpoints_delete',
    text: `with blobs as (delete from gx.checkpoint_blobs where thread_id = any($1)),
        packs as (delete from gx.checkpoint_packs where thread_id = any($1)),
        writes as (delete from gx.checkpoint_writes where thread_id = any($1))
      delete from gx.checkpoints where thread_id = any($1)`,
    values: [threadIds],
  });
}

const SAME = `w.thread_id = $1 and (w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx) = (own.checkpoint_ns, own.checkpoint_id, own.task_id, own.idx)`;

/**
 * Removes the rows that one run left, also at a checkpoint that it resumed from. The thread's newest checkpoint is then
 * the one before the run, as it was. No other run of the thread may be under way.
 */
export async function deleteRunCheckpoints(db: Db, threadId: string, runId: string): Promise<void> {
  await unpackCheckpoints(db, threadId, runId);
  const [deleted] = await db.query<{ count: number }>({
    text: `with gone as (
        delete from gx.checkpoints where thread_id = $1 and metadata->>'run_id' = $2 returning checkpoint_ns, checkpoint_id),
      own as (
        select w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, gone.checkpoint_id is null and w.before is not null as returns
        from gx.checkpoint_writes w left join gone using (checkpoint_ns, checkpoint_id)
        where w.thread_id = $1 and (w.run_id = $2 or gone.checkpoint_id is not null)),
      returned as (
        update gx.checkpoint_writes w set run_id = w.before->>'run_id', channel = w.before->>'channel', type = w.before->>'type',
          blob = decode(w.before->>'blob', 'base64'), before = nullif(w.before->'before', 'null')
        from own where own.returns and ${SAME}),
      removed as (delete from gx.checkpoint_writes w using own where not own.returns and ${SAME})
      select count(*) as count from gone`,
    values: [threadId, runId],
  });
  if (deleted!.count > 0) await deleteUnusedValues(db, threadId, runId);
}

/**
 * Removes the values that no checkpoint refers to and that no list is made from. While a run is under way its thread
 * keeps them, because the run could lose the base of its next list; the next upkeep removes them.
 */
export async function deleteUnusedValues(
  db: Db,
  threadId: string,
  endedRun: string | null,
): Promise<void> {
  await db.query({
    text: `with recursive used as (
        select c.checkpoint_ns, v.key as channel, v.value as version from (
          select checkpoint_ns, checkpoint from gx.checkpoints where thread_id = $1
          union all select checkpoint_ns, checkpoint from (${buildPackedSql('gx.checkpoint_packs p')} where p.thread_id = $1) c) c,
          jsonb_each_text(c.checkpoint->'channel_versions') v
        union
        select u.checkpoint_ns, u.channel, b.base from used u, lateral (
          select b.base from gx.checkpoint_blobs b where b.thread_id = $1 and b.checkpoint_ns = u.checkpoint_ns
            and b.channel = u.channel and b.version = u.version and b.base is not null limit 1) b)
      delete from gx.checkpoint_blobs b where thread_id = $1
        and not exists (select 1 from used u where u.checkpoint_ns = b.checkpoint_ns and u.channel = b.channel and u.version = b.version)
        and not exists (select 1 from gx.run r where r.thread_id::text = $1 and r.status = 'running' and r.run_id::text is distinct from $2)`,
    values: [threadId, endedRun],
  });
}

type Size = { count: number; bytes: number };
export type Storage = {
  checkpoints: Size;
  channel_values: Size & { by_channel: Record<string, Size> };
  pending_writes: Size;
};

/** Returns the size of a thread's checkpoints, in rows and bytes. */
export async function loadCheckpointStorage(db: Db, threadId: string): Promise<Storage> {
  const rows = await db.query<{ kind: string; channel: string; count: number; bytes: number }>({
    text: `select 'checkpoints' as kind, '' as channel, count(*) as count, coalesce(sum(pg_column_size(c.*)), 0)::bigint as bytes
        from gx.checkpoints c where thread_id = $1
      union all select 'checkpoints', '', coalesce(sum(json_array_length(packed)), 0), coalesce(sum(pg_column_size(p.*)), 0)::bigint
        from gx.checkpoint_packs p where thread_id = $1
      union all select 'writes', '', coalesce(sum(json_array_length(packed_writes)), 0), 0
        from (${buildPackedSql('gx.checkpoint_packs p')} where p.thread_id = $1) c
      union all select 'writes', '', count(*), coalesce(sum(pg_column_size(w.*)), 0)::bigint from gx.checkpoint_writes w where thread_id = $1
      union all select 'values', channel, count(*), sum(pg_column_size(b.*))::bigint from gx.checkpoint_blobs b where thread_id = $1 group by channel`,
    values: [threadId],
  });
  const sumSize = (kind: string): Size => {
    const own = rows.filter((row) => row.kind === kind);
    return {
      count: own.reduce((sum, row) => sum + row.count, 0),
      bytes: own.reduce((sum, row) => sum + row.bytes, 0),
    };
  };
  const channels = rows.filter(({ kind }) => kind === 'values');
  const by_channel = Object.fromEntries(
    channels.map((row) => [row.channel, { count: row.count, bytes: row.bytes }]),
  );
  return {
    checkpoints: sumSize('checkpoints'),
    channel_values: { ...sumSize('values'), by_channel },
    pending_writes: sumSize('writes'),
  };
}
