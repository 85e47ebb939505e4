import { fieldText, toField } from './json-field.ts';
import type { Db } from './pool.ts';

type Key = [threadId: string, namespace: string, checkpointId: string];

export type NewCheckpoint = {
  key: Key;
  parentId: string | null;
  checkpoint: unknown;
  /** JSON text. */
  metadata: string;
  blobs: { channel: string; version: string; type: string; blob: Uint8Array | null }[];
};

export type NewWrites = {
  key: Key;
  taskId: string;
  /** Where the task stands among those of its step, as text; empty for what no task wrote. */
  taskPath: string;
  runId: string | null;
  replace: boolean;
  writes: { index: number; channel: string; type: string; blob: Uint8Array }[];
};

const bytes = (value: Uint8Array | null): Buffer | null =>
  value === null ? null : Buffer.from(value.buffer, value.byteOffset, value.byteLength);

export type Step = { put: NewCheckpoint } | { writes: NewWrites };

const WRITES = `insert into gx.checkpoint_writes as o
  (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob)`;
/** What a run replaces of its own is gone; what it replaces of another run's comes back when it is taken back. */
const BEFORE = `case when o.run_id is not distinct from excluded.run_id then o.before else jsonb_build_object(
    'run_id', o.run_id, 'channel', o.channel, 'type', o.type, 'blob', encode(o.blob, 'base64'), 'before', o.before) end`;
const WRITE_FIELDS = 'w (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, replaces, idx, channel, type, blob)';

/**
 * Writes the steps of several runs, or of several tasks of one run, in one statement: checkpoints with the channel
 * values that are new in them, and what tasks wrote. Errors and interrupts replace what stood in their place.
 */
export async function writeSteps(db: Db, steps: Step[]): Promise<void> {
  const puts = steps.flatMap((step) => ('put' in step ? [step.put] : []));
  const blobs = puts.flatMap(({ key: [thread, namespace], blobs: own }) => own.map((blob) => ({ thread, namespace, ...blob })));
  const writes = steps.flatMap((step) => ('put' in step ? [] : step.writes.writes.map((write) => ({ ...step.writes, ...write }))));
  await db.query({
    name: 'checkpoint_steps',
    text: `with blobs as (
        insert into gx.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
        select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) on conflict do nothing),
      w as materialized (select * from unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::boolean[], $14::int[],
          $15::text[], $16::text[], $17::bytea[]) as ${WRITE_FIELDS}),
      kept as (${WRITES} select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob from w where not replaces
        on conflict do nothing),
      replaced as (${WRITES} select thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, run_id, idx, channel, type, blob from w where replaces
        on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
          do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob, run_id = excluded.run_id, before = ${BEFORE})
      insert into gx.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      select thread_id, checkpoint_ns, checkpoint_id, parent, checkpoint::jsonb, metadata::jsonb
      from unnest($18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[])
        as c (thread_id, checkpoint_ns, checkpoint_id, parent, checkpoint, metadata)
      on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata`,
    values: [
      blobs.map(({ thread }) => thread),
      blobs.map(({ namespace }) => namespace),
      blobs.map(({ channel }) => channel),
      blobs.map(({ version }) => version),
      blobs.map(({ type }) => type),
      blobs.map(({ blob }) => bytes(blob)),
      ...[0, 1, 2].map((part) => writes.map(({ key }) => key[part])),
      writes.map(({ taskId }) => taskId),
      writes.map(({ taskPath }) => taskPath),
      writes.map(({ runId }) => runId),
      writes.map(({ replace }) => replace),
      writes.map(({ index }) => index),
      writes.map(({ channel }) => channel),
      writes.map(({ type }) => type),
      writes.map(({ blob }) => bytes(blob)),
      ...[0, 1, 2].map((part) => puts.map(({ key }) => key[part])),
      puts.map(({ parentId }) => parentId),
      puts.map(({ checkpoint }) => toField(checkpoint)),
      puts.map(({ metadata }) => fieldText(metadata)),
    ],
  });
}

export async function hasCheckpoint(db: Db, key: Key): Promise<boolean> {
  const rows = await db.query({
    name: 'checkpoint_has',
    text: 'select 1 from gx.checkpoints where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3',
    values: key,
  });
  return rows.length > 0;
}

/** A stored value: its channel, how it is written, and the value itself as JSON, or as base64 where it is bytes. */
type StoredValue = [channel: string, type: 'json' | 'bytes' | 'empty', value: unknown];

type Versions = Record<string, string | number>;

export type StoredCheckpoint = {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  /** LangGraph's checkpoint without the values of its channels; `v` is the version of its format. */
  checkpoint: { v: number; id: string; ts: string } & { channel_versions?: Versions; versions_seen?: Record<string, Versions> };
  metadata: Record<string, unknown>;
  values: StoredValue[] | null;
  writes: [taskId: string, ...StoredValue][] | null;
};

export type WhichCheckpoints = {
  /** Absent: of any thread. */
  threadId?: string | undefined;
  /** Absent: of the graph and of its subgraphs. */
  namespace?: string | undefined;
  checkpointId?: string | undefined;
  before?: string | undefined;
  metadata?: object | undefined;
  limit?: number | undefined;
};

/** LangGraph applies what the tasks of a step wrote in this order: `writesSortKey` of its checkpointer's contract. */
const WRITES_ORDER = `order by task_path collate "C", task_id collate "C", idx`;

const VALUE = `case type when 'json' then convert_from(blob, 'UTF8')::json when 'bytes' then to_json(encode(blob, 'base64')) end`;

/**
 * Returns checkpoints, newest first, each with its values and what tasks wrote on it: in one statement, with one text
 * to parse for each.
 */
export function readCheckpoints(
  db: Db,
  { threadId, namespace, checkpointId, before, metadata, limit }: WhichCheckpoints,
): Promise<StoredCheckpoint[]> {
  const parameters: unknown[] = [];
  const parameter = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = ['true'];
  if (threadId !== undefined) conditions.push(`c.thread_id = ${parameter(threadId)}`);
  if (namespace !== undefined) conditions.push(`c.checkpoint_ns = ${parameter(namespace)}`);
  if (checkpointId !== undefined) conditions.push(`c.checkpoint_id = ${parameter(checkpointId)}`);
  if (before !== undefined) conditions.push(`c.checkpoint_id < ${parameter(before)}`);
  if (metadata !== undefined) conditions.push(`c.metadata @> ${parameter(toField(metadata))}`);
  const given = [threadId, namespace, checkpointId, before, metadata, limit].map((value) => Number(value !== undefined));
  return db.query<StoredCheckpoint>({
    name: `checkpoint_read_${given.join('')}`,
    text: `select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata,
        (select json_agg(json_build_array(channel, type, ${VALUE}))
          from jsonb_each_text(c.checkpoint->'channel_versions') v join gx.checkpoint_blobs b
          on b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns and b.channel = v.key and b.version = v.value) as values,
        (select json_agg(json_build_array(task_id, channel, type, ${VALUE}) ${WRITES_ORDER}) from gx.checkpoint_writes w
          where w.thread_id = c.thread_id and w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id) as writes
      from gx.checkpoints c where ${conditions.join(' and ')} order by c.checkpoint_id desc
      ${limit === undefined ? '' : `limit ${parameter(limit)}`}`,
    values: parameters,
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
    text: `insert into gx.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
      select $2, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
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

const SAME = `w.thread_id = $1 and (w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx) = (own.checkpoint_ns, own.checkpoint_id, own.task_id, own.idx)`;

/**
 * Removes what one run left, also at a checkpoint that it resumed from: the thread's newest checkpoint is again the one
 * before the run, as it was.
 */
export async function deleteRunCheckpoints(db: Db, threadId: string, runId: string): Promise<void> {
  await db.query({
    text: `with gone as (
        delete from gx.checkpoints where thread_id = $1 and metadata->>'run_id' = $2 returning checkpoint_ns, checkpoint_id),
      own as (
        select w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, gone.checkpoint_id is null and w.before is not null as returns
        from gx.checkpoint_writes w left join gone using (checkpoint_ns, checkpoint_id)
        where w.thread_id = $1 and (w.run_id = $2 or gone.checkpoint_id is not null)),
      returned as (
        update gx.checkpoint_writes w set run_id = w.before->>'run_id', channel = w.before->>'channel', type = w.before->>'type',
          blob = decode(w.before->>'blob', 'base64'), before = nullif(w.before->'before', 'null')
        from own where own.returns and ${SAME})
      delete from gx.checkpoint_writes w using own where not own.returns and ${SAME}`,
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

type Size = { count: number; bytes: number };
export type Storage = { checkpoints: Size; channel_values: Size & { by_channel: Record<string, Size> }; pending_writes: Size };

/** Returns what a thread's checkpoints take up, in rows and bytes. */
export async function checkpointStorage(db: Db, threadId: string): Promise<Storage> {
  const rows = await db.query<{ kind: string; channel: string; count: number; bytes: number }>({
    text: `select 'checkpoints' as kind, '' as channel, count(*) as count, coalesce(sum(pg_column_size(c.*)), 0)::bigint as bytes
        from gx.checkpoints c where thread_id = $1
      union all select 'writes', '', count(*), coalesce(sum(pg_column_size(w.*)), 0)::bigint from gx.checkpoint_writes w where thread_id = $1
      union all select 'values', channel, count(*), sum(pg_column_size(b.*))::bigint from gx.checkpoint_blobs b where thread_id = $1 group by channel`,
    values: [threadId],
  });
  const size = (kind: string): Size => {
    const own = rows.filter((row) => row.kind === kind);
    return { count: own.reduce((sum, row) => sum + row.count, 0), bytes: own.reduce((sum, row) => sum + row.bytes, 0) };
  };
  const channels = rows.filter(({ kind }) => kind === 'values');
  const by_channel = Object.fromEntries(channels.map((row) => [row.channel, { count: row.count, bytes: row.bytes }]));
  return { checkpoints: size('checkpoints'), channel_values: { ...size('values'), by_channel }, pending_writes: size('writes') };
}
