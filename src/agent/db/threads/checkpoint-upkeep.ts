import { PLAIN } from '../../encryption/codec.ts';
import { readBytesContext } from '../../encryption/custom.ts';
import { runUnderContext, type EncryptionContext } from '../../kernel/encryption-context.ts';
import { readCheckpoints } from '../checkpoints/stored-checkpoints.ts';
import { isListInBytes, sealBlob, buildValuePlace } from '../fields/checkpoint-fields.ts';
import { toStoredList, encodeWholeBytes, splitListBytes } from '../checkpoints/list-bytes.ts';
import { listKey, buildListVersions, encodeWholeText } from '../checkpoints/list-rows.ts';
import {
  PACKED_BLOB,
  buildPackedSql,
  unpackCheckpoints,
  buildPackedWritesSql,
} from '../checkpoints/checkpoint-packs.ts';
import type { Database, Db } from '../base/pool.ts';
import type { Patterns } from '../base/permits.ts';
import { lockActive } from '../runs/runs.ts';
import { isThreadHeld } from '../runs/thread-holds.ts';
import { storeStateWhole } from '../fields/thread-values.ts';

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
async function deleteUnusedValues(
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

type KeptCheckpoint = { checkpoint_ns: string; checkpoint_id: string; newest: boolean };

const buildHoldsValueSql = (checkpoint: string, channel: string): string =>
  `exists (select 1 from gx.checkpoint_blobs b where b.thread_id = $1 and b.checkpoint_ns = ${checkpoint}.checkpoint_ns
    and b.channel = ${channel} and b.version = ${checkpoint}.checkpoint->'channel_versions'->>${channel} and b.type <> 'empty')`;

/**
 * Returns the checkpoints that stay: the newest of each namespace and, where it has a DeltaChannel without a value,
 * those before it down to one that has a value, because LangGraph makes the channel's value from their writes.
 * LangGraph's counters, or writes without any value, show which channels are such.
 */
function loadKeptCheckpoints(tx: Db, threadId: string): Promise<KeptCheckpoint[]> {
  return tx.query<KeptCheckpoint>({
    text: `with recursive newest as (
        select distinct on (checkpoint_ns) * from gx.checkpoints where thread_id = $1 order by checkpoint_ns, checkpoint_id desc),
      delta as (
        select distinct c.checkpoint_ns, k as channel from gx.checkpoints c, jsonb_object_keys(c.metadata->'counters_since_delta_snapshot') k
        where c.thread_id = $1
        union
        select distinct w.checkpoint_ns, w.channel from gx.checkpoint_writes w where w.thread_id = $1 and not exists (
          select 1 from gx.checkpoint_blobs b where b.thread_id = $1 and b.checkpoint_ns = w.checkpoint_ns and b.channel = w.channel
            and b.type <> 'empty')),
      kept as (
        select n.checkpoint_ns, n.checkpoint_id, n.parent_checkpoint_id, true as newest, array(
          select d.channel from delta d where d.checkpoint_ns = n.checkpoint_ns and n.checkpoint->'channel_versions' ? d.channel
            and not ${buildHoldsValueSql('n', 'd.channel')}) as waiting
        from newest n
        union all
        select p.checkpoint_ns, p.checkpoint_id, p.parent_checkpoint_id, false, array(select w from unnest(k.waiting) w where not ${buildHoldsValueSql('p', 'w')})
        from kept k join gx.checkpoints p on p.thread_id = $1 and p.checkpoint_ns = k.checkpoint_ns and p.checkpoint_id = k.parent_checkpoint_id
        where cardinality(k.waiting) > 0)
      select checkpoint_ns, checkpoint_id, newest from kept`,
    values: [threadId],
  });
}

/**
 * Keeps only the newest checkpoint of each namespace, with its writes and values, and the writes that LangGraph makes a
 * DeltaChannel from. Its lists and its state are stored whole, so that no removed element stays behind. Returns false,
 * and does nothing, while the thread has a run or is held.
 */
export function keepLatestCheckpoints(
  db: Database,
  threadId: string,
  changeable?: Patterns,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const active = await lockActive(tx, threadId, changeable);
    if (active === undefined || active.length > 0 || (await isThreadHeld(tx, threadId)))
      return false;
    await pruneCheckpoints(tx, threadId);
    await storeStateWhole(tx, threadId);
    return true;
  });
}

/** Does so for the checkpoints alone, in a transaction that holds the thread. */
export async function pruneCheckpoints(tx: Db, threadId: string): Promise<void> {
  await unpackCheckpoints(tx, threadId);
  const kept = await loadKeptCheckpoints(tx, threadId);
  for (const one of kept) if (one.newest) await storeListsWhole(tx, threadId, one);
  const values = [
    threadId,
    kept.map(({ checkpoint_ns }) => checkpoint_ns),
    kept.map(({ checkpoint_id }) => checkpoint_id),
  ];
  const isKept = '(checkpoint_ns, checkpoint_id) in (select * from unnest($2::text[], $3::text[]))';
  await tx.query({
    text: `delete from gx.checkpoint_writes where thread_id = $1 and not ${isKept}`,
    values,
  });
  await tx.query({
    text: `delete from gx.checkpoints where thread_id = $1 and not ${isKept}`,
    values,
  });
  await deleteUnusedValues(tx, threadId, null);
}

const OF_VERSION = 'thread_id = $1 and checkpoint_ns = $2 and channel = $3 and version = $4';

async function loadBlobContext(tx: Db, key: string[]): Promise<EncryptionContext | undefined> {
  if (tx.codec === PLAIN) return undefined;
  const [row] = await tx.query<{ blob: Buffer | null }>({
    text: `select blob from gx.checkpoint_blobs where ${OF_VERSION}`,
    values: key,
  });
  return row?.blob ? readBytesContext(row.blob) : undefined;
}

async function storeListsWhole(
  tx: Db,
  threadId: string,
  { checkpoint_ns, checkpoint_id }: KeptCheckpoint,
): Promise<void> {
  const [row] = await readCheckpoints(tx, {
    threadId,
    namespace: checkpoint_ns,
    checkpointId: checkpoint_id,
    limit: 1,
  });
  const lists = buildListVersions(
    (row?.lists ?? []).map((one) =>
      isListInBytes(one[6]) ? splitListBytes(one) : toStoredList(one),
    ),
    () => undefined,
    (stored) => stored,
  );
  for (const [channel, type, value, base = null] of row?.values ?? []) {
    if ((type !== 'list' && !isListInBytes(type)) || base === null) continue;
    // A list has its version in the place of a value.
    const version = value as string;
    const { elements } = lists.get(listKey(threadId, checkpoint_ns, channel, version))!;
    const whole = isListInBytes(type)
      ? encodeWholeBytes(elements as Uint8Array[])
      : Buffer.from(encodeWholeText(elements.map((one) => JSON.stringify(one))));
    const key = [threadId, checkpoint_ns, channel, version];
    const context = await loadBlobContext(tx, key);
    const sealed = await runUnderContext(context, () =>
      sealBlob(tx.codec, buildValuePlace(channel, version), { type, blob: whole }),
    );
    await tx.query({
      text: `update gx.checkpoint_blobs set base = null, blob = $5 where ${OF_VERSION}`,
      values: [...key, sealed],
    });
  }
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
