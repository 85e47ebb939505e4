import type { Db } from '../base/pool.ts';

/*
 * Older checkpoints of a thread are packed: 32 in one row, which Postgres compresses
 * (docs/decisions/0011-packed-checkpoints.md). This file packs and unpacks them, and says how they are read.
 *
 * `packed` is a list of [checkpoint_id, parent_checkpoint_id, checkpoint, metadata, writes]. `writes` is null or a list
 * of [task_id, task_path, run_id, idx, channel, type, value, before]. A value is JSON where its type is "json", else
 * base64.
 */

/** Checkpoints in one pack. */
export const IN_A_PACK = 32;

/** The newest checkpoints of a graph, or of one of its subgraphs, are rows of their own: at least so many. */
export const UNPACKED = 32;

/** Packs that one run makes at most, so that the end of a very long run does not wait for all of its own. */
const AT_ONCE = 8;

/** The columns of packed checkpoints, from packs `p`. */
export const buildPackedSql = (
  packs: string,
): string => `select p.thread_id, p.checkpoint_ns, r->>0 as checkpoint_id,
  r->>1 as parent_checkpoint_id, (r->2)::jsonb as checkpoint, (r->3)::jsonb as metadata, r->4 as packed_writes
  from ${packs}, json_array_elements(p.packed) r`;

/** The columns of writes that the packed checkpoint `c` holds. */
export const buildPackedWritesSql = (
  c: string,
): string => `select w->>0 as task_id, w->>1 as task_path, w->>2 as run_id, (w->>3)::int as idx,
  w->>4 as channel, w->>5 as type, w->6 as value, nullif((w->7)::text, 'null')::jsonb as before from json_array_elements(${c}.packed_writes) w`;

/** SQL terms: the graph, a checkpoint, the one before which to look, and how many packs to look into. */
type PackSearch = {
  key: string;
  checkpointId?: string | undefined;
  before?: string | undefined;
  packs?: string | undefined;
};

/**
 * Which packs can hold the checkpoints that a reader of one graph asks for: a checkpoint, or so many before another
 * one.
 */
export function buildPacksSql({ key, checkpointId, before, packs }: PackSearch): string {
  const from = `gx.checkpoint_packs b where ${key}`;
  if (checkpointId !== undefined)
    return `p.last_id = (select min(last_id) from ${from} and last_id >= ${checkpointId})`;
  const upTo =
    before === undefined
      ? ''
      : ` and last_id <= coalesce((select min(last_id) from ${from} and last_id >= ${before}), 'g')`;
  return `p.last_id in (select last_id from ${from}${upTo} order by last_id desc limit ${packs ?? 'null'})`;
}

/** Packs several graphs of a thread. Throws the first failure once all are tried; a later run packs the rest. */
export async function packGraphs(
  db: Db,
  threadId: string,
  namespaces: Iterable<string>,
): Promise<void> {
  const ended = await Promise.allSettled(
    [...namespaces].map((namespace) => packCheckpoints(db, threadId, namespace)),
  );
  const failed = ended.find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Packs the older checkpoints of a graph where there are enough of them. The thread's run is under way meanwhile. */
export async function packCheckpoints(db: Db, threadId: string, namespace: string): Promise<void> {
  for (let count = 0; count < AT_ONCE; count += 1)
    if (!(await packSome(db, threadId, namespace))) return;
}

const ROOM = IN_A_PACK + UNPACKED;
/** A value as a reader gets it: JSON, or bytes as base64. */
export const VALUE = `case type when 'json' then convert_from(blob, 'UTF8')::json else to_json(encode(blob, 'base64')) end`;

async function packSome(db: Db, threadId: string, namespace: string): Promise<boolean> {
  const rows = await db.query({
    name: 'checkpoints_pack',
    text: `with own as materialized (
        select checkpoint_id from gx.checkpoints where thread_id = $1 and checkpoint_ns = $2 order by checkpoint_id limit ${ROOM}),
      old as materialized (
        select checkpoint_id from own where (select count(*) from own) = ${ROOM} order by checkpoint_id limit ${IN_A_PACK}),
      c as (delete from gx.checkpoints c using old where c.thread_id = $1 and c.checkpoint_ns = $2 and c.checkpoint_id = old.checkpoint_id
        returning c.*),
      w as (delete from gx.checkpoint_writes w using old where w.thread_id = $1 and w.checkpoint_ns = $2 and w.checkpoint_id = old.checkpoint_id
        returning w.*),
      writes as (
        select checkpoint_id, json_agg(json_build_array(task_id, task_path, run_id, idx, channel, type, ${VALUE}, before)) as list
        from w group by checkpoint_id)
      insert into gx.checkpoint_packs (thread_id, checkpoint_ns, last_id, run_ids, packed)
      select $1, $2, max(checkpoint_id), coalesce(array_agg(distinct metadata->>'run_id') filter (where metadata ? 'run_id'), '{}'),
        json_agg(json_build_array(checkpoint_id, parent_checkpoint_id, checkpoint, metadata, coalesce(writes.list, '[]')) order by checkpoint_id)
      from c left join writes using (checkpoint_id) having count(*) > 0
      returning 1`,
    values: [threadId, namespace],
  });
  return rows.length > 0;
}

/** The bytes of a packed write `w`. */
export const PACKED_BLOB = `case w.type when 'json' then convert_to(w.value::text, 'UTF8') else decode(w.value #>> '{}', 'base64') end`;

/**
 * Makes rows of a thread's packs again, for statements that look at all rows. With a run, it unpacks the packs with
 * parts of the run, and the pack before them, so that the newest checkpoint is a row when the run's own are gone.
 */
export async function unpackCheckpoints(
  db: Db,
  threadId: string,
  runId: string | null = null,
): Promise<void> {
  const own = 'gx.checkpoint_packs o where o.thread_id = $1 and o.checkpoint_ns = p.checkpoint_ns';
  await db.query({
    text: `with p as (
        delete from gx.checkpoint_packs p where thread_id = $1 and ($2::text is null or last_id >= coalesce((
          select max(o.last_id) from ${own} and o.last_id < coalesce((select min(o.last_id) from ${own} and $2 = any(o.run_ids)), 'g')), ''))
        returning p.*),
      c as (${buildPackedSql('p')}),
      w as (
        insert into gx.checkpoint_writes as o
          (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob, before)
        select c.thread_id, c.checkpoint_ns, c.checkpoint_id, w.task_id, w.task_path, w.run_id, w.idx, w.channel, w.type, ${PACKED_BLOB}, w.before
        from c, lateral (${buildPackedWritesSql('c')}) w
        on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update set task_path = excluded.task_path,
          run_id = excluded.run_id, channel = excluded.channel, type = excluded.type, blob = excluded.blob, before = excluded.before
          where o.idx >= 0)
      insert into gx.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata from c
      on conflict (thread_id, checkpoint_ns, checkpoint_id) do nothing`,
    values: [threadId, runId],
  });
}
