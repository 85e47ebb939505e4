import { PLAIN } from '../../encryption/codec.ts';
import { readBytesContext } from '../../encryption/custom.ts';
import { runUnderContext, type EncryptionContext } from '../../kernel/encryption-context.ts';
import { readCheckpoints } from '../checkpoints/stored-checkpoints.ts';
import { isListInBytes, sealBlob, buildValuePlace } from '../fields/checkpoint-fields.ts';
import { toStoredList, encodeWholeBytes, splitListBytes } from '../checkpoints/list-bytes.ts';
import { listKey, buildListVersions, encodeWholeText } from '../checkpoints/list-rows.ts';
import { unpackCheckpoints } from '../checkpoints/checkpoint-packs.ts';
import type { Database, Db } from '../base/pool.ts';
import type { Patterns } from '../base/permits.ts';
import { lockActive } from '../runs/runs.ts';
import { isThreadHeld } from '../runs/thread-holds.ts';
import { storeStateWhole } from '../fields/thread-values.ts';
import { deleteUnusedValues } from './checkpoint-upkeep.ts';

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
