import type { Db } from './pool.ts';

type Key = [threadId: string, namespace: string, checkpointId: string];

export type NewCheckpoint = {
  key: Key;
  parentId: string | null;
  checkpoint: unknown;
  metadata: unknown;
  blobs: { channel: string; version: string; type: string; blob: Uint8Array | null }[];
};

export type NewWrites = {
  key: Key;
  taskId: string;
  replace: boolean;
  writes: { index: number; channel: string; type: string; blob: Uint8Array }[];
};

const bytes = (value: Uint8Array | null): Buffer | null =>
  value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength);

/** A checkpoint and the channel values that are new in it, in one statement. */
export async function putCheckpoint(db: Db, { key, parentId, checkpoint, metadata, blobs }: NewCheckpoint): Promise<void> {
  await db.query({
    name: 'checkpoint_put',
    text: `with blobs as (
        insert into gx.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
        select $1, $2, b.channel, b.version, b.type, b.blob
        from unnest($7::text[], $8::text[], $9::text[], $10::bytea[]) as b (channel, version, type, blob)
        on conflict (thread_id, checkpoint_ns, channel, version) do nothing)
      insert into gx.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata`,
    values: [
      ...key,
      parentId,
      checkpoint,
      metadata,
      blobs.map(({ channel }) => channel),
      blobs.map(({ version }) => version),
      blobs.map(({ type }) => type),
      blobs.map(({ blob }) => bytes(blob)),
    ],
  });
}

/** What the tasks of a step wrote, in one statement. Errors and interrupts replace what stood in their place. */
export async function putWrites(db: Db, { key, taskId, replace, writes }: NewWrites): Promise<void> {
  const conflict = replace ? 'do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob' : 'do nothing';
  await db.query({
    name: replace ? 'checkpoint_writes_replace' : 'checkpoint_writes_put',
    text: `insert into gx.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
      select $1, $2, $3, $4, w.idx, w.channel, w.type, w.blob
      from unnest($5::int[], $6::text[], $7::text[], $8::bytea[]) as w (idx, channel, type, blob)
      on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${conflict}`,
    values: [
      ...key,
      taskId,
      writes.map(({ index }) => index),
      writes.map(({ channel }) => channel),
      writes.map(({ type }) => type),
      writes.map(({ blob }) => bytes(blob)),
    ],
  });
}

/** Copies all checkpoints of one thread to another. */
export async function copyCheckpoints(db: Db, from: string, to: string): Promise<void> {
  const values = [from, to];
  await db.query({
    text: `insert into gx.checkpoints select $2, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
        case when metadata ? 'thread_id' then jsonb_set(metadata, '{thread_id}', to_jsonb($2::text)) else metadata end
      from gx.checkpoints where thread_id = $1`,
    values,
  });
  await db.query({
    text: `insert into gx.checkpoint_blobs select $2, checkpoint_ns, channel, version, type, blob from gx.checkpoint_blobs where thread_id = $1`,
    values,
  });
  await db.query({
    text: `insert into gx.checkpoint_writes select $2, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
      from gx.checkpoint_writes where thread_id = $1`,
    values,
  });
}

/** Removes all checkpoints of the threads. */
export async function deleteCheckpoints(db: Db, threadIds: string[]): Promise<void> {
  await db.query({
    name: 'checkpoints_delete',
    text: `with blobs as (delete from gx.checkpoint_blobs where thread_id = any($1)),
        writes as (delete from gx.checkpoint_writes where thread_id = any($1))
      delete from gx.checkpoints where thread_id = any($1)`,
    values: [threadIds],
  });
}

/** Removes what one run left, so that the thread's newest checkpoint is again the one before it. */
export async function deleteRunCheckpoints(db: Db, threadId: string, runId: string): Promise<void> {
  await db.query({
    text: `with gone as (
        delete from gx.checkpoints where thread_id = $1 and metadata->>'run_id' = $2 returning checkpoint_ns, checkpoint_id)
      delete from gx.checkpoint_writes w using gone
      where w.thread_id = $1 and w.checkpoint_ns = gone.checkpoint_ns and w.checkpoint_id = gone.checkpoint_id`,
    values: [threadId, runId],
  });
}

/** Keeps only the newest checkpoint of each namespace, with its writes and the channel values it refers to. */
export async function keepLatestCheckpoints(db: Db, threadId: string): Promise<void> {
  await db.query({
    text: `with kept as (
        select distinct on (checkpoint_ns) checkpoint_ns, checkpoint_id, checkpoint from gx.checkpoints
        where thread_id = $1 order by checkpoint_ns, checkpoint_id desc),
      used as (select checkpoint_ns, v.key as channel, v.value as version from kept, jsonb_each_text(checkpoint->'channel_versions') v),
      writes as (delete from gx.checkpoint_writes w where thread_id = $1
        and not exists (select 1 from kept k where k.checkpoint_ns = w.checkpoint_ns and k.checkpoint_id = w.checkpoint_id)),
      blobs as (delete from gx.checkpoint_blobs b where thread_id = $1
        and not exists (select 1 from used u where u.checkpoint_ns = b.checkpoint_ns and u.channel = b.channel and u.version = b.version))
      delete from gx.checkpoints c where thread_id = $1
        and not exists (select 1 from kept k where k.checkpoint_ns = c.checkpoint_ns and k.checkpoint_id = c.checkpoint_id)`,
    values: [threadId],
  });
}
